//! Where the time of a group goes.

/// When what happened to a group, by the clock for measuring, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTimes {
    /// The log thread has taken it: its members had waited for it to come to them.
    pub taken_ns: u64,
    /// It was written.
    pub written_ns: u64,
    /// It was synced; if it need not be, the same as written.
    pub durable_ns: u64,
}

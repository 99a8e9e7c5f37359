//! Where the time of a commit goes.

use crate::log::GroupTimes;

/// When a commit was where, by the clock for measuring, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitTimes {
    /// Its changes began to be written as events.
    pub begun_ns: u64,
    /// It had its place in the log, and its changes were where readers find them.
    pub placed_ns: u64,
    /// What happened to its group; zeros as long as that is not known.
    pub group: GroupTimes,
}

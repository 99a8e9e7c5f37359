//! What statements can see of the server's scheduler. The server provides it; an instance
//! without a server has none.

use cohort_engine::env::Spreading;

/// A set of slots, and the threads that serve connections with them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Group {
    /// Connections that belong to it.
    pub connections: u64,
    /// Threads.
    pub threads: u64,
    /// Slots taken.
    pub active: u64,
    /// Threads without work.
    pub standby: u64,
    /// Those who wait for a slot.
    pub queued: u64,
    /// Slots; 0 for no limit.
    pub slots: u64,
    /// Threads ever made.
    pub created: u64,
    /// Turns of sessions that came back from a wait.
    pub returned: u64,
    /// Turns of the high queue.
    pub high: u64,
    /// Turns of low work that had waited for the kick-up time.
    pub kicked_up: u64,
    /// Other turns of the low queue.
    pub low: u64,
    /// Times that a long statement let others go first.
    pub yields: u64,
    /// Slots that were lent to threads that helped statements.
    pub lent: u64,
}

/// One who waits for a slot.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The group's number.
    pub group: u64,
    /// Its place, from 0.
    pub position: u64,
    /// 0: back from a wait; 1: high; 2: low.
    pub priority: u64,
    /// Its connection.
    pub connection: u64,
    /// For how long, in microseconds.
    pub micros: u64,
}

/// The waits of one class.
#[derive(Clone, Debug)]
pub struct WaitClass {
    /// Its name.
    pub name: &'static str,
    /// How many microseconds they took.
    pub micros: Spreading,
}

/// The server's scheduler.
pub trait Pool: Send + Sync {
    /// Statements first, then logins.
    fn groups(&self) -> Vec<Group>;
    /// Who waits for a slot, in the order of the queues.
    fn queued(&self) -> Vec<Queued>;
    /// How long sessions waited, and for what.
    fn waits(&self) -> Vec<WaitClass>;
}

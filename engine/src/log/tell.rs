//! Telling committers that do not wait.
//!
//! A thread that sleeps until its commit is durable only to send a reply then costs two switches
//! between threads for a few bytes. Who has nothing else to do afterwards leaves a closure with
//! its group instead. Whoever makes the group visible, which is nearly always the log thread,
//! calls the closures, and only then is the next group taken: meanwhile it grows. They must be
//! short and never block.

use super::times::GroupTimes;

/// To be called when the outcome of a commit is known: whether it became visible, and when what
/// happened to its group.
pub(super) type Tell = Box<dyn FnOnce(bool, GroupTimes) + Send>;

/// The closures of one group.
pub(super) struct Told {
    pub(super) tells: Vec<Tell>,
    pub(super) visible: bool,
    pub(super) times: GroupTimes,
}

/// Calls the closures of groups that have their outcome.
pub(super) fn tell(told: Vec<Told>) {
    for Told {
        tells,
        visible,
        times,
    } in told
    {
        for tell in tells {
            tell(visible, times);
        }
    }
}

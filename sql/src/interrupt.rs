//! KILL while a text is taken apart and planned: what a long text needs before it runs.
//!
//! Parsers have no session. So the session to be asked is the thread's own for as long as a text is
//! compiled, which happens once for each statement in the cache of plans.

use crate::error::SqlError;
use cohort_engine::txn::Owner;
use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

/// How often it is asked.
const LOOK: u32 = 1024;

thread_local! {
    static OWNER: RefCell<Option<Arc<Owner>>> = const { RefCell::new(None) };
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// Sets the session back that was asked before.
struct Restore(Option<Arc<Owner>>);

impl Drop for Restore {
    fn drop(&mut self) {
        OWNER.set(self.0.take());
    }
}

/// Does some work for a session, which `step` asks meanwhile.
pub fn by<T>(owner: Option<Arc<Owner>>, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(OWNER.replace(owner));
    work()
}

/// To be called for each small step: 1317 when the session was killed.
#[inline]
pub fn step() -> Result<(), SqlError> {
    let steps = STEPS.get();
    STEPS.set(steps.wrapping_add(1));
    if steps.is_multiple_of(LOOK) {
        look()
    } else {
        Ok(())
    }
}

/// 1317 when the session was killed.
pub fn look() -> Result<(), SqlError> {
    let killed = OWNER.with_borrow(|owner| owner.as_ref().is_some_and(|owner| owner.is_killed()));
    if killed {
        return Err(SqlError::query_interrupted());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::txn::Unattended;

    #[test]
    fn work_for_a_killed_session_ends() {
        let owner = Owner::new(1, Arc::new(Unattended));
        let work = || (0..2 * LOOK).try_for_each(|_| step());
        assert!(by(Some(Arc::clone(&owner)), work).is_ok());
        owner.kill();
        assert_eq!(by(Some(owner), work).map_err(|e| e.code), Err(1317));
        assert!(work().is_ok(), "the thread works for nobody now");
    }
}

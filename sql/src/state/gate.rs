//! thread_pool_max_transactions_limit: how many transactions may be open at once. Others wait
//! where they begin, before they hold anything that somebody else might want.

use crate::error::SqlError;
use cohort_engine::txn::{Owner, WaitFor};
use parking_lot::{Condvar, Mutex};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How often who waits looks whether it was killed.
const NAP: Duration = Duration::from_millis(20);

/// The way into a transaction.
#[derive(Debug, Default)]
pub struct Gate {
    /// 0 for none.
    limit: AtomicU64,
    open: Mutex<u64>,
    left: Condvar,
}

impl Gate {
    /// Changes the limit; those that are open stay open.
    pub fn set_limit(&self, limit: u64) {
        let _open = self.open.lock();
        self.limit.store(limit, Ordering::Relaxed);
        self.left.notify_all();
    }
    /// Waits until one more may begin; whether it is counted, and so must `leave`. 1317 if the
    /// session is killed meanwhile.
    pub(crate) fn enter(&self, owner: &Owner) -> Result<bool, SqlError> {
        if self.limit.load(Ordering::Relaxed) == 0 {
            return Ok(false);
        }
        if let Some(counted) = self.try_enter(&mut self.open.lock()) {
            return Ok(counted);
        }
        owner.waiting.pause(WaitFor::Transactions);
        let entered = self.wait(owner);
        owner.waiting.resume(WaitFor::Transactions);
        entered
    }
    fn try_enter(&self, open: &mut u64) -> Option<bool> {
        match self.limit.load(Ordering::Relaxed) {
            0 => Some(false),
            limit if *open < limit => {
                *open += 1;
                Some(true)
            }
            _ => None,
        }
    }
    fn wait(&self, owner: &Owner) -> Result<bool, SqlError> {
        let mut open = self.open.lock();
        loop {
            if let Some(counted) = self.try_enter(&mut open) {
                return Ok(counted);
            }
            if owner.is_killed() {
                return Err(SqlError::query_interrupted());
            }
            self.left.wait_for(&mut open, NAP);
        }
    }
    /// A transaction that was counted has ended.
    pub(crate) fn leave(&self) {
        let mut open = self.open.lock();
        *open = open.saturating_sub(1);
        self.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::txn::Unattended;
    use std::{sync::Arc, thread};

    #[test]
    fn one_more_begins_when_one_has_ended() {
        let gate = Gate::default();
        let owner = Owner::new(1, Arc::new(Unattended));
        assert_eq!(gate.enter(&owner), Ok(false), "no limit, nothing counted");
        gate.set_limit(1);
        assert_eq!(gate.enter(&owner), Ok(true));
        thread::scope(|scope| {
            let second = scope.spawn(|| gate.enter(&owner));
            gate.leave();
            assert_eq!(second.join().unwrap(), Ok(true));
        });
        let killed = Owner::new(2, Arc::new(Unattended));
        killed.kill();
        assert_eq!(gate.enter(&killed).map_err(|e| e.code), Err(1317));
        gate.set_limit(0);
        assert_eq!(gate.enter(&killed), Ok(false));
    }
}

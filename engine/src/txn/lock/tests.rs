//! Deadlock detection, one request at a time. (Whole stories are in `txn/tests/locks`.)

use super::{
    super::owner::{Owner, Unattended},
    *,
};
use tree::Attempt;

struct Story {
    manager: LockManager,
    tree: Arc<TreeLocks>,
    registry: Arc<Registry>,
    owners: Vec<Arc<Owner>>,
}

impl Story {
    fn new() -> Story {
        let registry = Registry::new(0);
        let manager = LockManager::new(&registry, || 0);
        Story {
            tree: manager.tree(1),
            manager,
            registry,
            owners: Vec::new(),
        }
    }
    fn transaction(&mut self, session: u64) -> Arc<Descriptor> {
        let owner = Owner::new(session, Arc::new(Unattended));
        let descriptor = Descriptor::take(&owner, &self.registry);
        self.owners.push(owner);
        descriptor
    }
    fn holds(&self, who: &Arc<Descriptor>, key: &str, mode: LockMode) {
        let attempt = self.tree.lock(who, key.as_bytes(), mode, true);
        assert!(matches!(attempt, Attempt::Granted));
        who.count_lock();
    }
    /// Queues, but the detector does not hear of it yet.
    fn queues(&self, who: &Arc<Descriptor>, key: &str, mode: LockMode) -> Arc<Waiter> {
        match self.tree.lock(who, key.as_bytes(), mode, true) {
            Attempt::Queued(waiter) => waiter,
            _ => panic!("{key} is free"),
        }
    }
    fn enters(&self, waiter: &Arc<Waiter>, key: &str) {
        let target = Target::Row(Arc::clone(&self.tree), key.as_bytes().into());
        self.manager.enter(waiter, &target);
    }
    fn waits(&self, who: &Arc<Descriptor>, key: &str, mode: LockMode) -> Arc<Waiter> {
        let waiter = self.queues(who, key, mode);
        self.enters(&waiter, key);
        waiter
    }
}

#[test]
fn a_request_on_its_way_into_the_map_hides_no_cycle() {
    let mut story = Story::new();
    let [a, b, c, d, late] = [1, 2, 3, 4, 5].map(|session| story.transaction(session));
    // Shared, so that c, who wants the same, waits only for those before it in the queue.
    story.holds(&a, "hot", LockMode::Shared);
    story.holds(&d, "far", LockMode::Exclusive);
    story.holds(&c, "near", LockMode::Exclusive);
    // The queue of "hot" behind a: b, late, c. The detector does not know of late.
    let mut waiters = vec![story.waits(&b, "hot", LockMode::Exclusive)];
    let on_its_way = story.queues(&late, "hot", LockMode::Exclusive);
    waiters.push(story.waits(&c, "hot", LockMode::Shared));
    waiters.push(story.waits(&a, "far", LockMode::Exclusive));
    assert!(waiters.iter().all(|waiter| waiter.is_waiting()));
    // This closes d → c → b → a → d.
    waiters.push(story.waits(&d, "near", LockMode::Exclusive));
    assert_eq!(
        waiters.iter().filter(|waiter| waiter.is_victim()).count(),
        1
    );
    // With b gone the circle goes through late, behind whom c stands.
    story.enters(&on_its_way, "hot");
    assert!(on_its_way.is_victim());
}

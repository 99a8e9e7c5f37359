//! Deadlock detection, one request at a time. (Whole stories are in `txn/tests/locks`.)

use super::{
    super::{LockMode, owner::Owner, waiting::Unattended},
    *,
};
use std::collections::{BTreeMap, BTreeSet};
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
        let descriptor = owner.take_descriptor(&self.registry);
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

mod rows {
    //! Row locks, beside a plain list of who holds what.

    use super::*;

    type Held = BTreeMap<(Vec<u8>, usize), LockMode>;

    struct Beside {
        story: Story,
        who: Vec<Arc<Descriptor>>,
        held: Held,
        seed: u64,
        /// How many of the lengths of names and of the sessions there are for a while.
        lengths: usize,
        sessions: usize,
        /// How often somebody gave all locks back at once.
        whole: usize,
    }

    impl Beside {
        fn roll(&mut self, below: usize) -> usize {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            self.seed as usize % below
        }
        /// One of few names, as short and as long as those that are stored differently.
        fn name(&mut self) -> Vec<u8> {
            let length = [1, 2, 4, 14, 15, 16, 17, 40][self.roll(self.lengths)];
            let last = [0, 1, 255][self.roll(3)];
            let fill = [0, 9][self.roll(2)];
            let mut name = vec![fill; length];
            if let Some(end) = name.last_mut() {
                *end = last;
            }
            name
        }
        fn conflicts(&self, who: usize, name: &[u8], mode: LockMode) -> bool {
            let exclusive = |other: LockMode| LockMode::Exclusive == other;
            self.held.iter().any(|((held, holder), other)| {
                held == name && *holder != who && (exclusive(mode) || exclusive(*other))
            })
        }
        fn lock(&mut self) {
            let (who, name, wait) = (self.roll(self.sessions), self.name(), self.roll(8) == 0);
            let mode = [LockMode::Shared, LockMode::Exclusive][self.roll(2)];
            let tree = &self.story.tree;
            let attempt = tree.lock(&self.who[who], &name, mode, wait);
            let held = self.held.get(&(name.clone(), who)).copied();
            let enough = held.is_some_and(|held| held == mode || held == LockMode::Exclusive);
            if !enough && self.conflicts(who, &name, mode) {
                match attempt {
                    Attempt::Refused if !wait => {}
                    Attempt::Queued(waiter) if wait => {
                        assert!(!tree.cancel(&waiter, &name), "nobody gave it");
                    }
                    _ => panic!("{who} does not wait for {name:?}"),
                }
                return;
            }
            let granted = matches!(
                (held, attempt),
                (Some(_), Attempt::Held) | (None, Attempt::Granted)
            );
            assert!(granted, "{who} locks {name:?}, held {held:?}");
            if !enough {
                self.held.insert((name, who), mode);
            }
        }
        fn step(&mut self) {
            match self.roll(20) {
                0..12 => self.lock(),
                12..17 => {
                    let (who, name) = (self.roll(3), self.name());
                    if self.held.remove(&(name.clone(), who)).is_some() {
                        self.story.tree.release(&self.who[who], &name);
                    }
                }
                17 => {
                    let (who, name) = (self.roll(3), self.name());
                    if let Some(mode) = self.held.get_mut(&(name.clone(), who)) {
                        *mode = LockMode::Shared;
                        self.story.tree.downgrade(&self.who[who], &name);
                    }
                }
                18 => {
                    let who = self.roll(3);
                    if self.story.tree.release_whole(&self.who[who]) {
                        assert!(self.held.keys().all(|(_, holder)| *holder == who));
                        self.whole += usize::from(!self.held.is_empty());
                        self.held.clear();
                    }
                }
                _ => {
                    for (name, who) in std::mem::take(&mut self.held).into_keys() {
                        self.story.tree.release(&self.who[who], &name);
                    }
                }
            }
            self.compare();
        }
        fn compare(&mut self) {
            let (who, low, high) = (self.roll(3), self.name(), self.name());
            let high = (self.roll(4) > 0).then_some(high);
            let others = self.held.iter().filter(|((_, holder), _)| *holder != who);
            let foreign = others.filter(|(_, mode)| **mode == LockMode::Exclusive);
            let foreign = foreign.map(|((name, _), _)| name);
            let foreign: BTreeSet<&Vec<u8>> = foreign.collect();
            let last = self.held.keys().map(|(name, _)| name);
            let last = last.filter(|name| **name < low).max();
            let before = last.filter(|name| low.starts_with(name) && foreign.contains(name));
            let inside =
                |name: &&&Vec<u8>| **name >= &low && high.as_ref().is_none_or(|high| **name < high);
            let expected: BTreeSet<&Vec<u8>> = match high.as_ref().is_some_and(|high| *high < low) {
                true => return,
                false => foreign
                    .iter()
                    .filter(inside)
                    .copied()
                    .chain(before)
                    .collect(),
            };
            let tree = &self.story.tree;
            let found = tree.foreign(&self.who[who], &low, high.as_deref());
            let found: BTreeSet<Vec<u8>> = found.iter().map(|name| name.to_vec()).collect();
            assert!(found.iter().eq(expected), "{low:?} to {high:?}");
            let mut listed = Vec::new();
            tree.list(&mut listed);
            assert_eq!(listed.len(), self.held.len());
        }
    }

    #[test]
    fn are_those_of_a_plain_list() {
        let mut story = Story::new();
        let who = [1, 2, 3].map(|session| story.transaction(session)).to_vec();
        let mut beside = Beside {
            story,
            who,
            held: Held::new(),
            seed: 88_172_645_463_325_252,
            lengths: 8,
            sessions: 3,
            whole: 0,
        };
        for step in 0..100_000 {
            if step % 50 == 0 {
                (beside.lengths, beside.sessions) = (5 + beside.roll(2) * 3, 1 + beside.roll(3));
            }
            beside.step();
        }
        assert!(beside.whole > 100, "{} times", beside.whole);
    }
}

mod tables {
    //! Metadata locks: who has what, and who goes next.

    use super::*;
    use crate::txn::lock::mdl::MetadataLock;
    use TableLock::{Exclusive, ReadOnly};

    fn waiting(request: Result<(), Arc<Waiter>>) -> Arc<Waiter> {
        let waiter = request.expect_err("it must wait");
        assert!(waiter.is_waiting());
        waiter
    }

    #[test]
    fn holds_keep_out_what_conflicts_with_them_and_nothing_else() {
        let mut story = Story::new();
        let [a, b] = [1, 2].map(|session| story.transaction(session));
        let lock = MetadataLock::default();
        assert!(lock.hold_or_wait(&a, ReadOnly).is_ok());
        assert!(lock.hold_or_wait(&b, ReadOnly).is_ok());
        assert!(lock.try_use(false) && !lock.try_use(true));
        lock.let_go(&a, ReadOnly);
        assert!(!lock.try_use(true), "one of two is left");
        lock.let_go(&b, ReadOnly);
        assert!(lock.try_use(true));
        lock.end_use(true);
        lock.end_use(false);
        assert!(lock.hold_or_wait(&a, Exclusive).is_ok());
        assert!(!lock.try_use(false) && !lock.try_use(true));
        lock.let_go(&a, Exclusive);
        assert!(lock.try_use(false));
    }

    #[test]
    fn who_waits_bars_those_who_come_later_and_is_not_passed_over() {
        let mut story = Story::new();
        let [a, b, c, d] = [1, 2, 3, 4].map(|session| story.transaction(session));
        let lock = MetadataLock::default();
        assert!(lock.try_use(false), "a reads");
        let first = waiting(lock.hold_or_wait(&b, Exclusive));
        let reader = waiting(lock.use_or_wait(&c, false, false));
        let second = waiting(lock.hold_or_wait(&d, ReadOnly));
        assert!(lock.use_or_wait(&a, true, true).is_ok(), "it reads already");
        lock.end_use(false);
        assert!(first.is_waiting(), "a still writes");
        lock.end_use(true);
        assert!(first.is_granted() && reader.is_waiting() && second.is_waiting());
        lock.let_go(&b, Exclusive);
        assert!(reader.is_granted() && second.is_granted());
        assert!(!lock.try_use(true) && lock.try_use(false));
    }

    #[test]
    fn readers_pass_those_who_only_wait_for_writers() {
        let mut story = Story::new();
        let [a, b] = [1, 2].map(|session| story.transaction(session));
        let lock = MetadataLock::default();
        assert!(lock.try_use(true));
        let read_only = waiting(lock.hold_or_wait(&a, ReadOnly));
        assert!(lock.try_use(false));
        let writer = waiting(lock.use_or_wait(&b, true, false));
        lock.end_use(true);
        assert!(read_only.is_granted() && writer.is_waiting());
        lock.let_go(&a, ReadOnly);
        assert!(writer.is_granted());
    }

    #[test]
    fn a_request_that_is_taken_back_bars_nobody() {
        let mut story = Story::new();
        let [a, b] = [1, 2].map(|session| story.transaction(session));
        let lock = MetadataLock::default();
        assert!(lock.try_use(false));
        let exclusive = waiting(lock.hold_or_wait(&a, Exclusive));
        let reader = waiting(lock.use_or_wait(&b, false, false));
        assert!(!lock.cancel(&exclusive), "it was not granted");
        assert!(reader.is_granted() && lock.try_use(true));
        assert!(lock.cancel(&reader), "granted before it was taken back");
    }

    #[test]
    fn a_session_never_waits_for_itself() {
        let mut story = Story::new();
        let [a, b] = [1, 2].map(|session| story.transaction(session));
        let lock = MetadataLock::default();
        assert!(lock.hold_or_wait(&a, Exclusive).is_ok());
        let other = waiting(lock.hold_or_wait(&b, Exclusive));
        assert!(lock.use_or_wait(&a, true, false).is_ok());
        lock.end_use(true);
        assert!(lock.hold_or_wait(&a, Exclusive).is_ok(), "its DDL");
        lock.let_go(&a, Exclusive);
        assert!(lock.is_held(&a, Exclusive) && other.is_waiting());
        lock.let_go(&a, Exclusive);
        assert!(other.is_granted());
    }

    #[test]
    fn a_use_that_gives_up_at_once_loses_no_wake_up() {
        let mut story = Story::new();
        let [a, b] = [1, 2].map(|session| story.transaction(session));
        let lock = Arc::new(MetadataLock::default());
        for _ in 0..200 {
            assert!(lock.try_use(true));
            let waiter = waiting(lock.hold_or_wait(&a, Exclusive));
            let others = std::thread::spawn({
                let lock = Arc::clone(&lock);
                move || (0..50).all(|_| !lock.try_use(false))
            });
            lock.end_use(true);
            assert!(others.join().expect("it ends"), "barred all the time");
            assert!(waiter.is_granted());
            lock.let_go(&a, Exclusive);
        }
        assert!(lock.hold_or_wait(&b, Exclusive).is_ok());
    }
}

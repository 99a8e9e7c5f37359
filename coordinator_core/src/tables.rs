//! The coordinator's tables in memory: what `coordinator/src/store` does with SQL, done with maps.
//! A model of the coordinator uses them; a test holds the two against each other.

use crate::{
    decide::Transaction,
    model::{Branch, BranchStatus, Global, Micros, Pattern, Status},
    outside::{By, Claimed, News, Saved},
};
use std::collections::{BTreeMap, BTreeSet};

/// A row of global_transactions, and those of branches.
#[derive(Debug)]
struct Row {
    global: Global,
    owner: u64,
    /// The branches that the row itself says all about.
    planned: Vec<Branch>,
    /// Those of them that the row knows to have succeeded at once, by position.
    calls: BTreeMap<usize, Branch>,
    /// Rows of branches, by position.
    branches: BTreeMap<usize, Branch>,
    /// When each of them was written last.
    updated: BTreeMap<usize, Micros>,
    /// Changes by hand.
    by_hand: u64,
}

/// All tables.
#[derive(Debug, Default)]
pub struct Tables {
    rows: BTreeMap<String, Row>,
    dead: BTreeSet<u64>,
    /// What coordinators were told, and have not heard yet.
    pub news: Vec<(u64, News)>,
}

/// What registering a branch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It is there.
    Yes,
    /// It was there.
    Duplicate,
    /// No such transaction is prepared.
    NoTransaction,
}

impl Row {
    fn save_branches(&mut self, before: &Transaction, after: &Transaction, now: Micros) {
        let is_planned = self.global.is_planned();
        let is_told = |branch: &Branch| is_planned && branch.only_success().is_some();
        let is_fresh = |branch: &Branch| is_planned && branch.is_untouched();
        let pairs = || after.branches.iter().zip(&before.branches).enumerate();
        if is_planned && pairs().any(|(_, (now, then))| now.only_success() != then.only_success()) {
            let told = pairs().filter(|(_, (now, _))| is_told(now));
            self.calls = told.map(|(at, (now, _))| (at, (**now).clone())).collect();
        }
        for (position, (new, old)) in pairs().filter(|(_, (new, old))| new != old) {
            if is_told(new) && is_fresh(old) {
                continue;
            }
            let mut insert = |branch: &Branch| {
                self.branches.entry(position).or_insert_with(|| {
                    self.updated.insert(position, now);
                    branch.clone()
                });
            };
            if is_fresh(old) {
                insert(new);
                continue;
            }
            if is_told(old) {
                insert(old);
            }
            if let Some(branch) = self.branches.get_mut(&position)
                && branch.attempts == old.attempts
            {
                *branch = (**new).clone();
                self.updated.insert(position, now);
            }
        }
    }
}

impl Tables {
    /// Writes of this coordinator come to nothing any more.
    pub fn bury(&mut self, id: u64) {
        self.dead.insert(id);
        self.news.retain(|(owner, _)| *owner != id);
    }
    /// Whether this one was declared dead.
    pub fn is_dead(&self, id: u64) -> bool {
        self.dead.contains(&id)
    }

    /// As [`crate::Outside::insert`], for this coordinator.
    pub fn insert(&mut self, me: u64, transaction: &Transaction, is_driven: bool) -> bool {
        let gid = transaction.global.gid.clone();
        if self.rows.contains_key(&gid) {
            return false;
        }
        let mut global = (*transaction.global).clone();
        // Nothing is called before it is read again.
        global.is_exact = !is_driven;
        let branches = transaction.branches.iter();
        let branches: Vec<Branch> = branches.map(|branch| (**branch).clone()).collect();
        let is_planned = global.is_planned();
        let row = Row {
            global,
            owner: if is_driven { me } else { 0 },
            calls: BTreeMap::new(),
            updated: BTreeMap::new(),
            by_hand: 0,
            planned: if is_planned {
                branches.clone()
            } else {
                Vec::new()
            },
            branches: match is_planned {
                true => BTreeMap::new(),
                false => branches.into_iter().enumerate().collect(),
            },
        };
        self.rows.insert(gid, row);
        true
    }

    /// As [`crate::Outside::load`].
    pub fn load(&self, gid: &str) -> Option<Transaction> {
        let row = self.rows.get(gid)?;
        let mut branches = row.planned.clone();
        for (position, branch) in row.calls.iter().chain(&row.branches) {
            match branches.get_mut(*position) {
                Some(planned) => *planned = branch.clone(),
                None => branches.push(branch.clone()),
            }
        }
        Some(Transaction::read_back(row.global.clone(), branches))
    }

    /// As [`crate::Outside::claim`], for this coordinator.
    pub fn claim(&mut self, me: u64, gid: &str) -> Claimed {
        let Some(row) = self.rows.get_mut(gid) else {
            return Claimed::Missing;
        };
        let owner = row.owner;
        if me == 0 {
            return Claimed::Kept(Box::new(self.load(gid).expect("it was just found")));
        }
        if owner != 0 && owner != me && !self.dead.contains(&owner) {
            return Claimed::Others(owner);
        }
        let has_ended = row.global.status.is_final();
        if owner != me && !has_ended {
            row.owner = me;
        }
        let transaction = Box::new(self.load(gid).expect("it was just found"));
        match (owner == me, has_ended) {
            (true, _) => Claimed::Kept(transaction),
            (false, true) => Claimed::Ended(transaction),
            (false, false) => Claimed::Ours(transaction),
        }
    }

    /// As [`crate::Outside::save`], for this coordinator.
    pub fn save(
        &mut self,
        me: u64,
        by: By,
        (before, after): (&Transaction, &Transaction),
        now: Micros,
    ) -> Saved {
        let Some(row) = self.rows.get_mut(&after.global.gid) else {
            return Saved::TooLate;
        };
        let is_own = me != 0 && by.is_owner();
        if row.global.status != before.global.status || is_own && row.owner != me {
            return Saved::TooLate;
        }
        let (known, new) = (&mut row.global, &after.global);
        known.status = new.status;
        known.rollback_reason.clone_from(&new.rollback_reason);
        known.result.clone_from(&new.result);
        known.next_run = new.next_run;
        known.created = new.created;
        known.updated = now;
        known.finished = new.finished;
        known.rolled_back = new.rolled_back;
        known.submitted = new.submitted;
        if by != By::Client {
            known.retry_count = new.retry_count;
            known.query_interval = new.query_interval;
            known.dead_since = new.dead_since;
            known.failing_since = new.failing_since;
        }
        known.is_exact |= new.is_exact;
        if is_own {
            let stays = by == By::Driver && !new.status.is_final();
            row.owner = if stays { me } else { 0 };
        }
        row.save_branches(before, after, now);
        Saved::Yes
    }

    /// As [`crate::Outside::operate`].
    pub fn operate(
        &mut self,
        me: u64,
        (before, after): (&Transaction, &Transaction),
        now: Micros,
    ) -> Saved {
        // What has ended is nobody's.
        let by = match before.global.status.is_final() {
            true => By::Operator,
            false => By::Driver,
        };
        let saved = self.save(me, by, (before, after), now);
        let pause = |of: &Transaction| (of.global.paused_since, of.global.paused_us);
        if saved == Saved::Yes
            && let Some(row) = self.rows.get_mut(&after.global.gid)
        {
            row.by_hand += 1;
            if pause(before) != pause(after) {
                row.global.paused_since = after.global.paused_since;
                row.global.paused_us = after.global.paused_us;
            }
        }
        saved
    }

    /// As [`crate::Outside::pause`].
    pub fn pause(&mut self, gid: &str, since: Micros) -> Saved {
        let Some(row) = self.rows.get_mut(gid) else {
            return Saved::TooLate;
        };
        if row.global.status.is_final() || row.global.paused_since.is_some() {
            return Saved::TooLate;
        }
        row.global.paused_since = Some(since);
        row.global.next_run = Micros::MAX;
        row.by_hand += 1;
        Saved::Yes
    }

    /// As [`crate::Outside::by_hand`].
    pub fn by_hand(&self, gid: &str) -> u64 {
        self.rows.get(gid).map_or(0, |row| row.by_hand)
    }

    /// Whether an operator pauses it.
    pub fn is_paused(&self, gid: &str) -> bool {
        let row = self.rows.get(gid);
        row.is_some_and(|row| row.global.paused_since.is_some())
    }

    /// Whether its row says that it is a dead letter.
    pub fn is_dead_letter(&self, gid: &str) -> bool {
        let row = self.rows.get(gid);
        row.is_some_and(|row| row.global.dead_since.is_some())
    }

    /// As [`crate::Outside::hasten`].
    pub fn hasten(&mut self, gid: &str, pause: Micros, now: Micros) {
        let Some(row) = self.rows.get_mut(gid) else {
            return;
        };
        if !row.global.status.is_final() {
            row.global.next_run = row.global.next_run.min(now);
        }
        for (position, branch) in &mut row.branches {
            let written = row.updated.get(position).copied();
            let earliest = written.unwrap_or(row.global.created).saturating_add(pause);
            if branch.not_before > now {
                branch.not_before = branch.not_before.min(earliest).max(now);
            }
        }
    }

    /// Adds branches to a prepared transaction.
    pub fn register(&mut self, gid: &str, pattern: Pattern, branches: Vec<Branch>) -> Registered {
        let row = self.rows.get_mut(gid);
        let open = |row: &&mut Row| {
            let global = &row.global;
            global.status == Status::Prepared && global.pattern == pattern && !global.is_planned()
        };
        let Some(row) = row.filter(open) else {
            return Registered::NoTransaction;
        };
        let is_same = |a: &Branch, b: &Branch| (&a.branch_id, &a.op) == (&b.branch_id, &b.op);
        let is_known = |new: &Branch| row.branches.values().any(|known| is_same(known, new));
        if branches.iter().any(is_known) {
            return Registered::Duplicate;
        }
        for branch in branches {
            row.branches.insert(row.branches.len(), branch);
        }
        Registered::Yes
    }

    /// Unfinished transactions, and who drives them.
    pub fn unfinished(&self) -> impl Iterator<Item = (&Global, u64)> {
        let open = |row: &&Row| !row.global.status.is_final();
        let rows = self.rows.values().filter(open);
        rows.map(|row| (&row.global, row.owner))
    }

    /// Where it is.
    pub fn status(&self, gid: &str) -> Option<Status> {
        self.rows.get(gid).map(|row| row.global.status)
    }

    /// A line about a transaction, for the story of a run.
    pub fn shown(&self, gid: &str) -> String {
        let Some(row) = self.rows.get(gid) else {
            return "no row".to_owned();
        };
        let letter = |branch: &Branch| match branch.status {
            BranchStatus::Prepared => 'P',
            BranchStatus::Succeed => 'S',
            BranchStatus::Failed => 'F',
        };
        let found = self.load(gid).expect("it was just found");
        let letters: String = found.branches.iter().map(|branch| letter(branch)).collect();
        let exact = if row.global.is_exact { ", exact" } else { "" };
        let status = row.global.status.name();
        format!("{status} {letters}, owner {}{exact}", row.owner)
    }
}

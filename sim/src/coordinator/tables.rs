//! The coordinator's tables, as their statements use them: what `coordinator/src/store` does with
//! SQL, done with maps.

use cohort_coordinator_core::{
    decide::Transaction,
    model::{Branch, BranchStatus, Global, Micros, Pattern, Status},
    outside::{By, Claimed, News, Saved},
};
use std::collections::{BTreeMap, BTreeSet};

/// A row of global_transactions, and those of branches.
struct Row {
    global: Global,
    owner: u64,
    /// The branches that the row itself says all about.
    planned: Vec<Branch>,
    /// Rows of branches, by position.
    branches: BTreeMap<usize, Branch>,
}

/// All tables.
#[derive(Default)]
pub struct Tables {
    rows: BTreeMap<String, Row>,
    dead: BTreeSet<u64>,
    pub news: Vec<(u64, News)>,
}

/// What registering a branch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    Yes,
    Duplicate,
    NoTransaction,
}

impl Tables {
    /// Writes of this coordinator come to nothing any more.
    pub fn bury(&mut self, id: u64) {
        self.dead.insert(id);
        self.news.retain(|(owner, _)| *owner != id);
    }
    pub fn is_dead(&self, id: u64) -> bool {
        self.dead.contains(&id)
    }

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

    pub fn load(&self, gid: &str) -> Option<Transaction> {
        let row = self.rows.get(gid)?;
        let mut branches = row.planned.clone();
        for (position, branch) in &row.branches {
            match branches.get_mut(*position) {
                Some(planned) => *planned = branch.clone(),
                None => branches.push(branch.clone()),
            }
        }
        Some(Transaction::read_back(row.global.clone(), branches))
    }

    pub fn claim(&mut self, me: u64, gid: &str) -> Claimed {
        let Some(row) = self.rows.get_mut(gid) else {
            return Claimed::Missing;
        };
        let owner = row.owner;
        if me == 0 {
            return Claimed::Kept(Box::new(self.load(gid).expect("it is there")));
        }
        if owner != 0 && owner != me && !self.dead.contains(&owner) {
            return Claimed::Others(owner);
        }
        let has_ended = row.global.status.is_final();
        if owner != me && !has_ended {
            row.owner = me;
        }
        let transaction = Box::new(self.load(gid).expect("it is there"));
        match (owner == me, has_ended) {
            (true, _) => Claimed::Kept(transaction),
            (false, true) => Claimed::Ended(transaction),
            (false, false) => Claimed::Ours(transaction),
        }
    }

    pub fn save(&mut self, me: u64, by: By, before: &Transaction, after: &Transaction) -> Saved {
        let Some(row) = self.rows.get_mut(&after.global.gid) else {
            return Saved::TooLate;
        };
        let is_own = me != 0 && by != By::Other;
        if row.global.status != before.global.status || is_own && row.owner != me {
            return Saved::TooLate;
        }
        let (known, new) = (&mut row.global, &after.global);
        known.status = new.status;
        known.rollback_reason.clone_from(&new.rollback_reason);
        known.result.clone_from(&new.result);
        known.retry_count = new.retry_count;
        known.query_interval = new.query_interval;
        known.next_run = new.next_run;
        known.finished = new.finished;
        known.rolled_back = new.rolled_back;
        known.dead_since = new.dead_since;
        known.is_exact |= new.is_exact;
        if is_own {
            let stays = by == By::Driver && !new.status.is_final();
            row.owner = if stays { me } else { 0 };
        }
        let pairs = after.branches.iter().zip(&before.branches).enumerate();
        for (position, (after, before)) in pairs.filter(|(_, (after, before))| after != before) {
            if known.is_planned() && before.is_untouched() {
                let fresh = row.branches.entry(position);
                fresh.or_insert_with(|| (**after).clone());
                continue;
            }
            if let Some(branch) = row.branches.get_mut(&position)
                && branch.attempts == before.attempts
            {
                *branch = (**after).clone();
            }
        }
        Saved::Yes
    }

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

    /// Unfinished transactions: name, owner, when there is something to do.
    pub fn unfinished(&self) -> impl Iterator<Item = (&str, u64, Micros)> {
        let open = |row: &&Row| !row.global.status.is_final();
        let rows = self.rows.values().filter(open);
        rows.map(|row| (row.global.gid.as_str(), row.owner, row.global.next_run))
    }

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
        let found = self.load(gid).expect("it is there");
        let letters: String = found.branches.iter().map(|branch| letter(branch)).collect();
        let exact = if row.global.is_exact { ", exact" } else { "" };
        let status = row.global.status.name();
        format!("{status} {letters}, owner {}{exact}", row.owner)
    }
}

//! What a DDL builds from a table's rows while others go on writing them.
//!
//! The new trees are always those of one snapshot of the Base, and are taken from one to the next:
//!
//! 1. Begin: a checkpoint; from now on each checkpoint notes, in a tree of its own, which keys of
//!    the table's rows it changes. The snapshot that follows is what the trees are built from.
//! 2. Follow: a checkpoint, and a snapshot with all that was noted up to it. What a noted key had
//!    in the last snapshot and has in this one is a change of a row, and what it does to the new
//!    trees is what a statement's change would do (`row_change`). The trees are now those of this
//!    snapshot. Again, as long as there is much to follow.
//! 3. Exchange: under the exclusive metadata lock, which waits for the transactions that have used
//!    the table, the same once more. Nobody can change a row now, so the trees are those of the
//!    rows when the DDL is logged, as if they had been built under the lock.
//!
//! So the log stays the only truth: a crash before the DDL is in the log leaves trees that nobody
//! owns, one after it finds them whole, for they are durable before; and whoever builds them again,
//! a replica or a restore, does it from the rows at the DDL's place in the log.
//!
//! Of two rows with the same unique key only those count that meet in one of the snapshots. That is
//! looked at when all that goes has gone, so that a key may change its owner between two snapshots.
//!
//! Rejected: reading the log behind the snapshot, as replicas do: it has the changes of all tables,
//! and must be kept for it; and having every commit keep the new trees, too, which makes writers
//! pay twice and find duplicates for a table that is not there yet.

use super::{
    TxnError,
    build::{self, Fresh, fresh_indexes},
    descriptor::Descriptor,
    dictionary::table_trees,
    engine::Inner,
    entry::{malformed, primary_key, successor},
    progress::{Progress, Running, Stage},
    row_change::{Row, RowChange},
    site::{Copying, KILL_CHECK, RowConversion, Rows, Site, chunk_bytes},
    table_state::TableState,
    waiting::{Lent, WaitFor},
};
use crate::{
    Seq,
    env::{TemporaryFiles, alone, processors},
    store::{
        Delta, Horizon, Stamp, TextTree, TreeKey,
        base::{BaseSnapshot, BaseWrite},
        merge,
    },
    types::{IdMap, Table, TreeId, key},
};
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::AtomicU64, atomic::Ordering},
    time::Duration,
};

/// The writers are followed until so few rows are left. What is left then is what they wait for at
/// the exchange.
const FEW: u64 = if cfg!(test) { 2 } else { 100 };

/// The Base of an open engine, and who builds.
struct Live<'a> {
    inner: &'a Inner,
    descriptor: &'a Descriptor,
    progress: &'a Progress,
    /// Whether anything was changed.
    changed: &'a Cell<bool>,
    /// Of a build that nobody waits for.
    pace: Option<Pace>,
    /// So many threads at most may work.
    threads: usize,
}

/// How hard a build works.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// Nobody waits for it.
    pub gentle: bool,
    /// So many threads at most build indexes.
    pub threads: usize,
}

/// How a build that nobody waits for leaves time to others: while they commit it rests as long as it
/// has worked. Alone it does not rest.
struct Pace {
    /// When it began to work, in nanoseconds of the monotonic clock.
    since_ns: Cell<u64>,
    /// What was committed by then.
    seen: Cell<Seq>,
}

impl Pace {
    /// It works so long at least before it rests, in nanoseconds.
    const WORK_NS: u64 = 2_000_000;
    /// It looks for KILL so often while it rests.
    const REST_NS: u64 = 50_000_000;

    fn new(inner: &Inner) -> Pace {
        Pace {
            since_ns: Cell::new(inner.env.monotonic_nanos()),
            seen: Cell::new(inner.log.visible()),
        }
    }
    fn rest(&self, inner: &Inner, descriptor: &Descriptor) {
        let worked = inner
            .env
            .monotonic_nanos()
            .saturating_sub(self.since_ns.get());
        if worked < Pace::WORK_NS {
            return;
        }
        if inner.log.visible() > self.seen.get() {
            descriptor.waiting.pause(WaitFor::Sleep);
            let mut left = worked;
            while left > 0 && !descriptor.is_killed() {
                let step = left.min(Pace::REST_NS);
                inner.env.sleep(Duration::from_nanos(step));
                left -= step;
            }
            descriptor.waiting.resume(WaitFor::Sleep);
        }
        self.since_ns.set(inner.env.monotonic_nanos());
        self.seen.set(inner.log.visible());
    }
}

impl Site for Live<'_> {
    fn change(
        &self,
        change: &mut dyn FnMut(&mut BaseWrite<'_>) -> Result<(), TxnError>,
    ) -> Result<(), TxnError> {
        self.inner.change_base(change)?;
        self.changed.set(true);
        Ok(())
    }
    fn temporary_files(&self) -> TemporaryFiles {
        self.inner.base.temporary_files()
    }
    fn helpers(&self) -> Vec<Box<dyn Lent>> {
        let most = self.threads.min(processors());
        let slots = (1..most).map_while(|_| self.descriptor.waiting.lend());
        slots.collect()
    }
    fn merges(&self, entries: u64) {
        let now = self.inner.env.wall_micros();
        self.progress.stage(Stage::Merge, entries, now);
    }
    fn check(&self, done: u64) -> Result<(), TxnError> {
        self.progress.add(done);
        self.descriptor.waiting.offer(self.pace.is_none());
        if let Some(pace) = &self.pace {
            pace.rest(self.inner, self.descriptor);
        }
        match self.descriptor.is_killed() {
            true => Err(TxnError::Killed),
            false => Ok(()),
        }
    }
}

/// How a build comes up with the writers. Each round follows what they have changed during the one
/// before, so the rounds get shorter as long as following is faster than writing. When they do not get
/// short soon, who begins to write the table waits for a moment before.
#[derive(Default)]
struct Chase {
    rounds: u32,
    /// What the last round followed, in rows.
    before: Option<u64>,
    /// So long who begins to write waits, in microseconds.
    slowed_us: u64,
}

impl Chase {
    /// So many rounds at most.
    const ROUNDS_MAX: u32 = 20;
    /// How long writers wait first, and twice as long each time that this is not enough.
    const SLOWED_US: u64 = 4_000;
    /// They wait so long at most.
    const SLOWED_US_MAX: u64 = 64_000;

    /// Whether there is to be another round after one that followed so many rows.
    fn goes_on(&mut self, followed: u64) -> bool {
        self.rounds += 1;
        if self.before.is_some_and(|before| followed > before / 2) {
            let twice = self.slowed_us * 2;
            self.slowed_us = twice.clamp(Chase::SLOWED_US, Chase::SLOWED_US_MAX);
        }
        self.before = Some(followed);
        followed > FEW && self.rounds < Chase::ROUNDS_MAX
    }
}

/// Trees that are built. Unless they are kept, they go with this.
pub(super) struct Building<'a> {
    inner: &'a Inner,
    descriptor: &'a Descriptor,
    progress: Running<'a>,
    state: Arc<TableState>,
    old: Arc<Table>,
    new: Arc<Table>,
    /// Whether the rows are built, too.
    copies: bool,
    effort: Effort,
    /// What the trees have: the rows of this moment.
    snapshot: Option<Arc<BaseSnapshot>>,
    /// Where checkpoints note what has changed since.
    noted: TreeId,
    changed: Cell<bool>,
    next_row: u64,
    kept: bool,
}

/// What was built.
pub(super) struct Built {
    /// The build's number, if there was anything to build.
    pub number: Option<u64>,
    /// The next hidden row number.
    pub next_row: u64,
}

impl<'a> Building<'a> {
    /// Begins with what `new` has and `old` does not; `None`: there is nothing. `copies`: the rows
    /// as well, which `convert` is for. From now on
    /// changes are noted.
    pub fn begin(
        inner: &'a Inner,
        (old, state, new): (&Arc<Table>, &Arc<TableState>, &Table),
        (copies, effort): (bool, Effort),
        descriptor: &'a Descriptor,
    ) -> Result<Option<Building<'a>>, TxnError> {
        if !copies && fresh_indexes(old, new).is_empty() {
            return Ok(None);
        }
        let mut building = Building {
            inner,
            descriptor,
            progress: inner
                .running
                .begin(descriptor, copies, inner.env.wall_micros()),
            state: Arc::clone(state),
            old: Arc::clone(old),
            new: Arc::new(new.clone()),
            copies,
            effort,
            snapshot: None,
            noted: inner.next_id.fetch_add(1, Ordering::Relaxed),
            changed: Cell::new(false),
            next_row: 1,
            kept: false,
        };
        let mut retired = inner.checkpointer.exclusive.lock();
        inner.checkpoint_locked(&mut retired)?;
        let mut noted = inner.checkpointer.noted.lock();
        noted.push((building.old.rows, building.noted));
        drop(noted);
        building.snapshot = Some(inner.base.snapshot()?);
        drop(retired);
        Ok(Some(building))
    }
    fn site(&self) -> Live<'_> {
        Live {
            inner: self.inner,
            descriptor: self.descriptor,
            progress: &self.progress,
            changed: &self.changed,
            pace: None,
            threads: self.effort.threads,
        }
    }
    fn stage(&self, stage: Stage, rows: u64) {
        let now = self.inner.env.wall_micros();
        self.progress.stage(stage, rows, now);
    }
    /// Whether the hidden numbers of the rows stay as they are.
    pub fn keeps_numbers(&self) -> bool {
        self.copies && self.old.primary.is_none() && self.new.primary.is_none()
    }
    /// Builds the trees from the snapshot it began with.
    pub fn fill(&mut self, convert: Option<&mut RowConversion<'_>>) -> Result<(), TxnError> {
        let Some(snapshot) = self.snapshot.clone() else {
            return Err(TxnError::Corrupt("a build without its snapshot".to_owned()));
        };
        let rows = snapshot.tree_len(self.old.rows)?;
        self.stage(Stage::Rows, rows);
        let numbered = self.keeps_numbers();
        let mut site = self.site();
        site.pace = self.effort.gentle.then(|| Pace::new(self.inner));
        let mut rows = Rows::of(&self.old, &snapshot, &site)?;
        let fresh = fresh_indexes(&self.old, &self.new);
        self.next_row = match convert {
            Some(convert) => build::fill_table(&mut rows, &self.new, numbered, convert)?,
            None => build::fill_indexes(&mut rows, &self.new, &fresh).map(|()| 1)?,
        };
        Ok(())
    }
    /// Follows the writers until little is left to do.
    pub fn follow(&mut self, mut convert: Option<&mut RowConversion<'_>>) -> Result<(), TxnError> {
        let mut chase = Chase::default();
        loop {
            let followed = self.advance(convert.as_deref_mut())?;
            if !chase.goes_on(followed) {
                return Ok(());
            }
            let slowed = &self.state.slowed_us;
            slowed.store(chase.slowed_us, Ordering::Relaxed);
        }
    }
    /// The last time, when nobody writes the table any more: publishes what is built.
    pub fn finish(&mut self, convert: Option<&mut RowConversion<'_>>) -> Result<Built, TxnError> {
        self.advance(convert)?;
        self.stage(Stage::End, 0);
        let inner = self.inner;
        if self.keeps_numbers() {
            let next = self.state.next_row.load(Ordering::Relaxed);
            self.next_row = self.next_row.max(next);
        }
        let _one_at_a_time = inner.checkpointer.exclusive.lock();
        // Of another build, perhaps, that has gone on meanwhile: then this one is in it, too.
        let number = inner.builds.load(Ordering::Relaxed);
        inner.publish_base(None)?;
        Ok(Built {
            number: self.changed.get().then_some(number),
            next_row: self.next_row,
        })
    }
    /// What is built stays.
    pub fn keep(mut self) {
        self.kept = true;
    }
    /// Takes the trees to the rows as they are now. Returns how many have changed.
    fn advance(&mut self, convert: Option<&mut RowConversion<'_>>) -> Result<u64, TxnError> {
        let inner = self.inner;
        let next = inner.next_id.fetch_add(1, Ordering::Relaxed);
        let mut retired = inner.checkpointer.exclusive.lock();
        inner.checkpoint_locked(&mut retired)?;
        let snapshot = inner.base.snapshot()?;
        let mut noted = inner.checkpointer.noted.lock();
        let ours = noted.iter_mut().find(|(_, into)| *into == self.noted);
        if let Some((_, into)) = ours {
            *into = next;
        }
        drop(noted);
        drop(retired);
        let changed = std::mem::replace(&mut self.noted, next);
        // With the next checkpoint; the snapshot has it as long as it is read.
        inner.checkpointer.doom(0, vec![changed]);
        let count = snapshot.tree_len(changed)?;
        self.stage(Stage::Log, count);
        if count > 0
            && let Some(before) = self.snapshot.clone()
        {
            let mut follower = Follower {
                building: self,
                noted: changed,
                moments: (&before, &snapshot),
                pending: Pending::default(),
                counted: 0,
            };
            follower.run(convert)?;
        }
        self.snapshot = Some(snapshot);
        Ok(count)
    }
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        self.state.slowed_us.store(0, Ordering::Relaxed);
        let checkpointer = &self.inner.checkpointer;
        let _no_checkpoint = checkpointer.exclusive.lock();
        let mut noted = checkpointer.noted.lock();
        noted.retain(|(_, into)| *into != self.noted);
        // With the next checkpoint: the disk may be full now.
        checkpointer.doom(0, vec![self.noted]);
        if !self.kept {
            let known: BTreeSet<TreeId> = table_trees(&self.old).collect();
            let built = table_trees(&self.new).filter(|tree| !known.contains(tree));
            checkpointer.doom(0, built.collect());
        }
    }
}

/// What changes of rows do to the trees, not yet done.
#[derive(Default)]
struct Pending {
    gone: BTreeSet<TreeKey>,
    /// What comes, and how much of its key no other may share.
    come: BTreeMap<TreeKey, (usize, Box<[u8]>)>,
    /// The words of rows in FULLTEXT indexes.
    words: BTreeMap<TreeKey, Option<Arc<[u8]>>>,
    bytes: usize,
}

/// What an entry takes beyond its bytes, about.
const ENTRY_BYTES: usize = 100;

/// Which changes are gathered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    Gone,
    Come,
}

impl Pending {
    fn is_large(&self) -> bool {
        self.bytes >= chunk_bytes(1)
    }
    fn goes(&mut self, tree: TreeId, key: &[u8]) {
        self.bytes += key.len() + ENTRY_BYTES;
        self.gone.insert(TreeKey::new(tree, key));
    }
    /// False: another one has come there, or has stayed there with another value.
    fn comes(&mut self, tree: TreeId, key: &[u8], unique: usize, value: &[u8]) -> bool {
        self.bytes += key.len() + value.len() + ENTRY_BYTES;
        let before = self
            .come
            .insert(TreeKey::new(tree, key), (unique, value.into()));
        before.is_none()
    }
    /// What a row has now comes before what it had where it has been.
    fn has_words(&mut self, tree: TreeId, key: &[u8], words: Option<&[u8]>) {
        self.bytes += key.len() + words.map_or(0, <[u8]>::len) + ENTRY_BYTES;
        let slot = self.words.entry(TreeKey::new(tree, key)).or_default();
        if let Some(words) = words {
            *slot = Some(Arc::from(words));
        }
    }
}

/// Takes the trees from one moment to another.
struct Follower<'f, 'a> {
    building: &'f Building<'a>,
    /// The keys of the rows that have changed.
    noted: TreeId,
    moments: (&'f Arc<BaseSnapshot>, &'f Arc<BaseSnapshot>),
    pending: Pending,
    /// So many of the keys have been counted.
    counted: u64,
}

impl Follower<'_, '_> {
    fn run(&mut self, mut convert: Option<&mut RowConversion<'_>>) -> Result<(), TxnError> {
        if self.gather(Part::All, convert.as_deref_mut())? {
            return self.flush();
        }
        self.pending = Pending::default();
        for part in [Part::Gone, Part::Come] {
            self.gather(part, convert.as_deref_mut())?;
            self.flush()?;
        }
        Ok(())
    }
    /// Gathers what has changed; false: it is too much for one commit of the Base. A part of it is
    /// written as it comes.
    fn gather(
        &mut self,
        part: Part,
        mut convert: Option<&mut RowConversion<'_>>,
    ) -> Result<bool, TxnError> {
        let (before, after) = self.moments;
        let rows = self.building.old.rows;
        let site = self.building.site();
        let mut keys = after.range(self.noted, &[], None)?;
        let mut count = 0_u64;
        while let Some(item) = keys.next(false)? {
            count += 1;
            if count.is_multiple_of(KILL_CHECK) {
                site.check(KILL_CHECK)?;
            }
            let was = before.get(rows, item.key(), <[u8]>::to_vec)?;
            let is = after.get(rows, item.key(), <[u8]>::to_vec)?;
            if was != is {
                let is_counted = count <= self.counted || part == Part::Gone || was.is_some();
                let which = match is_counted {
                    true => Copying::Again,
                    false => Copying::New,
                };
                let convert = convert.as_deref_mut().map(|convert| (convert, which));
                self.row(item.key(), (was, is), part, convert)?;
            }
            if part != Part::Gone {
                self.counted = self.counted.max(count);
            }
            match part {
                Part::All if self.pending.is_large() => return Ok(false),
                Part::All => {}
                Part::Gone | Part::Come if self.pending.is_large() => self.flush()?,
                Part::Gone | Part::Come => {}
            }
        }
        Ok(true)
    }
    /// Gathers what a row's change does.
    fn row(
        &mut self,
        key: &[u8],
        (was, is): (Option<Vec<u8>>, Option<Vec<u8>>),
        part: Part,
        convert: Option<(&mut RowConversion<'_>, Copying)>,
    ) -> Result<(), TxnError> {
        let building = self.building;
        let (was, is) = match convert {
            None => (was, is),
            Some((convert, which)) => {
                let mut converted = |which, image: Option<Vec<u8>>| -> Result<_, TxnError> {
                    let Some(image) = image else { return Ok(None) };
                    let mut out = Vec::new();
                    convert(which, &image, &mut out).map_err(TxnError::Conversion)?;
                    Ok(Some(out))
                };
                (converted(Copying::Again, was)?, converted(which, is)?)
            }
        };
        if building.copies && building.old.primary.is_some() && building.new.primary.is_none() {
            let what = "rows changed while they were given numbers";
            return Err(TxnError::Corrupt(what.to_owned()));
        }
        let row = |image| -> Result<Row<'_>, TxnError> {
            let new_key = match building.copies {
                true => primary_key(&building.new, image)?,
                false => None,
            };
            Ok(Row::new(new_key.unwrap_or_else(|| key.to_vec()), image))
        };
        let change = match (&was, &is) {
            (None, None) => return Ok(()),
            (None, Some(is)) => RowChange::Insert(row(is)?),
            (Some(was), None) => RowChange::Delete(row(was)?),
            (Some(was), Some(is)) => RowChange::Update(row(was)?, row(is)?),
        };
        let fresh = fresh_indexes(&building.old, &building.new);
        self.changed(&change, &fresh, part)
    }
    fn changed(
        &mut self,
        change: &RowChange<Row<'_>>,
        fresh: &Fresh<'_>,
        part: Part,
    ) -> Result<(), TxnError> {
        let building = self.building;
        let table = &*building.new;
        let (goes, comes) = (part != Part::Come, part != Part::Gone);
        let pending = &mut self.pending;
        let mut met = None;
        if building.copies {
            if let Some(row) = change.leaves().filter(|_| goes) {
                pending.goes(table.rows, &row.key);
            }
            if let Some(row) = change.after().filter(|_| comes) {
                let arrives = change.arrives().is_some();
                let unique = if arrives { row.key.len() } else { 0 };
                if !pending.comes(table.rows, &row.key, unique, row.image) {
                    met = Some(table.rows);
                }
            }
        }
        for index in fresh.indexes() {
            let Some(entries) = change.entries(table, index)? else {
                continue;
            };
            for entry in entries.gone.iter().filter(|_| goes) {
                pending.goes(index.tree, &entry.key);
            }
            for entry in entries.come.iter().filter(|_| comes) {
                let unique = if entry.unique { entry.parts } else { 0 };
                pending.comes(index.tree, &entry.key, unique, &[]);
            }
        }
        if !fresh.texts().is_empty() {
            let is_fresh = |tree| fresh.texts().iter().any(|text| text.index.tree == tree);
            for text in change.texts(table)? {
                text.put(|tree, key, words| {
                    let wanted = if words.is_some() { comes } else { goes };
                    if wanted && is_fresh(tree) {
                        pending.has_words(tree, key, words);
                    }
                });
            }
        }
        met.map_or(Ok(()), |tree| Err(self.duplicate(tree)))
    }
    fn duplicate(&self, tree: TreeId) -> TxnError {
        let indexes = self.building.new.keys();
        let index = indexes.into_iter().find(|index| index.tree == tree);
        TxnError::DuplicateKey {
            index: index.map_or("PRIMARY", |index| &index.name).to_owned(),
        }
    }
    /// Does what is gathered, in one commit of the Base.
    fn flush(&mut self) -> Result<(), TxnError> {
        let pending = std::mem::take(&mut self.pending);
        if pending.gone.is_empty() && pending.come.is_empty() && pending.words.is_empty() {
            return Ok(());
        }
        let site = self.building.site();
        site.change(&mut |write| {
            self.change_words(&pending.words, write)?;
            for keys in of_trees(pending.gone.iter(), |key| key.tree()) {
                let Some(tree) = keys.first().map(|key| key.tree()) else {
                    continue;
                };
                let mut writer = write.tree(tree)?;
                for key in keys {
                    writer.remove(key.key())?;
                }
            }
            for entries in of_trees(pending.come.iter(), |(key, _)| key.tree()) {
                let Some(tree) = entries.first().map(|(key, _)| key.tree()) else {
                    continue;
                };
                let mut writer = write.tree(tree)?;
                for (key, (unique, value)) in entries {
                    let key = key.key();
                    let shared = key.get(..*unique).unwrap_or_default();
                    if *unique > 0 && writer.has_prefix(shared)? {
                        return Err(self.duplicate(tree));
                    }
                    writer.put(key, value)?;
                }
            }
            Ok(())
        })
    }
    /// Changes the words of FULLTEXT indexes as a checkpoint does.
    fn change_words(
        &self,
        words: &BTreeMap<TreeKey, Option<Arc<[u8]>>>,
        write: &mut BaseWrite<'_>,
    ) -> Result<(), TxnError> {
        if words.is_empty() {
            return Ok(());
        }
        let building = self.building;
        let delta = Delta::new(0);
        for (key, words) in words {
            let words = words.clone();
            delta.push(key.clone(), Stamp::At(1), words, &Horizon::default());
        }
        let mut texts = IdMap::default();
        for text in &building.new.fulltext {
            let tree = TextTree {
                table: Arc::clone(&building.new),
                text: text.clone(),
            };
            texts.insert(text.index.tree, tree);
        }
        // The words that are there are those of the rows as they were: of the moment before, or, if
        // the rows are built as well, of those that are built.
        let built;
        let before: &BaseSnapshot = if building.copies {
            built = self.building.inner.base.snapshot()?;
            &built
        } else {
            self.moments.0
        };
        let done = AtomicU64::new(0);
        let _alone = building.inner.options.inline.then(alone);
        merge(&delta, write, |_| true, (&texts, before), &done)?;
        Ok(())
    }
}

/// Items that come ordered by tree, tree by tree.
fn of_trees<T>(items: impl Iterator<Item = T>, tree: impl Fn(&T) -> TreeId) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        match groups.last_mut() {
            Some(group)
                if group
                    .first()
                    .is_some_and(|first| tree(first) == tree(&item)) =>
            {
                group.push(item);
            }
            _ => groups.push(vec![item]),
        }
    }
    groups
}

/// Looks for the parent of each row of `new`, which is built: `ForeignKey` for one without. `names`:
/// the foreign keys that are looked at. Nobody changes the rows of any of these tables meanwhile.
pub(super) fn check_references(
    inner: &Inner,
    new: &Table,
    names: &[String],
    descriptor: &Descriptor,
) -> Result<(), TxnError> {
    if names.is_empty() {
        return Ok(());
    }
    inner.checkpoint_now()?;
    let snapshot = inner.base.snapshot()?;
    let dictionary = inner.definitions.load_full();
    let mut references = Vec::new();
    for key in new
        .foreign_keys
        .iter()
        .filter(|key| names.contains(&key.name))
    {
        let parent = if key.refers_to(&new.database, &new.name) {
            new
        } else {
            let parent = dictionary.table(&key.parent_database, &key.parent);
            parent.ok_or(TxnError::TableChanged)?
        };
        let index = key.parent_index(parent).ok_or(TxnError::TableChanged)?;
        references.push((key, parent, index));
    }
    let running = inner
        .running
        .begin(descriptor, false, inner.env.wall_micros());
    let rows = snapshot.tree_len(new.rows)?;
    running.stage(Stage::Rows, rows, inner.env.wall_micros());
    let site = Live {
        inner,
        descriptor,
        progress: &running,
        changed: &Cell::new(false),
        pace: None,
        threads: 1,
    };
    let mut rows = Rows::of(new, &snapshot, &site)?;
    while let Some(row) = rows.next()? {
        for (key, parent, index) in &references {
            let child = (new, key.columns.as_slice());
            let found = key::encode_reference(child, row.value(), (parent, index));
            let Some(low) = found.map_err(|_| malformed(new))? else {
                continue;
            };
            let high = successor(&low);
            let mut range = snapshot.range(index.tree, &low, high.as_deref())?;
            if range.next(false)?.is_none() {
                let name = key.name.clone();
                return Err(TxnError::ForeignKey { name });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Chase, FEW};

    /// Writers change so many rows in a second; following a row takes so many microseconds. Returns the
    /// rounds, the rows that are left and how long writers wait in the end, in microseconds.
    fn chase(mut rows: u64, writers: u64, follow_us: u64) -> (u32, u64, u64) {
        let (mut chase, transaction_us) = (Chase::default(), 10_000);
        while chase.goes_on(rows) {
            let rate = writers * transaction_us / (transaction_us + chase.slowed_us);
            rows = rate * rows.min(100_000_000) * follow_us / 1_000_000;
        }
        (chase.rounds, rows, chase.slowed_us)
    }

    #[test]
    fn slow_writers_are_left_alone() {
        let (rounds, left, slowed) = chase(100_000, 400, 100);
        assert!(left <= FEW && rounds < 6, "{left} after {rounds} rounds");
        assert_eq!(slowed, 0);
    }

    #[test]
    fn writers_that_are_too_fast_are_slowed_until_they_are_reached() {
        let (rounds, left, slowed) = chase(100_000, 12_000, 100);
        assert!(left <= FEW, "{left} after {rounds} rounds");
        assert!((Chase::SLOWED_US..=Chase::SLOWED_US_MAX).contains(&slowed));
    }

    #[test]
    fn it_ends_even_if_they_cannot_be_reached() {
        assert_eq!(chase(100_000, 1_000_000, 1_000).0, Chase::ROUNDS_MAX);
    }
}

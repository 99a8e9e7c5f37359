//! What must be there: the tables and rows after each commit.

use crate::shape::{Field, Ident, Row, Shape};
use cohort_engine::{
    Seq,
    types::{Table, TableId, Xid},
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// A row, and the commit that made it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub row: Row,
    pub seq: Seq,
}

/// A table.
#[derive(Clone)]
pub struct TableModel {
    pub shape: Shape,
    pub definition: Arc<Table>,
    /// Its numbers are not known: the statement that gave them failed, perhaps only afterwards.
    pub guessed: bool,
    pub rows: BTreeMap<Ident, Version>,
    /// The greatest AUTO_INCREMENT value that a commit used.
    pub counted: i64,
}

/// A row that a transaction has written (`None`: deleted).
#[derive(Clone, Debug)]
pub struct Written {
    pub row: Option<Row>,
    pub inserted: bool,
}

/// What a transaction has written.
pub type Own = BTreeMap<(TableId, Ident), Written>;

/// Everything as of one commit. Copies share the tables.
#[derive(Clone, Default)]
pub struct State {
    pub seq: Seq,
    pub databases: BTreeSet<String>,
    pub tables: BTreeMap<TableId, Arc<TableModel>>,
    pub prepared: BTreeMap<Xid, Arc<Own>>,
    /// What users of the engine keep beside tables.
    pub records: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The greatest number that a table or tree ever had.
    pub ids: u32,
}

impl State {
    /// The table of this name.
    pub fn named(&self, database: &str, name: &str) -> Option<&Arc<TableModel>> {
        let is_it = |table: &&Arc<TableModel>| {
            table.definition.database == database && table.definition.name == name
        };
        self.tables.values().find(is_it)
    }
    /// The state after one more commit, which `change` makes.
    pub fn next(&self, change: impl FnOnce(&mut State)) -> State {
        let mut next = self.clone();
        next.seq += 1;
        change(&mut next);
        next
    }
    /// Makes what a transaction has written.
    pub fn write(&mut self, own: &Own) {
        for ((id, ident), written) in own {
            let table = self
                .tables
                .get_mut(id)
                .expect("a table in use is not dropped");
            let table = Arc::make_mut(table);
            match &written.row {
                None => drop(table.rows.remove(ident)),
                Some(row) => {
                    if let (true, true, Some(Field::Int(id))) =
                        (written.inserted, table.shape.counts(), row.first())
                    {
                        table.counted = table.counted.max(*id);
                    }
                    let row = row.clone();
                    table
                        .rows
                        .insert(ident.clone(), Version { row, seq: self.seq });
                }
            }
        }
    }
    /// Puts a table there.
    pub fn put(&mut self, table: TableModel) {
        let definition = &table.definition;
        let trees = definition.indexes.iter().map(|index| index.tree);
        let ids = trees.chain([definition.id, definition.rows]);
        if !table.guessed {
            self.ids = ids.max().unwrap_or(0).max(self.ids);
        }
        self.tables.insert(definition.id, Arc::new(table));
    }
    /// A row as a transaction sees it that has written `own`.
    pub fn row<'s>(&'s self, own: &'s Own, id: TableId, ident: &Ident) -> Option<&'s Row> {
        match own.get(&(id, ident.clone())) {
            Some(written) => written.row.as_ref(),
            None => Some(&self.tables.get(&id)?.rows.get(ident)?.row),
        }
    }
    /// All rows of a table as a transaction sees them that has written `own`.
    pub fn rows(&self, own: &Own, id: TableId) -> Vec<Row> {
        let table = self.tables.get(&id);
        let committed = table.into_iter().flat_map(|table| &table.rows);
        let mut rows: BTreeMap<&Ident, &Row> = committed
            .map(|(ident, version)| (ident, &version.row))
            .collect();
        for ((table, ident), written) in own {
            match &written.row {
                Some(row) if *table == id => drop(rows.insert(ident, row)),
                None if *table == id => drop(rows.remove(ident)),
                _ => {}
            }
        }
        let mut rows: Vec<Row> = rows.into_values().cloned().collect();
        rows.sort();
        rows
    }
    /// The commit that last changed a row that is there.
    pub fn changed(&self, id: TableId, ident: &Ident) -> Seq {
        let version = self.tables.get(&id).and_then(|table| table.rows.get(ident));
        version.map_or(0, |version| version.seq)
    }
    /// Whether a row of this identity, or with its unique value, stands in the way.
    pub fn is_taken(&self, own: &Own, id: TableId, row: &Row, replaced: Option<&Ident>) -> bool {
        let Some(table) = self.tables.get(&id) else {
            return false;
        };
        let shape = table.shape;
        let ident = shape.ident(row);
        let has_primary = table.definition.primary.is_some();
        self.rows(own, id).iter().any(|other| {
            let other_ident = shape.ident(other);
            if replaced == Some(&other_ident) {
                return false;
            }
            has_primary && other_ident == ident || shape.share_unique(row, other)
        })
    }
}

/// The states that a crash may leave, and what was promised.
pub struct Model {
    /// One after another; the last one is that of the last commit that is known to have its place
    /// in the log.
    pub states: VecDeque<State>,
    /// Commits up to this one were acknowledged, or shown to somebody, when they were durable.
    pub known: Seq,
    /// Commits up to this one were acknowledged: more than `known` if not every group is synced.
    /// Only what ends no more than the process must keep them.
    pub acknowledged: Seq,
    /// What may be instead of the next state: commits that failed, of which it is not known
    /// whether they have a place in the log.
    pub doubtful: Vec<State>,
}

impl Model {
    /// Of an empty engine.
    pub fn new(state: State) -> Model {
        Model {
            known: state.seq,
            acknowledged: state.seq,
            states: VecDeque::from([state]),
            doubtful: Vec::new(),
        }
    }
    /// The state after the last commit.
    pub fn latest(&self) -> &State {
        self.states.back().expect("there is always one")
    }
    /// The state after a commit.
    pub fn at(&self, seq: Seq) -> Option<&State> {
        let first = self.states.front()?.seq;
        let place = usize::try_from(seq.checked_sub(first)?).ok()?;
        self.states.get(place)
    }
    /// Notes that somebody was told of a commit, and so of those before it.
    pub fn tell(&mut self, seq: Seq, durable: Seq) {
        self.known = self.known.max(seq.min(durable));
        self.acknowledged = self.acknowledged.max(seq);
    }
    /// A commit has its place.
    pub fn place(&mut self, change: impl FnOnce(&mut State)) {
        let next = self.latest().next(change);
        self.doubtful.clear();
        self.states.push_back(next);
    }
    /// A commit failed; perhaps it has its place.
    pub fn doubt(&mut self, change: impl FnOnce(&mut State)) {
        let next = self.latest().next(change);
        self.doubtful.push(next);
    }
    /// Forgets states that neither a crash nor a snapshot leads to.
    pub fn forget(&mut self, visible: Seq) {
        let needed = visible.min(self.known);
        while self.states.len() > 1 && self.states.front().is_some_and(|s| s.seq < needed) {
            self.states.pop_front();
        }
    }
    /// The states that may be found with `seq` as the last commit.
    pub fn candidates(&self, seq: Seq) -> impl Iterator<Item = &State> {
        let placed = self.at(seq);
        let doubtful = self.doubtful.iter();
        placed
            .into_iter()
            .chain(doubtful.filter(move |state| state.seq == seq))
    }
}

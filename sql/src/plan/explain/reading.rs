//! How a table of a block is read, as MySQL classifies it: what the tabular form and version 1 of the
//! document say of it.

use super::path;
use crate::{
    expr::ArrayTest,
    plan::{Access, Block, Bound, Input, Rank, Source, access, walk},
};
use cohort_engine::types::{ColumnType, Index, Table};

/// How a table is read.
pub(super) struct Reading<'b> {
    /// The kind of access.
    pub access: &'static str,
    /// The indexes that lead to its rows.
    pub possible_keys: Vec<&'b str>,
    /// The index that is read; several if what they find is merged.
    pub keys: Vec<&'b str>,
    /// The columns of the parts of the key that count.
    pub key_parts: Vec<&'b str>,
    /// How many bytes these take.
    pub key_length: Option<String>,
    /// What the parts are compared with.
    pub references: Vec<Reference>,
    /// About how many rows are read each time.
    pub rows: u64,
    /// Which share of them conditions leave, in hundredths of a per cent.
    pub filtered: u32,
    /// What it costs to read it for all rows before, if that is known.
    pub cost: Option<f64>,
    /// What else there is to tell.
    pub notes: Vec<Note>,
}

/// What a part of a key is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A value that is the same for all rows.
    Constant,
    /// What is in this slot.
    Slot(usize),
}

/// What else there is to tell of how a table is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// Its rows are checked.
    Checked,
    /// The index is read backwards.
    Backward,
    /// The index has all that is wanted.
    Covering,
    /// Of entries that begin alike not all are read.
    Loose,
    /// What several keys find is merged; whether it has to be sorted for that.
    Merged(bool),
    /// Words are searched for; whether the best rows come first.
    Search(bool),
    /// It is made of a document.
    Document,
    /// Its rows are kept, to be joined with those before.
    Kept,
}

impl<'b> Reading<'b> {
    /// How a block reads the source at a position.
    pub fn new(block: &'b Block, at: usize, source: &'b Source) -> Reading<'b> {
        let mut reading = Reading {
            access: "ALL",
            possible_keys: Vec::new(),
            keys: Vec::new(),
            key_parts: Vec::new(),
            key_length: None,
            references: Vec::new(),
            rows: source.estimate.max(1),
            filtered: ((source.share * 10_000.0).round() as u32).clamp(1, 10_000),
            // Ends cost next to nothing: they are not weighed.
            cost: block.ends.is_empty().then_some(source.cost),
            notes: Vec::new(),
        };
        match &source.input {
            Input::Table(table, access) => match block.ends.first().filter(|_| at == 0) {
                Some(end) => {
                    reading.rows = 1;
                    reading.stored(table, end, source);
                }
                None => reading.stored(table, access, source),
            },
            Input::Json(_) => reading.notes.push(Note::Document),
            Input::Virtual(_) | Input::Derived(..) | Input::Working(_) => {}
        }
        let is_checked = !source.filter.is_empty() || !source.alone.is_empty();
        if is_checked && reading.access != "const" {
            // MySQL says it first, but for these.
            let is_before = |note: &Note| matches!(note, Note::Document | Note::Merged(_));
            let at = reading.notes.iter().take_while(|n| is_before(n)).count();
            reading.notes.insert(at, Note::Checked);
        }
        if source.kept.is_some() {
            reading.notes.push(Note::Kept);
        }
        reading
    }

    /// How what several keys find is merged.
    pub fn merge(&self, sorts: bool) -> String {
        let sort = if sorts { "sort_" } else { "" };
        format!("{sort}union({})", self.keys.join(","))
    }

    fn stored(&mut self, table: &'b Table, path: &'b Access, source: &'b Source) {
        match path.search.and_then(|at| source.ranks.get(at)) {
            Some(rank) => self.searched(table, rank),
            None if path.merged.is_empty() => self.by_key(table, path),
            None => self.merged(table, path),
        }
        let others = source.ways.iter();
        let others = others.filter_map(|way| access::index_of(table, way.index));
        self.possible_keys
            .extend(others.map(|index| index.name.as_str()));
        if path.reverse {
            self.notes.push(Note::Backward);
        }
        if path.loose.is_some() {
            self.notes.push(Note::Loose);
        } else if path.covering {
            self.notes.push(Note::Covering);
        }
    }

    fn searched(&mut self, table: &'b Table, rank: &Rank) {
        self.access = "fulltext";
        if let Some(text) = table.fulltext.get(rank.text) {
            self.keys.push(&text.index.name);
            self.possible_keys.push(&text.index.name);
            self.key_parts = part_names(table, &text.index, text.index.parts.len());
        }
        self.key_length = Some("0".to_owned());
        self.references.push(Reference::Constant);
        self.notes.push(Note::Search(rank.ranked));
    }

    /// A path by several keys.
    fn merged(&mut self, table: &'b Table, path: &Access) {
        self.access = "index_merge";
        let mut lengths = Vec::new();
        for path in &path.merged {
            if let Some(index) = access::index_of(table, path.index) {
                let parts = path.alternatives.iter().map(Vec::len).max();
                self.keys.push(&index.name);
                lengths.push(key_length(table, index, parts.unwrap_or(0)).to_string());
            }
        }
        self.possible_keys.clone_from(&self.keys);
        self.key_length = Some(lengths.join(","));
        self.notes.push(Note::Merged(path::sorts(path)));
    }

    fn by_key(&mut self, table: &'b Table, path: &Access) {
        let Some(index) = access::index_of(table, path.index) else {
            return;
        };
        let is_whole = path.alternatives.is_empty() && path.loose.is_none();
        if is_whole && path.index.is_none() && !path.reverse {
            return;
        }
        let of_bounds = path.alternatives.iter().map(Vec::len).max();
        let parts = match path.loose {
            Some(loose) => loose.parts,
            None => of_bounds.unwrap_or(index.parts.len()),
        };
        self.keys.push(&index.name);
        self.key_parts = part_names(table, index, parts);
        self.key_length = Some(key_length(table, index, parts).to_string());
        if is_whole {
            self.access = "index";
            return;
        }
        self.possible_keys.push(&index.name);
        let equal = |b: &Bound| match b {
            Bound::Equal(_) | Bound::NullSafe(_) | Bound::IsNull => true,
            Bound::Array(test) => test.test == ArrayTest::Member,
            Bound::In(_) | Bound::InRows { .. } | Bound::Range { .. } | Bound::Like(..) => false,
        };
        let bounds = match path.alternatives.as_slice() {
            [bounds] if path.loose.is_none() && bounds.iter().all(equal) => bounds,
            _ => {
                self.access = "range";
                return;
            }
        };
        let constant = bounds.iter().all(|b| match b {
            Bound::Equal(e) => walk::is_constant(e),
            _ => false,
        });
        self.access = match (path.point, constant) {
            (true, true) => "const",
            (true, false) => "eq_ref",
            (false, _) => "ref",
        };
        let reference = |bound: &Bound| match bound {
            Bound::Equal(e) | Bound::NullSafe(e) => walk::slot(e).map(Reference::Slot),
            _ => None,
        };
        let references = bounds.iter().map(reference);
        self.references = references
            .map(|found| found.unwrap_or(Reference::Constant))
            .collect();
    }
}

/// The names of the columns of the first parts of a key.
fn part_names<'t>(table: &'t Table, index: &'t Index, parts: usize) -> Vec<&'t str> {
    let parts = table.entry_parts(index).take(parts);
    let columns = parts.filter_map(|part| table.columns.get(usize::from(part.column)));
    columns.map(|column| column.name.as_str()).collect()
}

/// How many bytes MySQL takes for so many parts of a key.
fn key_length(table: &Table, index: &Index, parts: usize) -> u32 {
    table
        .entry_parts(index)
        .take(parts)
        .filter_map(|part| {
            let column = table.columns.get(usize::from(part.column))?.key_column();
            let bytes = match part.prefix {
                Some(chars) => u32::from(chars) * column.collation.max_char_bytes(),
                None => column.value_bytes(),
            };
            let variable = matches!(column.ty, ColumnType::VarChar(_) | ColumnType::Text(_));
            Some(bytes + 2 * u32::from(variable) + u32::from(column.nullable))
        })
        .sum()
}

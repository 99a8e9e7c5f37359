//! Foreign keys as a statement meets them: which tables it looks into, and changes, beside the one
//! it names.
//!
//! An INSERT looks for the parents of its rows. A DELETE, and an UPDATE of a column that others
//! refer to, look for children, which may be changed in turn, and whose children then are looked
//! for. So the tables are found by following the keys until no new one comes. Example:
//!
//! ```text
//! country ←(on update cascade) city ←(on delete cascade) person
//!
//! INSERT city             reads country
//! DELETE city             reads and changes person
//! UPDATE country SET id   reads and changes city, but not person: nobody refers to city.country
//! ```

use super::{Assigned, Body, TableUse};
use cohort_engine::{
    invariant::{Broken, broken},
    txn::Dictionary,
    types::{ForeignKey, Index, ReferentialAction, Table, TableId},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What is done to the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Changes {
    inserts: bool,
    deletes: bool,
    /// The columns that may change.
    updates: BTreeSet<u16>,
}

impl Changes {
    fn add(&mut self, other: &Changes) -> bool {
        let before = (self.inserts, self.deletes, self.updates.len());
        self.inserts |= other.inserts;
        self.deletes |= other.deletes;
        self.updates.extend(&other.updates);
        before != (self.inserts, self.deletes, self.updates.len())
    }
}

/// One foreign key: the rows of two tables, and how each finds the other's.
#[derive(Debug, PartialEq)]
pub struct Reference {
    /// Its definition.
    pub key: ForeignKey,
    /// The table that has it.
    pub child: Arc<Table>,
    /// The index that finds the children of a parent.
    pub child_index: Index,
    /// The parent, where it is, with the index that finds it.
    pub parent: Option<Parent>,
}

/// The parent of a foreign key.
#[derive(Debug, PartialEq)]
pub struct Parent {
    /// The table.
    pub table: Arc<Table>,
    /// The index that begins with the key.
    pub index: Index,
    /// The columns of the key.
    pub columns: Vec<u16>,
}

/// The foreign keys of a table that a statement changes, as far as they matter to it.
#[derive(Debug, Default, PartialEq)]
pub struct TableRelations {
    /// Its own, by name: in this order MySQL looks for parents.
    pub parents: Vec<Arc<Reference>>,
    /// Those of others, or of its own, that refer to it.
    pub children: Vec<Arc<Reference>>,
}

/// The foreign keys that a statement meets.
#[derive(Debug, Default)]
pub struct Relations {
    /// The tables that the statement itself changes.
    roots: Vec<(Arc<Table>, Changes)>,
    tables: BTreeMap<TableId, TableRelations>,
    /// The tables at the other ends, and whether their rows may be changed.
    pub uses: Vec<(Arc<Table>, bool)>,
}

impl Relations {
    /// Those of a statement.
    pub fn of(body: &Body, dictionary: &Dictionary) -> Result<Relations, Broken> {
        let mut relations = Relations {
            roots: changes(body),
            ..Relations::default()
        };
        relations.find(dictionary)?;
        Ok(relations)
    }

    /// Those of whatever may be done to the rows of a table.
    pub fn of_any_change(table: &Arc<Table>, dictionary: &Dictionary) -> Result<Relations, Broken> {
        let columns = u16::try_from(table.columns.len()).unwrap_or(u16::MAX);
        let changes = Changes {
            inserts: true,
            deletes: true,
            updates: (0..columns).collect(),
        };
        let mut relations = Relations {
            roots: vec![(Arc::clone(table), changes)],
            ..Relations::default()
        };
        relations.find(dictionary)?;
        Ok(relations)
    }

    /// The same for changes whose consequences are made by others: parents are looked for only.
    pub fn of_parents(&self) -> Relations {
        let mut parents = Relations {
            roots: self.roots.clone(),
            ..Relations::default()
        };
        for (table, _) in &self.roots {
            if let Some(known) = self.tables.get(&table.id) {
                let relations = TableRelations {
                    parents: known.parents.clone(),
                    children: Vec::new(),
                };
                parents.note_uses(&relations, &Changes::default());
                parents.tables.insert(table.id, relations);
            }
        }
        parents
    }

    /// Those of a table; `None`: it has none that matter.
    pub fn of_table(&self, table: TableId) -> Option<&TableRelations> {
        self.tables.get(&table)
    }

    /// Whether changes of a table's rows may change further rows of it.
    pub fn come_back_to(&self, table: TableId) -> bool {
        let mut uses = self.uses.iter();
        uses.any(|(used, writes)| used.id == table && *writes)
    }

    /// Whether they are the same in another version of the dictionary.
    pub fn hold_in(&self, dictionary: &Dictionary) -> Result<bool, Broken> {
        let mut now = Relations {
            roots: self.roots.clone(),
            ..Relations::default()
        };
        now.find(dictionary)?;
        Ok(now.tables == self.tables)
    }

    /// The tables whose rows the statement inserts or updates, or may make foreign keys update.
    pub fn changed_tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        let roots = self.roots.iter();
        let roots = roots.filter(|(_, changes)| changes.inserts || !changes.updates.is_empty());
        let written = self.uses.iter().filter(|(_, writes)| *writes);
        let written = written.map(|(table, _)| table);
        roots.map(|(table, _)| table).chain(written)
    }

    /// The tables at the other ends, as tables of the statement.
    pub fn table_uses(&self) -> impl Iterator<Item = TableUse> {
        self.uses.iter().map(|(table, writes)| TableUse {
            table: Arc::clone(table),
            alias: table.name.clone(),
            writes: *writes,
            implied: true,
        })
    }

    /// Follows the keys.
    fn find(&mut self, dictionary: &Dictionary) -> Result<(), Broken> {
        let mut changed: BTreeMap<TableId, (Arc<Table>, Changes)> = BTreeMap::new();
        let mut todo = self.roots.clone();
        while let Some((table, changes)) = todo.pop() {
            let known = changed
                .entry(table.id)
                .or_insert_with(|| (Arc::clone(&table), Changes::default()));
            // A table without any foreign key is noted by the first look at it.
            if known.1.add(&changes) {
                let all = known.1.clone();
                todo.extend(consequences(&table, &all, dictionary)?);
            }
        }
        for (table, changes) in changed.values() {
            let relations = relations(table, changes, dictionary)?;
            if relations != TableRelations::default() {
                self.note_uses(&relations, changes);
                self.tables.insert(table.id, relations);
            }
        }
        Ok(())
    }

    fn note_uses(&mut self, relations: &TableRelations, changes: &Changes) {
        for reference in &relations.parents {
            if let Some(parent) = &reference.parent {
                self.note_use(&parent.table, false);
            }
        }
        for reference in &relations.children {
            let writes = consequence(reference, changes) != Changes::default();
            self.note_use(&reference.child, writes);
        }
    }

    fn note_use(&mut self, table: &Arc<Table>, writes: bool) {
        match self.uses.iter_mut().find(|(used, _)| used.id == table.id) {
            Some((_, written)) => *written |= writes,
            None => self.uses.push((Arc::clone(table), writes)),
        }
    }
}

/// The tables that a statement changes itself, and what it does to their rows.
fn changes(body: &Body) -> Vec<(Arc<Table>, Changes)> {
    let updated = |table: &Table, assignments: &[(usize, Assigned)]| {
        let assigned = assignments.iter().map(|(position, _)| *position);
        let by_itself = table.columns.iter().enumerate();
        let by_itself =
            by_itself.filter(|(_, column)| column.on_update_now || column.generated.is_some());
        let positions = assigned.chain(by_itself.map(|(position, _)| position));
        Changes {
            updates: positions.filter_map(|p| u16::try_from(p).ok()).collect(),
            ..Changes::default()
        }
    };
    let deleted = Changes {
        deletes: true,
        ..Changes::default()
    };
    match body {
        Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) | Body::Explain(_) => {
            Vec::new()
        }
        Body::Insert(insert) => {
            let mut changes = match &insert.on_duplicate {
                Some(assignments) => updated(&insert.table, assignments),
                None => Changes::default(),
            };
            changes.inserts = true;
            changes.deletes = insert.replace;
            vec![(Arc::clone(&insert.table), changes)]
        }
        Body::Update(update) => {
            let changes = updated(&update.table, &update.assignments);
            vec![(Arc::clone(&update.table), changes)]
        }
        Body::Delete(delete) => vec![(Arc::clone(&delete.table), deleted)],
        Body::UpdateJoined(joined) => {
            let targets = joined.targets.iter();
            let changes = targets.map(|target| {
                let changes = updated(&target.table, &target.assignments);
                (Arc::clone(&target.table), changes)
            });
            changes.collect()
        }
        Body::DeleteJoined(joined) => {
            let targets = joined.targets.iter();
            let changes = targets.map(|target| (Arc::clone(&target.table), deleted.clone()));
            changes.collect()
        }
    }
}

/// What happens to other tables when this happens to one.
fn consequences(
    table: &Arc<Table>,
    changes: &Changes,
    dictionary: &Dictionary,
) -> Result<Vec<(Arc<Table>, Changes)>, Broken> {
    let relations = relations(table, changes, dictionary)?;
    let children = relations.children.iter().map(|reference| {
        let consequence = consequence(reference, changes);
        (Arc::clone(&reference.child), consequence)
    });
    Ok(children.filter(|(_, c)| *c != Changes::default()).collect())
}

/// What happens to the children when this happens to the parent.
fn consequence(reference: &Reference, changes: &Changes) -> Changes {
    let key = &reference.key;
    let changes_rows = |action| {
        matches!(
            action,
            ReferentialAction::Cascade | ReferentialAction::SetNull
        )
    };
    let deletes = changes.deletes && key.on_delete == ReferentialAction::Cascade;
    let nulls = changes.deletes && key.on_delete == ReferentialAction::SetNull;
    let updated = reference.parent.as_ref().is_some_and(|parent| {
        let mut columns = parent.columns.iter();
        columns.any(|column| changes.updates.contains(column))
    });
    let updates = nulls || updated && changes_rows(key.on_update);
    Changes {
        inserts: false,
        deletes,
        updates: match updates {
            true => key.columns.iter().copied().collect(),
            false => BTreeSet::new(),
        },
    }
}

/// The foreign keys of a table that matter for these changes.
fn relations(
    table: &Arc<Table>,
    changes: &Changes,
    dictionary: &Dictionary,
) -> Result<TableRelations, Broken> {
    if table.is_temporary() {
        // It has no foreign keys, and those of others mean the table that it hides.
        return Ok(TableRelations::default());
    }
    let touched = |columns: &[u16]| columns.iter().any(|c| changes.updates.contains(c));
    let own = table.foreign_keys.iter();
    let own = own.filter(|key| changes.inserts || touched(&key.columns));
    let own = own.map(|key| reference(key, table, dictionary));
    let mut parents: Vec<Arc<Reference>> = own.collect::<Result<_, _>>()?;
    parents.sort_by_key(|reference| reference.key.name.to_lowercase());
    let (database, name) = table.full_name();
    let mut children = Vec::new();
    for child in dictionary.children(database, name) {
        let keys = child.foreign_keys.iter();
        for key in keys.filter(|key| key.refers_to(database, name)) {
            let found = reference(key, child, dictionary)?;
            let of_parent = found
                .parent
                .as_ref()
                .map(|parent| parent.columns.as_slice());
            if changes.deletes || of_parent.is_some_and(touched) {
                children.push(found);
            }
        }
    }
    Ok(TableRelations { parents, children })
}

/// A foreign key with what it connects.
fn reference(
    key: &ForeignKey,
    child: &Arc<Table>,
    dictionary: &Dictionary,
) -> Result<Arc<Reference>, Broken> {
    let parent = dictionary.table(&key.parent_database, &key.parent);
    let parent = parent.and_then(|table| {
        Some(Parent {
            table: Arc::clone(table),
            index: key.parent_index(table)?.clone(),
            columns: key.parent_positions(table)?,
        })
    });
    let index = key.child_index(child);
    let index = index.ok_or_else(|| broken("a foreign key has an index for its columns"))?;
    Ok(Arc::new(Reference {
        key: key.clone(),
        child: Arc::clone(child),
        child_index: index.clone(),
        parent,
    }))
}

//! Which privileges a statement needs.
//!
//! They are noted while names are looked up, since only then it is known which table a column is
//! of. A table that a view names is read with the privileges of the view's definer, unless the view
//! says SQL SECURITY INVOKER. Example:
//!
//! ```text
//! CREATE DEFINER = boss VIEW paid AS SELECT id FROM bill WHERE paid = 1
//!
//! SELECT * FROM paid      needs  SELECT (id) on paid, of whoever runs it,
//!                         and    SELECT (id, paid) on bill, of boss
//! ```

use super::{
    Planner,
    named::{At, MergedView, NamedTable},
    scope::Names,
};
use crate::{
    error::SqlError,
    privileges::{Privilege, Privileges},
    rights::Object,
    statements::Who,
};
use cohort_engine::types::View;
use indexmap::IndexSet;
use sqlparser::ast;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
};

/// A privilege that a statement needs on a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The view whose definer needs it; `None`: whoever runs the statement.
    pub by: Option<Arc<View>>,
    /// The view that the statement names and that leads to it: what is lacking is its error.
    pub within: Option<Arc<View>>,
    /// The database.
    pub database: Arc<str>,
    /// The table or view.
    pub table: Arc<str>,
    /// One of these.
    pub any: Privileges,
    /// What the error calls it.
    pub command: &'static str,
    /// On what of it.
    pub part: Part,
}

/// On what of a table a privilege is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// On all of it.
    Whole,
    /// On whatever: no column is named.
    Anything,
    /// On these columns. `table_first`: without it on any column the table is the error, else
    /// always a column.
    Columns {
        /// Their names.
        names: Vec<String>,
        /// See above.
        table_first: bool,
    },
}

/// What can be done to rows: who makes a view of a table must be allowed something of it.
pub(super) const OF_ROWS: Privileges = Privileges::of(&[
    Privilege::Select,
    Privilege::Insert,
    Privilege::Update,
    Privilege::Delete,
]);
/// What errors call that.
pub(super) const ANY: &str = "ANY";

/// How a table or view stands in a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// In FROM: even if no column is read it must be readable.
    Read,
    /// It is changed.
    Changed,
    /// In an UPDATE of several: it must be readable, or some column of it be updatable.
    Joined,
    /// In the FROM of a view that is made: something may be done to its rows.
    Defined,
}

/// What is done to a table or view that a statement names.
pub(super) struct Noted {
    by: Option<Arc<View>>,
    within: Option<Arc<View>>,
    database: Arc<str>,
    table: Arc<str>,
    standing: Cell<Standing>,
    /// Its rows are locked as if to change them.
    locked: Cell<bool>,
    /// The columns that are read, in the order in which they are named.
    read: RefCell<IndexSet<String>>,
    written: RefCell<Vec<Write>>,
}

/// That something is written to a table or view.
struct Write {
    privilege: Privilege,
    part: Part,
    /// How many columns are read before.
    after: usize,
}

/// Columns that are read when a column of a merged view is.
pub(super) type Reads = Vec<(Rc<Noted>, String)>;

impl Noted {
    /// A column of it is read.
    fn read(&self, column: &str) {
        if !self.read.borrow().contains(column) {
            self.read.borrow_mut().insert(column.to_owned());
        }
    }

    /// It is written to.
    fn write(&self, privilege: Privilege, part: Part) {
        if self.standing.get() == Standing::Read {
            self.standing.set(Standing::Changed);
        }
        self.written.borrow_mut().push(Write {
            privilege,
            part,
            after: self.read.borrow().len(),
        });
    }

    /// Its rows are locked as if to change them.
    pub fn lock(&self) {
        self.locked.set(true);
    }

    /// In the order in which MySQL looks at them.
    fn needs(&self) -> Vec<Need> {
        let need = |any: Privileges, command, part| Need {
            by: self.by.clone(),
            within: self.within.clone(),
            database: Arc::clone(&self.database),
            table: Arc::clone(&self.table),
            any,
            command,
            part,
        };
        let select = Privilege::Select;
        let mut needs = Vec::new();
        let standing = self.standing.get();
        if standing == Standing::Joined {
            let any = Privileges::of(&[select, Privilege::Update]);
            needs.push(need(any, select.name(), Part::Anything));
        }
        if standing == Standing::Defined {
            needs.push(need(OF_ROWS, ANY, Part::Anything));
        }
        // First whether the table may be written to at all, then which columns, in the order in which
        // they are named.
        let written = self.written.borrow();
        let need_of =
            |write: &Write, part| need(write.privilege.into(), write.privilege.name(), part);
        for write in &*written {
            match &write.part {
                Part::Columns { table_first, .. } if *table_first => {
                    needs.push(need_of(write, Part::Anything));
                }
                Part::Columns { .. } => {}
                part @ (Part::Whole | Part::Anything) => needs.push(need_of(write, part.clone())),
            }
        }
        if self.locked.get() {
            needs.push(need(select.into(), select.name(), Part::Anything));
            let any = [Privilege::Update, Privilege::Delete, Privilege::LockTables];
            let command = "SELECT with locking clause";
            needs.push(need(Privileges::of(&any), command, Part::Anything));
        }
        let read = self.read.borrow();
        // Whoever reads the view is asked for SELECT; who makes it need not be.
        let any = match standing {
            Standing::Defined => OF_ROWS,
            Standing::Read | Standing::Changed | Standing::Joined => select.into(),
        };
        let reads = |from: usize, to: usize| {
            let mut names: Vec<String> = read.iter().take(to).skip(from).cloned().collect();
            if standing == Standing::Read {
                // Conditions are compiled before the select list, which MySQL looks at first. Which column
                // is named first is left to their names.
                names.sort_unstable();
            }
            let part = Part::Columns {
                names,
                table_first: standing == Standing::Read,
            };
            (from < to).then(|| need(any, select.name(), part))
        };
        if read.is_empty() && standing == Standing::Read {
            needs.push(need(any, select.name(), Part::Anything));
        }
        let mut before = 0;
        for write in &*written {
            if let Part::Columns { names, .. } = &write.part {
                needs.extend(reads(before, write.after));
                before = write.after;
                let part = Part::Columns {
                    names: names.clone(),
                    table_first: false,
                };
                needs.push(need_of(write, part));
            }
        }
        needs.extend(reads(before, read.len()));
        needs
    }
}

impl Names {
    /// Notes that a column is read: its name stands in an expression, or `*` means it. One of a
    /// merged view is what the view makes it of.
    pub fn note_read(&self, at: At) {
        let (noted, below): (_, &[_]) = match at {
            At::Table(table, _) => (self.tables.get(table).and_then(|t| t.noted.as_ref()), &[]),
            At::View(view, column) => match self.views.get(view) {
                None => (None, &[]),
                Some(view) => {
                    let column = view.columns.get(column);
                    (
                        view.noted.as_ref(),
                        column.map_or(&[], |column| &column.reads),
                    )
                }
            },
        };
        let mut reads = below.to_vec();
        if let (Some(noted), Some((name, _))) = (noted, self.name_of(at)) {
            reads.push((Rc::clone(noted), name.to_owned()));
        }
        match &mut *self.captured.borrow_mut() {
            Some(captured) => captured.extend(reads),
            None => reads.iter().for_each(|(noted, name)| noted.read(name)),
        }
    }
}

impl Planner<'_> {
    /// The view with whose definer's privileges tables are looked at now.
    fn definer_now(&self) -> Option<Arc<View>> {
        let mut views = self.within_views.iter().rev();
        views.find(|view| !view.invoker).cloned()
    }

    /// 1143 for a column that is not there, if the block names a table of which some columns only may
    /// be read: which others there are is not told.
    pub(super) fn hidden_column(&mut self, path: &[ast::Ident]) -> Option<SqlError> {
        let who = self.context.who.filter(|_| self.within_views.is_empty())?;
        let column = &path.last()?.value;
        let lacks = |noted: &&Rc<Noted>| {
            let on = who.rights.on(Object::Table(&noted.database, &noted.table));
            noted.within.is_none() && !on.has(Privilege::Select)
        };
        let names = self.names();
        let of_tables = names.tables.iter().filter_map(|table| table.noted.as_ref());
        let of_views = names.views.iter().filter_map(|view| view.noted.as_ref());
        let table = of_tables.chain(of_views).find(lacks)?.table.clone();
        let Who { account, host, .. } = who.who;
        Some(SqlError::column_access_denied(
            "SELECT", account, host, column, table,
        ))
    }

    /// Notes that the statement names a table or view.
    pub(super) fn note_named(&mut self, database: &str, table: &str) -> Rc<Noted> {
        let noted = Rc::new(Noted {
            by: self.definer_now(),
            within: self.within_views.first().cloned(),
            database: Arc::from(database),
            table: Arc::from(table),
            standing: Cell::new(match self.within_views.is_empty() {
                true => self.standing,
                false => Standing::Read,
            }),
            locked: Cell::new(false),
            read: RefCell::default(),
            written: RefCell::default(),
        });
        self.noted.push(Rc::clone(&noted));
        noted
    }

    /// The same of the table that was named last in this block.
    pub(super) fn note_last(&mut self, database: &str, table: &str) {
        let noted = self.note_named(database, table);
        if let Some(last) = self.names().tables.last_mut() {
            last.noted = Some(noted);
        }
    }

    /// Notes that a table of the block is written to, and the views through which it is. `columns`:
    /// the positions of those that are; `None`: whole rows.
    pub(super) fn note_change(
        &mut self,
        leaf: usize,
        privilege: Privilege,
        columns: Option<&[usize]>,
    ) {
        self.note_change_first(leaf, privilege, columns, true);
    }

    /// The same of an UPDATE of several, of which MySQL looks at the columns only.
    pub(super) fn note_update(&mut self, leaf: usize, columns: &[usize]) {
        self.note_change_first(leaf, Privilege::Update, Some(columns), false);
    }

    fn note_change_first(
        &mut self,
        leaf: usize,
        privilege: Privilege,
        columns: Option<&[usize]>,
        first: bool,
    ) {
        let names = self.names();
        if let Some(NamedTable {
            noted: Some(noted),
            columns: own,
            ..
        }) = names.tables.get(leaf)
        {
            let part = part(columns, first, |position| {
                Some(own.get(position)?.name.clone())
            });
            noted.write(privilege, part);
        }
        for (number, view) in names.views.iter().enumerate() {
            let MergedView {
                noted: Some(noted),
                leaves,
                ..
            } = view
            else {
                continue;
            };
            if !leaves.contains(&leaf) {
                continue;
            }
            // What the view calls the column.
            let called = |position: usize| {
                let mut columns = (0..view.columns.len()).map(|column| At::View(number, column));
                let is = |at: &At| {
                    names
                        .changed_column(*at)
                        .is_ok_and(|at| at == (leaf, position))
                };
                let at = columns.find(is)?;
                Some(names.name_of(at)?.0.to_owned())
            };
            noted.write(privilege, part(columns, first, called));
        }
    }

    /// The same for the query of a view that takes the place of another: that one is noted as the
    /// view that is being compiled, and is none.
    pub(super) fn needs_of_view(&self, replaced: Option<&Arc<View>>) -> Vec<Need> {
        let mut needs = self.needs();
        for need in &mut needs {
            let is_replaced = |by: &Arc<View>| replaced.is_some_and(|view| Arc::ptr_eq(view, by));
            need.by.take_if(|by| is_replaced(by));
            need.within.take_if(|view| is_replaced(view));
        }
        needs
    }

    /// All that the statement needs.
    pub(super) fn needs(&self) -> Vec<Need> {
        let mut needs: Vec<Need> = Vec::new();
        for noted in &self.noted {
            for need in noted.needs() {
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        needs
    }
}

fn part(
    columns: Option<&[usize]>,
    table_first: bool,
    called: impl Fn(usize) -> Option<String>,
) -> Part {
    match columns {
        None | Some([]) => Part::Whole,
        Some(columns) => Part::Columns {
            names: columns.iter().filter_map(|c| called(*c)).collect(),
            table_first,
        },
    }
}

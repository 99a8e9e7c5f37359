//! What ALGORITHM and LOCK may say of a change.
//!
//! Cohort makes every change in its own way, so it could take them all. But a program that asks for
//! `ALGORITHM=INSTANT` or `LOCK=NONE` wants to hear that MySQL could not do it so: it is refused
//! here alike. What LOCK allows is obeyed: with SHARED writers wait, with EXCLUSIVE everybody; without
//! it all go on, where the change permits it. MySQL has three ways, of which each can do what the one before it can:
//!
//! | | | writers meanwhile |
//! |---|---|---|
//! | INSTANT | only what describes the table changes | go on |
//! | INPLACE | the storage engine makes new indexes or rows | go on, but for some changes |
//! | COPY | the server copies all rows into another table | wait |
//!
//! `Needs::of` says which is the first that can do a change, and why those before it cannot.

use super::{
    DdlContext, check,
    convert::is_date_without_default,
    syntax::{Action, Algorithm, ColumnSyntax, KeyKind, Lock, Place},
};
use crate::{error::SqlError, expr::SqlMode};
use cohort_engine::{
    txn::{Dictionary, Others},
    types::{Column, Index, Table},
};
use std::mem::discriminant;

/// What a statement asks for; what comes last counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    algorithm: Algorithm,
    lock: Lock,
}

/// Why a change cannot be made in a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The rows must be looked at: for a CHECK constraint, or in a temporary table.
    Checked,
    /// Values of expressions must be computed.
    Computed,
    ColumnType,
    ForeignKeyChecks,
    PrimaryDropped,
    PrimaryNullable,
    NullConverted,
    VirtualCombined,
    VirtualIndexed,
    AutoIncrement,
    FullText,
}

impl Why {
    /// MySQL's words, for a change in place; `None`: it says nothing but that it is so.
    fn text(self) -> Option<&'static str> {
        Some(match self {
            Why::Checked | Why::Computed => return None,
            Why::ColumnType => "Cannot change column type INPLACE",
            Why::ForeignKeyChecks => "Adding foreign keys needs foreign_key_checks=OFF",
            Why::PrimaryDropped => {
                "Dropping a primary key is not allowed without also adding a new primary key"
            }
            Why::PrimaryNullable => {
                "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use \
                 UNIQUE instead"
            }
            Why::NullConverted => {
                "cannot silently convert NULL values, as required in this SQL_MODE"
            }
            Why::VirtualCombined => {
                "INPLACE ADD or DROP of virtual columns cannot be combined with other ALTER TABLE \
                 actions"
            }
            Why::VirtualIndexed => "ADD COLUMN col...VIRTUAL, ADD INDEX(col)",
            Why::AutoIncrement => "Adding an auto-increment column requires a lock",
            Why::FullText => "Fulltext index creation requires a lock",
        })
    }

    /// The same where INSTANT is asked for.
    fn text_of_instant(self) -> Option<&'static str> {
        match self {
            Why::ColumnType => Some("Need to rebuild the table to change column type"),
            why => why.text(),
        }
    }
}

/// The ways in which a change can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Instant,
    /// In place. `locked`: why writers must wait.
    InPlace {
        locked: Option<Why>,
    },
    Copy(Why),
}

/// A change, and what is known of it.
pub(super) struct Change<'a> {
    pub old: &'a Table,
    pub new: &'a Table,
    /// For each new column, which one of before it comes from.
    pub sources: &'a [Option<usize>],
    pub actions: &'a [Action],
    /// Whether a CHECK constraint is to hold that was not, or was not there.
    pub checked: bool,
    /// Whether hidden columns of indexes on expressions come or go beside other changes.
    pub functional: bool,
}

const FOREIGN_RENAMED: &str = "Columns participating in a foreign key are renamed";
const REQUIRES_LOCK: &str = "COPY algorithm requires a lock";

impl Asked {
    /// What actions ask for: 1221 for what cannot be together.
    pub fn of(actions: &[Action]) -> Result<Asked, SqlError> {
        let mut asked = Asked::default();
        for action in actions {
            match action {
                Action::Algorithm(algorithm) => asked.algorithm = *algorithm,
                Action::Lock(lock) => asked.lock = *lock,
                _ => {}
            }
        }
        if asked.algorithm == Algorithm::Instant && asked.lock != Lock::Default {
            let (one, other) = ("ALGORITHM=INSTANT", "LOCK=NONE/SHARED/EXCLUSIVE");
            return Err(SqlError::wrong_usage(one, other));
        }
        Ok(asked)
    }

    /// What others may do with the table while something is built for it.
    pub fn others(self) -> Others {
        match self.lock {
            Lock::Default | Lock::None => Others::Write,
            Lock::Shared => Others::Read,
            Lock::Exclusive => Others::Wait,
        }
    }

    /// Whether INSTANT is asked for.
    pub fn is_instant(self) -> bool {
        self.algorithm == Algorithm::Instant
    }

    /// Whether rows may become what they are to be later.
    pub fn lets_reshape(self) -> bool {
        let later = matches!(self.algorithm, Algorithm::Default | Algorithm::Instant);
        later && self.lock == Lock::Default
    }

    /// Whether all rows are to be copied.
    pub fn copies(self) -> bool {
        self.algorithm == Algorithm::Copy
    }

    /// 1845 for another lock than EXCLUSIVE, for what changes names only.
    pub fn check_names(self) -> Result<(), SqlError> {
        match self.lock {
            Lock::None | Lock::Shared => Err(SqlError::alter_not_supported(
                "LOCK=NONE/SHARED",
                "LOCK=EXCLUSIVE",
            )),
            Lock::Default | Lock::Exclusive => Ok(()),
        }
    }

    /// Whether MySQL would copy the rows; 1845 or 1846 for a way in which it does not make the
    /// change.
    pub fn copied(
        self,
        change: &Change<'_>,
        dictionary: &Dictionary,
        ctx: &DdlContext<'_>,
    ) -> Result<bool, SqlError> {
        let needs = Needs::of(change, ctx)?;
        self.check(needs, change, renames_parents(change, dictionary))?;
        Ok(self.copies() || matches!(needs, Needs::Copy(_)))
    }

    /// `parents`: whether columns get other names that others' foreign keys refer to.
    fn check(self, needs: Needs, change: &Change<'_>, parents: bool) -> Result<(), SqlError> {
        let no_lock = |why| SqlError::alter_not_supported_because("LOCK=NONE", why, "LOCK=SHARED");
        match self.algorithm {
            Algorithm::Copy if renames_foreign_columns(change) || parents => {
                Err(SqlError::alter_not_supported_because(
                    "ALGORITHM=COPY",
                    FOREIGN_RENAMED,
                    "ALGORITHM=INPLACE",
                ))
            }
            Algorithm::Copy if self.lock == Lock::None => Err(no_lock(REQUIRES_LOCK)),
            Algorithm::Copy => Ok(()),
            Algorithm::Instant => {
                needs.check_instant()?;
                match parents {
                    false => Ok(()),
                    true => Err(SqlError::alter_not_supported_because(
                        "ALGORITHM=INSTANT",
                        FOREIGN_RENAMED,
                        "ALGORITHM=INPLACE",
                    )),
                }
            }
            Algorithm::InPlace => needs.check_in_place(self.lock),
            // A temporary table is nobody else's.
            Algorithm::Default if self.lock == Lock::None && !change.old.is_temporary() => {
                match needs {
                    Needs::Copy(Why::Checked) => Err(no_lock(REQUIRES_LOCK)),
                    Needs::Copy(why) => match why.text() {
                        Some(text) => Err(no_lock(text)),
                        None => Err(SqlError::alter_not_supported("LOCK=NONE", "LOCK=SHARED")),
                    },
                    other => other.check_in_place(self.lock),
                }
            }
            Algorithm::Default => Ok(()),
        }
    }
}

impl Needs {
    fn check_instant(self) -> Result<(), SqlError> {
        let (asked, all) = ("ALGORITHM=INSTANT", "ALGORITHM=COPY/INPLACE");
        let why = match self {
            Needs::Instant => return Ok(()),
            Needs::Copy(Why::Checked) => {
                return Err(SqlError::alter_not_supported(asked, "ALGORITHM=COPY"));
            }
            Needs::InPlace { locked } => locked,
            Needs::Copy(why) => Some(why),
        };
        match why.and_then(Why::text_of_instant) {
            Some(text) => Err(SqlError::alter_not_supported_because(asked, text, all)),
            None => Err(SqlError::alter_not_supported(asked, all)),
        }
    }

    fn check_in_place(self, lock: Lock) -> Result<(), SqlError> {
        let (asked, copy) = ("ALGORITHM=INPLACE", "ALGORITHM=COPY");
        match self {
            Needs::InPlace { locked: Some(why) } if lock == Lock::None => {
                let text = why.text().unwrap_or_default();
                let (asked, other) = ("LOCK=NONE", "LOCK=SHARED");
                Err(SqlError::alter_not_supported_because(asked, text, other))
            }
            Needs::Instant | Needs::InPlace { .. } => Ok(()),
            Needs::Copy(why) => Err(match why.text() {
                Some(text) => SqlError::alter_not_supported_because(asked, text, copy),
                None => SqlError::alter_not_supported(asked, copy),
            }),
        }
    }

    fn of(change: &Change<'_>, ctx: &DdlContext<'_>) -> Result<Needs, SqlError> {
        if let Some(why) = change.why_copied(ctx)? {
            return Ok(Needs::Copy(why));
        }
        if change.is_instant() {
            return Ok(Needs::Instant);
        }
        let hidden = change.added().any(Column::is_hidden);
        let is_indexed = |column: &Column| change.is_indexed(&column.name);
        let mut added = change.added();
        let locked = if hidden || added.any(|column| column.is_virtual() && is_indexed(column)) {
            Some(Why::VirtualIndexed)
        } else {
            let mut added = change.added();
            let numbered = added.any(|column| column.auto_increment);
            let text = change.adds_text().then_some(Why::FullText);
            numbered.then_some(Why::AutoIncrement).or(text)
        };
        Ok(Needs::InPlace { locked })
    }
}

impl Change<'_> {
    /// The new columns that were not there.
    fn added(&self) -> impl Iterator<Item = &Column> {
        let columns = self.new.columns.iter().zip(self.sources);
        columns.filter_map(|(column, source)| source.is_none().then_some(column))
    }

    /// The columns that are no longer there.
    fn dropped(&self) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.old.columns.iter().enumerate();
        columns.filter(|(at, _)| !self.sources.contains(&Some(*at)))
    }

    /// The columns that stay, as they were and as they are.
    fn kept(&self) -> impl Iterator<Item = (&Column, &Column)> {
        let columns = self.new.columns.iter().zip(self.sources);
        columns.filter_map(|(new, source)| Some((self.old.columns.get((*source)?)?, new)))
    }

    /// The columns that get other names: where they were, and as they were.
    fn renamed(&self) -> impl Iterator<Item = (usize, &Column)> {
        let columns = self.new.columns.iter().zip(self.sources);
        columns.filter_map(|(new, source)| {
            let at = (*source)?;
            let old = self.old.columns.get(at)?;
            (!old.name.eq_ignore_ascii_case(&new.name)).then_some((at, old))
        })
    }

    /// Whether an index of the new table has a column of this name.
    fn is_indexed(&self, name: &str) -> bool {
        let position = self.new.column_position(name);
        position.is_some_and(|at| indexes(self.new).any(|index| has(index, at)))
    }

    /// Whether a CHECK constraint must be looked at for another type of a column.
    fn is_checked(&self, ctx: &DdlContext<'_>) -> Result<bool, SqlError> {
        let other_type = |at: usize| {
            let new = self.new.columns.get(at);
            let source = self.sources.get(at).copied().flatten();
            let old = source.and_then(|source| self.old.columns.get(source));
            old.zip(new)
                .is_some_and(|(old, new)| discriminant(&old.ty) != discriminant(&new.ty))
        };
        for check in self.new.checks.iter().filter(|check| check.enforced) {
            let mut columns = check::columns(check, self.new, ctx.session)?.into_iter();
            if columns.any(other_type) {
                return Ok(true);
            }
        }
        Ok(self.checked)
    }

    fn why_copied(&self, ctx: &DdlContext<'_>) -> Result<Option<Why>, SqlError> {
        let session = ctx.session;
        let is = |wanted: fn(&Action) -> bool| self.actions.iter().any(wanted);
        let adds_keys = is(|action| matches!(action, Action::AddForeignKey(_)));
        let others = self.actions.iter().any(Action::changes_table);
        let keys = self.actions.contains(&Action::Keys);
        if self.old.is_temporary() || others && keys || self.is_checked(ctx)? {
            return Ok(Some(Why::Checked));
        }
        let is_computed = |column: &Column| {
            column.default.is_computed() || column.generated.is_some() && !column.is_virtual()
        };
        if self.added().any(is_computed) {
            return Ok(Some(Why::Computed));
        }
        let recomputed = |(old, new): (&Column, &Column)| {
            let computed = old.generated.is_some() && new.generated.is_some();
            computed && (old.generated != new.generated || old.type_text() != new.type_text())
        };
        if self.kept().any(recomputed) {
            return Ok(Some(Why::Computed));
        }
        if self.kept().any(|(old, new)| self.changes_type(old, new)) {
            return Ok(Some(Why::ColumnType));
        }
        if adds_keys && ctx.foreign_key_checks {
            return Ok(Some(Why::ForeignKeyChecks));
        }
        if let Some(why) = self.loses_primary() {
            return Ok(Some(why));
        }
        let forgives_null = !session.sql_mode.has(SqlMode::STRICT);
        if forgives_null && self.kept().any(|(old, new)| old.nullable && !new.nullable) {
            return Ok(Some(Why::NullConverted));
        }
        let combined = self.functional
            || self.adds_unique_virtual()
            || self.combines_virtual() && !self.is_instant();
        Ok(combined.then_some(Why::VirtualCombined))
    }

    /// Whether the rows of before do not fit a column, whatever NULL.
    fn changes_type(&self, old: &Column, new: &Column) -> bool {
        let as_was = Column {
            nullable: new.nullable,
            // Other characters are none, but for indexes.
            collation: match old.collation.charset() == new.collation.charset()
                && !self.is_indexed(&new.name)
            {
                true => new.collation,
                false => old.collation,
            },
            ..old.clone()
        };
        !as_was.same_storage(new)
            || old.auto_increment != new.auto_increment
            || old.generated.is_some() != new.generated.is_some()
    }

    /// What counts as the primary key: without one the first unique key without NULL.
    fn primary(table: &Table) -> Option<&Index> {
        let is_whole = |index: &&Index| {
            index.unique
                && index.parts.iter().all(|part| {
                    let column = table.columns.get(usize::from(part.column));
                    part.prefix.is_none() && column.is_some_and(|column| !column.nullable)
                })
        };
        let mut unique = table.indexes.iter().filter(is_whole);
        table.primary.as_ref().or_else(|| unique.next())
    }

    fn loses_primary(&self) -> Option<Why> {
        let before = Change::primary(self.old)?;
        let is_there = match &self.old.primary {
            Some(_) => self.new.primary.is_some(),
            None => Change::primary(self.new).is_some(),
        };
        if is_there {
            return None;
        }
        let stays = self.new.index_named(&before.name).is_some();
        Some(match stays {
            true => Why::PrimaryNullable,
            false => Why::PrimaryDropped,
        })
    }

    /// Whether a FULLTEXT index comes.
    fn adds_text(&self) -> bool {
        let adds = |action: &Action| matches!(action, Action::AddKey(key) if key.kind == KeyKind::FullText);
        self.actions.iter().any(adds)
    }

    /// Whether a virtual column comes with a unique index on it.
    fn adds_unique_virtual(&self) -> bool {
        let mut unique = indexes(self.new).filter(|index| index.unique);
        unique.any(|index| {
            index.parts.iter().any(|part| {
                let at = usize::from(part.column);
                let column = self.new.columns.get(at);
                self.sources.get(at) == Some(&None) && column.is_some_and(Column::is_virtual)
            })
        })
    }

    /// Whether a virtual column comes or goes beside other changes than of indexes.
    fn combines_virtual(&self) -> bool {
        let is_named = |column: &Column| column.is_virtual() && !column.is_hidden();
        let comes = self.added().any(is_named);
        let goes = self.dropped().any(|(_, column)| is_named(column));
        let alone = |action: &Action| match action {
            Action::AddColumn(column, place) => is_virtual(column) && *place == Place::Same,
            Action::DropColumn(name) => {
                let column = self.old.column_position(name);
                let column = column.and_then(|at| self.old.columns.get(at));
                column.is_some_and(Column::is_virtual)
            }
            Action::AddKey(_)
            | Action::DropKey(_)
            | Action::Algorithm(_)
            | Action::Lock(_)
            | Action::RenameTo(_) => true,
            _ => false,
        };
        (comes || goes) && !self.actions.iter().all(alone)
    }

    /// Whether nothing but the table's description changes.
    fn is_instant(&self) -> bool {
        let comes = self.added().any(Column::is_virtual);
        let goes = self.dropped().any(|(_, column)| column.is_virtual());
        let renames = |action: &Action| {
            matches!(
                action,
                Action::RenameColumn(..) | Action::ChangeColumn(..) | Action::SetDefault(..)
            )
        };
        let mixed = comes && self.dropped().next().is_some()
            || goes && self.added().next().is_some()
            || (comes || goes) && self.actions.iter().any(renames);
        let all_virtual = self.dropped().all(|(_, column)| column.is_virtual());
        let indexed = |(at, column): (usize, &Column)| {
            let any_virtual = |index: &Index| {
                index.parts.iter().any(|part| {
                    let part = self.old.columns.get(usize::from(part.column));
                    part.is_some_and(Column::is_virtual)
                })
            };
            indexes(self.old).any(|index| has(index, at))
                || all_virtual && column.is_virtual() && indexes(self.old).any(any_virtual)
        };
        !mixed
            && !self.added().any(is_date_without_default)
            && !self.dropped().any(indexed)
            && self.actions.iter().all(|action| self.is_described(action))
            && self.kept().all(|(old, new)| is_redescribed(old, new))
    }

    /// Whether an action changes descriptions only, as far as that does not depend on columns.
    fn is_described(&self, action: &Action) -> bool {
        let stays = |name: &str| {
            let column = self.old.column_position(name);
            column.and_then(|at| self.old.columns.get(at))
        };
        match action {
            Action::AddColumn(column, place) => {
                !column.auto_increment && (*place == Place::Same || !is_virtual(column))
            }
            Action::ChangeColumn(name, _, place) => {
                *place == Place::Same || stays(name).is_some_and(Column::is_virtual)
            }
            Action::DropColumn(_)
            | Action::RenameColumn(..)
            | Action::SetDefault(..)
            | Action::SetColumnVisible(..)
            | Action::AddCheck(_)
            | Action::DropCheck(_)
            | Action::Enforce { .. }
            | Action::RenameTo(_)
            | Action::Algorithm(_)
            | Action::Lock(_)
            | Action::Keys => true,
            Action::DropConstraint(name) => self.old.check_named(name).is_some(),
            // The same primary key again.
            Action::DropKey(name) => name == "PRIMARY" && self.has_same_primary(),
            Action::AddKey(_) => {
                let drops = |action: &Action| matches!(action, Action::DropKey(_));
                self.actions.iter().any(drops)
                    && self.has_same_primary()
                    && self.old.indexes.len() == self.new.indexes.len()
            }
            Action::AddForeignKey(_)
            | Action::DropForeignKey(_)
            | Action::RenameKey(..)
            | Action::SetVisible(..)
            | Action::Options(_)
            | Action::Convert(_)
            | Action::Rebuild => false,
        }
    }

    fn has_same_primary(&self) -> bool {
        let names = |table: &Table| {
            let parts = table.primary.as_ref().map(|index| index.parts.iter());
            let parts = parts.into_iter().flatten();
            let named = parts.map(|part| {
                let column = table.columns.get(usize::from(part.column));
                (column.map(|column| column.name.clone()), part.prefix)
            });
            named.collect::<Vec<_>>()
        };
        self.old.primary.is_some() && names(self.old) == names(self.new)
    }
}

fn indexes(table: &Table) -> impl Iterator<Item = &Index> {
    table.primary.iter().chain(&table.indexes)
}

fn has(index: &Index, column: usize) -> bool {
    let mut parts = index.parts.iter();
    parts.any(|part| usize::from(part.column) == column)
}

fn is_virtual(column: &ColumnSyntax) -> bool {
    let generated = column.generated.as_ref();
    generated.is_some_and(|generated| !generated.stored)
}

/// Whether nothing of a column changes that is in its rows.
fn is_redescribed(old: &Column, new: &Column) -> bool {
    let same_type = old.ty == new.ty && old.collation == new.collation;
    same_type && old.same_storage(new) && old.generated == new.generated
}

/// Whether columns of its foreign keys have other names.
fn renames_foreign_columns(change: &Change<'_>) -> bool {
    change.renamed().any(|(at, _)| {
        let mut keys = change.old.foreign_keys.iter();
        keys.any(|key| key.columns.iter().any(|column| usize::from(*column) == at))
    })
}

/// Whether columns have other names that foreign keys refer to.
fn renames_parents(change: &Change<'_>, dictionary: &Dictionary) -> bool {
    let (database, name) = change.old.full_name();
    let children = dictionary.children(database, name);
    let keys = children.flat_map(|child| &child.foreign_keys);
    let keys = keys.filter(|key| key.refers_to(database, name));
    let columns: Vec<&String> = keys.flat_map(|key| &key.parent_columns).collect();
    change.renamed().any(|(_, column)| {
        let mut columns = columns.iter();
        columns.any(|name| name.eq_ignore_ascii_case(&column.name))
    })
}

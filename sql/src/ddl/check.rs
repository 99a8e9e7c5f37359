//! CHECK constraints in schema changes.
//!
//! A constraint is kept with its canonical text, which names columns of its own table only. So a
//! column that one uses keeps its name as long as the constraint is there; a column that is dropped
//! takes along the constraints that use no other.

use super::{
    DdlContext,
    column::check_length,
    syntax::{Action, CheckSyntax},
};
use crate::{
    error::SqlError,
    expr::Statement,
    row_expr::{self, Defined, Purpose},
};
use cohort_engine::{
    txn::Dictionary,
    types::{Check, ForeignKey, ReferentialAction, Table, TableId},
};
use std::collections::BTreeSet;

/// What the names begin with that nobody has chosen.
fn generated_prefix(table: &str) -> String {
    format!("{table}_chk_")
}

/// The number of a name that was made for a table.
fn generated_number(name: &str, table: &str) -> Option<u32> {
    name.strip_prefix(&generated_prefix(table))?.parse().ok()
}

/// The name of a constraint after its table has got another one.
pub(super) fn name_after(name: &str, table: &str, new_table: &str) -> String {
    match generated_number(name, table) {
        Some(number) => format!("{}{number}", generated_prefix(new_table)),
        None => name.to_string(),
    }
}

/// Adds constraints to a table whose columns are complete. `old`: its number before, if it was
/// there.
pub(super) fn add(
    table: &mut Table,
    checks: &[CheckSyntax],
    dictionary: &Dictionary,
    old: Option<TableId>,
    ctx: &mut DdlContext<'_>,
) -> Result<(), SqlError> {
    let known = table.checks.iter();
    let numbers = known.filter_map(|check| generated_number(&check.name, &table.name));
    let mut last = numbers.max().unwrap_or(0);
    for syntax in checks {
        // MySQL takes an empty name for none.
        let name = match syntax.name.as_ref().filter(|name| !name.is_empty()) {
            Some(name) => {
                check_length(name)?;
                name.clone()
            }
            None => {
                last += 1;
                format!("{}{last}", generated_prefix(&table.name))
            }
        };
        let defined = define(&name, syntax, table, ctx.session)?;
        for warning in &defined.warnings {
            ctx.warnings.warn(warning.clone());
        }
        check_columns(&name, syntax, &defined, table)?;
        table.checks.push(Check {
            name,
            condition: defined.text,
            enforced: syntax.enforced,
        });
    }
    check_names(&[(old, &*table)], dictionary)
}

fn define(
    name: &str,
    syntax: &CheckSyntax,
    table: &Table,
    session: &Statement<'_>,
) -> Result<Defined, SqlError> {
    let purpose = Purpose::Check(name);
    let defined = row_expr::define(purpose, &syntax.condition, &table.columns, session);
    defined.map_err(|error| {
        let unknown = SqlError::check_of_unknown_column("", "").code;
        match error.code == unknown && syntax.column.is_some() {
            true => SqlError::check_of_other_column(name),
            false => error,
        }
    })
}

/// 3813 for a constraint of a column that names another one, 3818 for one of a column that counts.
fn check_columns(
    name: &str,
    syntax: &CheckSyntax,
    defined: &Defined,
    table: &Table,
) -> Result<(), SqlError> {
    let columns = defined.columns.iter();
    for column in columns.filter_map(|position| table.columns.get(*position)) {
        let own = syntax.column.as_ref();
        if own.is_some_and(|own| !own.eq_ignore_ascii_case(&column.name)) {
            return Err(SqlError::check_of_other_column(name));
        }
        if column.auto_increment {
            return Err(SqlError::check_of_auto_increment(name));
        }
    }
    Ok(())
}

/// 3822 for names that a database has already. `tables`: those that change, by the numbers that they
/// had, as they will be.
pub(super) fn check_names(
    tables: &[(Option<TableId>, &Table)],
    dictionary: &Dictionary,
) -> Result<(), SqlError> {
    let mut names = BTreeSet::new();
    for (_, table) in tables {
        let stays = |other: &Table| tables.iter().all(|(id, _)| *id != Some(other.id));
        for check in &table.checks {
            let is_it = |other: &Check| other.name.eq_ignore_ascii_case(&check.name);
            let mut others = dictionary.tables(&table.database);
            let taken = others.any(|other| stays(other) && other.checks.iter().any(is_it));
            if !names.insert((&table.database, check.name.to_lowercase())) || taken {
                return Err(SqlError::duplicate_check(&check.name));
            }
        }
    }
    Ok(())
}

/// 3823 for a column whose values foreign keys change by themselves.
pub(super) fn check_foreign_keys(table: &Table, session: &Statement<'_>) -> Result<(), SqlError> {
    let changes = |key: &&ForeignKey| {
        let by_update = matches!(
            key.on_update,
            ReferentialAction::Cascade | ReferentialAction::SetNull
        );
        by_update || key.on_delete == ReferentialAction::SetNull
    };
    for check in &table.checks {
        let columns = columns(check, table, session)?;
        for key in table.foreign_keys.iter().filter(changes) {
            let mut own = key.columns.iter().map(|column| usize::from(*column));
            if let Some(position) = own.find(|position| columns.contains(position)) {
                let column = table.columns.get(position);
                let column = column.map_or("", |column| &column.name);
                return Err(SqlError::check_of_foreign_key(
                    column,
                    &check.name,
                    &key.name,
                ));
            }
        }
    }
    Ok(())
}

/// The columns that a constraint uses.
pub(super) fn columns(
    check: &Check,
    table: &Table,
    session: &Statement<'_>,
) -> Result<BTreeSet<usize>, SqlError> {
    let purpose = Purpose::Check(&check.name);
    row_expr::columns_of(purpose, &check.condition, &table.columns, session)
}

/// Gives an altered table, whose columns are complete, its constraints. Returns whether the rows
/// must be looked at: one is enforced that was not, or was not there. `sources`: for each new column,
/// which one it was.
pub(super) fn alter(
    old: &Table,
    new: &mut Table,
    actions: &[Action],
    sources: &[Option<usize>],
    dictionary: &Dictionary,
    ctx: &mut DdlContext<'_>,
) -> Result<bool, SqlError> {
    check_actions(old, actions)?;
    let mut checks = Vec::with_capacity(old.checks.len());
    let mut newly = false;
    for check in &old.checks {
        let is_it = |name: &str| check.name.eq_ignore_ascii_case(name);
        let dropped = |action: &Action| matches!(action, Action::DropCheck(name) | Action::DropConstraint(name) if is_it(name));
        if actions.iter().any(dropped) || goes_along(check, old, new, sources, ctx.session)? {
            continue;
        }
        let mut check = check.clone();
        for action in actions {
            if let Action::Enforce { name, enforced, .. } = action
                && check.name.eq_ignore_ascii_case(name)
            {
                newly |= *enforced && !check.enforced;
                check.enforced = *enforced;
            }
        }
        checks.push(check);
    }
    new.checks = checks;
    let added = actions.iter().filter_map(|action| match action {
        Action::AddCheck(check) => Some(check.clone()),
        _ => None,
    });
    let added: Vec<CheckSyntax> = added.collect();
    newly |= added.iter().any(|check| check.enforced);
    add(new, &added, dictionary, Some(old.id), ctx)?;
    // A column that is used may have become one that counts.
    for check in &new.checks {
        for position in columns(check, new, ctx.session)? {
            let column = new.columns.get(position);
            if column.is_some_and(|column| column.auto_increment) {
                return Err(SqlError::check_of_auto_increment(&check.name));
            }
        }
    }
    Ok(newly)
}

/// 3821, 3940 and 3941 for what is not there, or is of another kind.
fn check_actions(old: &Table, actions: &[Action]) -> Result<(), SqlError> {
    for action in actions {
        match action {
            Action::DropCheck(name)
            | Action::Enforce {
                name, any: false, ..
            } if old.check_named(name).is_none() => {
                return Err(SqlError::check_constraint_not_found(name));
            }
            Action::Enforce {
                name, any: true, ..
            } if old.check_named(name).is_none() => {
                let unique = old.index_named(name).is_some_and(|index| index.unique);
                return Err(match unique || old.foreign_key_named(name).is_some() {
                    true => SqlError::enforcement_not_supported(name),
                    false => SqlError::constraint_not_found(name),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a constraint goes with its only column; 3959 if one of several goes, or any gets another
/// name.
fn goes_along(
    check: &Check,
    old: &Table,
    new: &Table,
    sources: &[Option<usize>],
    session: &Statement<'_>,
) -> Result<bool, SqlError> {
    let used = columns(check, old, session)?;
    for position in &used {
        let after = sources.iter().position(|source| *source == Some(*position));
        let after = after.and_then(|after| new.columns.get(after));
        let name = old.columns.get(*position).map_or("", |column| &column.name);
        match after {
            None if used.len() == 1 => return Ok(true),
            Some(column) if column.name.eq_ignore_ascii_case(name) => {}
            _ => return Err(SqlError::column_used_by_check(&check.name, name)),
        }
    }
    Ok(false)
}

/// The constraints of a copy of a table: all get names of their own, in the order of the names that
/// they had.
pub(super) fn copied(table: &mut Table) {
    let checks = table.checks_by_name().into_iter().cloned();
    let mut checks: Vec<Check> = checks.collect();
    for (check, number) in checks.iter_mut().zip(1..) {
        check.name = format!("{}{number}", generated_prefix(&table.name));
    }
    table.checks = checks;
}

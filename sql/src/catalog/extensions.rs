//! Tables of information_schema that repeat what others say, for who asks MySQL's own: attributes of engines,
//! of which there are none, and foreign keys as InnoDB lists them.

use super::{
    Rows, number,
    objects::{databases, keys, tables_and_views, visible_tables},
    text,
};
use crate::{privileges::needed, state::State};
use cohort_engine::types::{ForeignKey, Table, Value, schema::ReferentialAction};

pub(super) fn tables(session: &State) -> Rows {
    let tables = tables_and_views(session, |_| true).into_iter();
    tables
        .map(|(table, _)| without_attributes(&table, []))
        .collect()
}

pub(super) fn columns(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in tables_and_views(session, |_| true) {
        let columns = table.named_columns();
        rows.extend(
            columns
                .iter()
                .map(|column| without_attributes(&table, [&column.name])),
        );
    }
    rows
}

pub(super) fn schemata(session: &State) -> Rows {
    let dictionary = session.instance.engine.dictionary();
    let databases = databases(session, &dictionary).into_iter();
    databases
        .map(|(name, _)| vec![text("def"), text(name), text("")])
        .collect()
}

/// All indexes, whether they are constraints or not.
pub(super) fn table_constraints(session: &State) -> Rows {
    let mut rows = Rows::new();
    for (table, _) in visible_tables(session) {
        rows.extend(keys(&table).map(|index| {
            vec![
                text("def"),
                text(&table.database),
                text(&index.name),
                text(&table.name),
                Value::Null,
                Value::Null,
            ]
        }));
    }
    rows
}

/// A table, and more names perhaps, with no ENGINE_ATTRIBUTE and no SECONDARY_ENGINE_ATTRIBUTE.
fn without_attributes<const N: usize>(table: &Table, names: [&String; N]) -> Vec<Value> {
    let mut row = vec![text("def"), text(&table.database), text(&table.name)];
    row.extend(names.map(text));
    row.extend([Value::Null, Value::Null]);
    row
}

pub(super) fn innodb_foreign(session: &State) -> Rows {
    each_foreign_key(session, |table, key, rows| {
        rows.push(vec![
            id(table, key),
            text(format!("{}/{}", table.database, table.name)),
            text(format!("{}/{}", key.parent_database, key.parent)),
            number(key.columns.len() as u64),
            number(actions(key)),
        ]);
    })
}

pub(super) fn innodb_foreign_columns(session: &State) -> Rows {
    each_foreign_key(session, |table, key, rows| {
        let pairs = key.columns.iter().zip(&key.parent_columns);
        for ((own, of_parent), position) in pairs.zip(1..) {
            let own = table.columns.get(usize::from(*own));
            rows.push(vec![
                id(table, key),
                own.map_or(Value::Null, |column| text(&column.name)),
                text(of_parent),
                number(position),
            ]);
        }
    })
}

/// Nothing for who lacks PROCESS.
fn each_foreign_key(session: &State, mut put: impl FnMut(&Table, &ForeignKey, &mut Rows)) -> Rows {
    let mut rows = Rows::new();
    if session.rights.has_any(needed::PROCESS) {
        for (table, _) in visible_tables(session) {
            for key in table.foreign_keys_by_name() {
                put(&table, key, &mut rows);
            }
        }
    }
    rows
}

fn id(table: &Table, key: &ForeignKey) -> Value {
    text(format!("{}/{}", table.database, key.name))
}

/// What happens to the rows of a foreign key, as InnoDB's flags say it.
fn actions(key: &ForeignKey) -> u64 {
    // In the order of InnoDB's bits: CASCADE, SET NULL, and, two further on, NO ACTION.
    let flags = |action, [cascade, null, nothing]: [u64; 3]| match action {
        ReferentialAction::Cascade => cascade,
        ReferentialAction::SetNull => null,
        ReferentialAction::NoAction => nothing,
        ReferentialAction::Restrict | ReferentialAction::SetDefault => 0,
    };
    flags(key.on_delete, [1, 2, 16]) | flags(key.on_update, [4, 8, 32])
}

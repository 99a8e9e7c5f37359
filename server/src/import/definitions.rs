//! Whether the target has the source's tables, columns and views, and no others.
//!
//! Indexes, defaults, constraints and the texts of views are not compared: servers write the same ones in
//! several ways.

use super::{
    schema::{Database, Schema, Table, View},
    text,
};
use std::collections::BTreeMap;

/// What differs, for people, and the tables whose rows cannot be compared.
#[derive(Debug, Default)]
pub struct Differing {
    /// In the order of the names.
    pub told: Vec<String>,
    /// Full names.
    pub without_rows: Vec<String>,
}

/// Compares two schemas.
pub fn differing(source: &Schema, target: &Schema) -> Differing {
    let mut found = Differing::default();
    for database in &source.databases {
        let is_there = |other: &Database| other.name == database.name;
        if !target.databases.iter().any(is_there) {
            let name = text::name(&database.name);
            let told = format!("the database {name} is missing at the target");
            found.told.push(told);
        }
    }
    let (here, there) = (tables(source), tables(target));
    for (name, table) in &here {
        match there.get(name) {
            None => {
                found.told.push(format!("{name} is missing at the target"));
                found.without_rows.push(name.clone());
            }
            Some(other) => columns(name, table, other, &mut found),
        }
    }
    let only = there.keys().filter(|name| !here.contains_key(*name));
    let told = only.map(|name| format!("{name} is at the target only"));
    found.told.extend(told);
    let (here, there) = (views(source), views(target));
    for name in here.iter().filter(|name| !there.contains(name)) {
        found
            .told
            .push(format!("view {name} is missing at the target"));
    }
    for name in there.iter().filter(|name| !here.contains(name)) {
        found
            .told
            .push(format!("view {name} is at the target only"));
    }
    for (kind, name) in &source.others {
        let kind = kind.to_lowercase();
        found.told.push(format!(
            "{name} is not compared: it is {kind}, and not a table"
        ));
    }
    found
}

fn tables(schema: &Schema) -> BTreeMap<String, &Table> {
    let named = |table| (Table::full_name(table), table);
    schema.tables.iter().map(named).collect()
}

fn views(schema: &Schema) -> Vec<String> {
    schema.views.iter().map(View::full_name).collect()
}

/// Columns by name and type. Those without a known type are not in `columns`.
fn columns(full: &str, here: &Table, there: &Table, found: &mut Differing) {
    for column in &here.columns {
        let name = text::name(&column.name);
        let same = there.columns.iter().find(|other| other.name == column.name);
        match same {
            None => {
                let told = format!("{full}: the column {name} is missing at the target");
                found.told.push(told);
                found.without_rows.push(full.to_owned());
            }
            Some(other) if other.kind != column.kind => found.told.push(format!(
                "{full}: the column {name} is {} at the source and {} at the target",
                column.kind, other.kind
            )),
            Some(_) => {}
        }
    }
    for other in &there.columns {
        if !here.columns.iter().any(|column| column.name == other.name) {
            found.told.push(format!(
                "{full}: the column {} is at the target only",
                text::name(&other.name)
            ));
        }
    }
    for unknown in &here.unknown {
        let told = format!("{full}: the column {unknown} is not compared: its type is not here");
        found.told.push(told);
    }
}

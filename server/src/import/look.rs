//! What cannot come over, found by trying: each definition of the source is made on the target, in
//! a database that is dropped again.

use super::{
    schema::{Schema, Table, View},
    servers::Session,
    text::name,
};
use std::collections::BTreeSet;

/// Where definitions are tried.
const TRIAL: &str = "cohort_import_trial";

/// The engines whose rows a consistent snapshot has.
const WITH_SNAPSHOT: [&str; 3] = ["InnoDB", "ROCKSDB", "MyRocks"];

/// ER_NO_SUCH_TABLE, ER_VIEW_INVALID: what a view is made of may come later.
const NOT_YET: [u16; 2] = [1146, 1356];

/// What cannot come over, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refused {
    /// The thing, by its kind and name.
    pub what: String,
    /// The target's error, or another reason.
    pub why: String,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Look {
    /// All that cannot come over.
    pub refused: Vec<Refused>,
    /// The databases among it, with all that they have.
    pub databases: BTreeSet<String>,
    /// The tables among it, by database and name.
    pub tables: BTreeSet<(String, String)>,
    /// The views among it.
    pub views: BTreeSet<(String, String)>,
}

impl Look {
    fn refuse(&mut self, what: String, why: impl Into<String>) {
        self.refused.push(Refused {
            what,
            why: why.into(),
        });
    }

    fn refuse_table(&mut self, table: &Table, why: impl Into<String>) {
        self.tables
            .insert((table.database.clone(), table.name.clone()));
        self.refuse(format!("table {}", table.full_name()), why);
    }

    /// Notes a view that is not to be had.
    pub fn refuse_view(&mut self, view: &View, why: impl Into<String>) {
        self.views
            .insert((view.database.clone(), view.name.clone()));
        self.refuse(format!("view {}", view.full_name()), why);
    }

    /// Takes what was refused out of a schema.
    pub fn leave_out(&self, schema: &mut Schema) {
        let is_left = |set: &BTreeSet<_>, database: &String, name: &String| {
            self.databases.contains(database) || set.contains(&(database.clone(), name.clone()))
        };
        schema
            .databases
            .retain(|database| !self.databases.contains(&database.name));
        schema
            .tables
            .retain(|table| !is_left(&self.tables, &table.database, &table.name));
        schema
            .views
            .retain(|view| !is_left(&self.views, &view.database, &view.name));
    }
}

/// Tries all definitions.
///
/// # Errors
/// A connection is lost, or the target refuses what it should take.
pub fn look(source: &mut Session, target: &mut Session, schema: &Schema) -> Result<Look, String> {
    let mut look = Look::default();
    for (kind, name) in &schema.others {
        look.refuse(
            format!("{} {name}", kind.to_lowercase()),
            "only tables and views come over",
        );
    }
    let drop = format!("DROP DATABASE IF EXISTS {TRIAL}");
    for database in &schema.databases {
        target.execute(&drop)?;
        let create = database.create.replacen(&name(&database.name), TRIAL, 1);
        if let Err(error) = target.attempt(&create)? {
            look.databases.insert(database.name.clone());
            look.refuse(
                format!("database {}", name(&database.name)),
                error.to_string(),
            );
            continue;
        }
        target.execute(&format!("USE {TRIAL}"))?;
        let own = |other: &str| other == database.name;
        for table in schema.tables.iter().filter(|table| own(&table.database)) {
            try_table(target, table, &mut look)?;
        }
        let views = schema.views.iter().filter(|view| own(&view.database));
        // What reads other databases can be tried only when those are there.
        let others = || schema.databases.iter().filter(|other| !own(&other.name));
        let is_alone = |view: &&View| {
            !others().any(|other| view.create.contains(&format!("{}.", name(&other.name))))
        };
        let views: Vec<&View> = views.filter(is_alone).collect();
        for (view, why) in create_views(target, views)? {
            look.refuse_view(view, why);
        }
        for program in schema
            .programs
            .iter()
            .filter(|program| own(&program.database))
        {
            let what = format!(
                "{} {}",
                program.kind.to_lowercase(),
                super::text::full_name(&program.database, &program.name)
            );
            let why = match program.create(source)? {
                None => "its definition may not be read with this account".to_owned(),
                Some(create) => match target.attempt(&create)? {
                    Err(error) => error.to_string(),
                    Ok(_) => "is to be made by hand, after the import".to_owned(),
                },
            };
            look.refuse(what, why);
        }
    }
    target.execute(&drop)?;
    Ok(look)
}

fn try_table(target: &mut Session, table: &Table, look: &mut Look) -> Result<(), String> {
    if !table.unknown.is_empty() {
        let types = format!(
            "columns of types that are not here: {}",
            table.unknown.join(", ")
        );
        look.refuse_table(table, types);
    } else if !WITH_SNAPSHOT
        .iter()
        .any(|engine| engine.eq_ignore_ascii_case(&table.engine))
    {
        let why = format!(
            "{} has no consistent snapshot; ALTER TABLE … ENGINE=InnoDB",
            table.engine
        );
        look.refuse_table(table, why);
    } else if let Err(error) = target.attempt(&table.create)? {
        look.refuse_table(table, error.to_string());
    }
    Ok(())
}

/// Makes views in the current database, each after those that it reads; those that are refused.
///
/// # Errors
/// The connection is lost.
pub fn create_views<'a>(
    target: &mut Session,
    mut views: Vec<&'a View>,
) -> Result<Vec<(&'a View, String)>, String> {
    let mut refused = Vec::new();
    loop {
        let before = views.len();
        let mut later = Vec::new();
        for view in std::mem::take(&mut views) {
            // The target may not have the collation.
            let collation = format!("SET SESSION collation_connection = {}", view.collation);
            let made = match target.attempt(&collation)? {
                Ok(_) => target.attempt(&view.create)?,
                Err(error) => Err(error),
            };
            match made {
                Ok(_) => {}
                Err(error) if NOT_YET.contains(&error.code) => {
                    later.push((view, error.to_string()))
                }
                Err(error) => refused.push((view, error.to_string())),
            }
        }
        if later.is_empty() || later.len() == before {
            refused.append(&mut later);
            target.execute("SET NAMES utf8mb4")?;
            return Ok(refused);
        }
        views = later.into_iter().map(|(view, _)| view).collect();
    }
}

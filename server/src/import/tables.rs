//! Databases, tables and views on the target, and the mark that an import is not finished.
//!
//! As long as the database [`MARK`] is there, what stands beside it is not whole. It is made before
//! anything else, and dropped when all is there, each with one statement.

use super::{
    look::create_views,
    schema::{Database, Schema, Table},
    servers::Session,
    text::{name, string, without_quoted},
};

/// The database that is there as long as an import is not finished.
pub const MARK: &str = "cohort_import_unfinished";

/// An import that is not finished.
#[derive(Debug, Default)]
pub struct Unfinished {
    /// Its databases, of which some may not be there yet.
    pub names: Vec<String>,
    source: String,
    begun: String,
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.names.is_empty() {
            true => f.write_str("an import was ended when it had just begun"),
            false => write!(
                f,
                "an import of {} from {} that began at {} UTC is not finished",
                self.names.join(", "),
                self.source,
                self.begun
            ),
        }
    }
}

/// What is not finished at the target, if anything is.
pub fn unfinished(target: &mut Session) -> Result<Option<Unfinished>, String> {
    if !exists(target, MARK)? {
        return Ok(None);
    }
    let mut found = Unfinished::default();
    let rows = target.attempt(&format!("SELECT source, begun, name FROM {MARK}.import"))?;
    // Its table is made right behind it.
    for row in rows.unwrap_or_default() {
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        found.source = values.next().unwrap_or_default();
        found.begun = values.next().unwrap_or_default();
        found.names.extend(values.next());
    }
    Ok(Some(found))
}

/// Whether the target has a database.
pub fn exists(target: &mut Session, database: &str) -> Result<bool, String> {
    let sql = format!(
        "SELECT 1 FROM information_schema.schemata WHERE schema_name = {}",
        string(database)
    );
    Ok(target.value(&sql)?.is_some())
}

/// Sets the mark. One that is there already stays all the time.
pub fn mark(target: &mut Session, source: &str, names: &[String]) -> Result<(), String> {
    target.execute(&format!("CREATE DATABASE IF NOT EXISTS {MARK}"))?;
    target.execute(&format!(
        "CREATE TABLE IF NOT EXISTS {MARK}.import (source TEXT, begun DATETIME, name VARCHAR(64))"
    ))?;
    let row = |name: &String| format!("({}, UTC_TIMESTAMP(), {})", string(source), string(name));
    let rows: Vec<_> = names.iter().map(row).collect();
    target.execute("START TRANSACTION")?;
    target.execute(&format!("DELETE FROM {MARK}.import"))?;
    target.execute(&format!(
        "INSERT INTO {MARK}.import VALUES {}",
        rows.join(", ")
    ))?;
    target.execute("COMMIT")
}

/// Takes the mark away: what is there is whole.
pub fn unmark(target: &mut Session) -> Result<(), String> {
    target.execute(&format!("DROP DATABASE IF EXISTS {MARK}"))
}

/// A definition in two parts: the table, and the indexes that are built when its rows are there.
#[derive(Debug, PartialEq, Eq)]
pub struct Split {
    /// CREATE TABLE.
    pub create: String,
    /// What ALTER TABLE adds; empty: nothing.
    pub indexes: Vec<String>,
}

/// Splits what SHOW CREATE TABLE says, which has a line for each column and index.
///
/// An index that a foreign key or AUTO_INCREMENT may need stays where it is; so do all of a definition
/// that looks otherwise than expected.
pub fn split(create: &str) -> Split {
    let (head, inner, tail) = parts(create);
    let begin = inner.iter().position(|line| is_index(line));
    let (columns, behind) = inner.split_at(begin.unwrap_or(inner.len()));
    let is_check =
        |line: &str| line.starts_with("  CONSTRAINT ") && !line.contains(" FOREIGN KEY ");
    let is_known = behind.iter().all(|line| is_index(line) || is_check(line));
    if !is_known || behind.is_empty() || counter_needs_index(columns) {
        return Split {
            create: create.to_owned(),
            indexes: Vec::new(),
        };
    }
    let bare = |line: &str| line.trim_end_matches(',').to_owned();
    let (indexes, checks): (Vec<&str>, Vec<&str>) = behind.iter().partition(|line| is_index(line));
    let inside: Vec<_> = columns
        .iter()
        .chain(&checks)
        .map(|line| bare(line))
        .collect();
    Split {
        create: format!("{head}\n{}\n{}", inside.join(",\n"), tail.join("\n")),
        indexes: indexes.iter().map(|line| bare(line.trim_start())).collect(),
    }
}

/// The first line, those of columns and indexes, and those from the last parenthesis on.
fn parts(create: &str) -> (&str, Vec<&str>, Vec<&str>) {
    let mut lines = create.lines();
    let head = lines.next().unwrap_or_default();
    let mut inner: Vec<&str> = lines.collect();
    let end = inner.iter().rposition(|line| line.starts_with(')'));
    let tail = inner.split_off(end.unwrap_or(inner.len()));
    (head, inner, tail)
}

fn is_index(line: &str) -> bool {
    const KINDS: [&str; 3] = ["  KEY ", "  UNIQUE KEY ", "  FULLTEXT KEY "];
    KINDS.iter().any(|kind| line.starts_with(kind))
}

/// Whether there is an AUTO_INCREMENT column that the primary key does not begin with.
fn counter_needs_index(columns: &[&str]) -> bool {
    let counts = |line: &&&str| without_quoted(line).contains(" AUTO_INCREMENT");
    columns.iter().find(counts).is_some_and(|line| {
        let name: String = line.trim_start().split_inclusive('`').take(2).collect();
        let begin = format!("  PRIMARY KEY ({name}");
        !columns.iter().any(|line| line.starts_with(&begin))
    })
}

/// Makes the databases; `replace`: those of the same name go first.
///
/// # Errors
/// One is there already, or is refused. Those that were made are dropped again.
pub fn create_databases(
    target: &mut Session,
    databases: &[Database],
    replace: bool,
) -> Result<(), String> {
    for (at, database) in databases.iter().enumerate() {
        let dropped = match replace {
            true => drop_database(target, &database.name),
            false => Ok(()),
        };
        let made = dropped.and_then(|()| target.execute(&database.create));
        if let Err(error) = made {
            drop_databases(target, &databases[..at])?;
            return Err(error);
        }
    }
    Ok(())
}

/// Drops a database, if it is there.
pub fn drop_database(target: &mut Session, database: &str) -> Result<(), String> {
    target.execute(&format!("DROP DATABASE IF EXISTS {}", name(database)))
}

/// Drops what [`create_databases`] has made.
pub fn drop_databases(target: &mut Session, databases: &[Database]) -> Result<(), String> {
    for database in databases {
        drop_database(target, &database.name)?;
    }
    Ok(())
}

/// Makes tables without the indexes that come later, and views; what is refused, which the trial did
/// not see: views that read several databases.
pub fn create(target: &mut Session, schema: &Schema) -> Result<Vec<String>, String> {
    for database in &schema.databases {
        target.execute(&format!("USE {}", name(&database.name)))?;
        for table in schema
            .tables
            .iter()
            .filter(|table| table.database == database.name)
        {
            target.execute(&split(&table.create).create)?;
        }
    }
    // Those that read other databases need these to be there.
    let mut views: Vec<_> = schema.views.iter().collect();
    loop {
        let before = views.len();
        let mut refused = Vec::new();
        for database in &schema.databases {
            target.execute(&format!("USE {}", name(&database.name)))?;
            let own = views.iter().filter(|view| view.database == database.name);
            refused.extend(create_views(target, own.copied().collect())?);
        }
        if refused.is_empty() || refused.len() == before {
            let told = |(view, why): (&super::schema::View, String)| {
                format!("view {}: {why}", view.full_name())
            };
            return Ok(refused.into_iter().map(told).collect());
        }
        views = refused.into_iter().map(|(view, _)| view).collect();
    }
}

/// Builds the indexes that were left out.
pub fn build_indexes(target: &mut Session, table: &Table) -> Result<(), String> {
    let indexes = split(&table.create).indexes;
    if indexes.is_empty() {
        return Ok(());
    }
    let parts: Vec<_> = indexes.iter().map(|index| format!("ADD {index}")).collect();
    target.execute(&format!(
        "ALTER TABLE {} {}",
        table.full_name(),
        parts.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `k` int DEFAULT '0',\n";
    const TAIL: &str = ") ENGINE=InnoDB";

    #[test]
    fn indexes_come_later() {
        let whole = format!(
            "{HEAD}  PRIMARY KEY (`id`),\n  UNIQUE KEY `u` (`k`),\n  KEY `k` (`k` DESC),\n  CONSTRAINT `c` CHECK ((`k` > 0))\n{TAIL}"
        );
        let parts = split(&whole);
        assert_eq!(
            parts.create,
            format!("{HEAD}  PRIMARY KEY (`id`),\n  CONSTRAINT `c` CHECK ((`k` > 0))\n{TAIL}")
        );
        assert_eq!(
            parts.indexes,
            ["UNIQUE KEY `u` (`k`)", "KEY `k` (`k` DESC)"]
        );
        let parts = split(&format!(
            "{HEAD}  PRIMARY KEY (`id`),\n  KEY `k` (`k`)\n{TAIL}"
        ));
        assert_eq!(parts.create, format!("{HEAD}  PRIMARY KEY (`id`)\n{TAIL}"));
    }

    #[test]
    fn indexes_that_are_needed_stay() {
        for behind in [
            // Of AUTO_INCREMENT.
            "  PRIMARY KEY (`k`),\n  KEY `id` (`id`)\n",
            // Of AUTO_INCREMENT, which a comment names before.
            "  `n` int COMMENT 'no AUTO_INCREMENT',\n  PRIMARY KEY (`n`),\n  KEY `id` (`id`)\n",
            // Of a foreign key.
            "  PRIMARY KEY (`id`),\n  KEY `k` (`k`),\n  CONSTRAINT `f` FOREIGN KEY (`k`) REFERENCES `t` (`id`)\n",
        ] {
            let whole = format!("{HEAD}{behind}{TAIL}");
            let parts = split(&whole);
            assert_eq!((parts.create, parts.indexes.len()), (whole, 0));
        }
        let odd = format!(
            "{HEAD}  `d` text COMMENT 'a\n  KEY `k` (`k`),\nb',\n  PRIMARY KEY (`id`)\n{TAIL}"
        );
        assert_eq!(split(&odd).create, odd);
    }
}

//! Databases, tables and views on the target, and the mark that an import is not finished.
//!
//! As long as the database [`MARK`] is there, what stands beside it is not whole. It is made before
//! anything else, and dropped when all is there, each with one statement.

use super::{
    look::create_views,
    schema::{Schema, Table},
    servers::Session,
    text::{name, string},
};

/// The database that is there as long as an import is not finished.
pub const MARK: &str = "cohort_import_unfinished";

/// What an unfinished import has left, for people; `None`: there is none.
pub fn unfinished(target: &mut Session) -> Result<Option<String>, String> {
    let sql = format!("SELECT source, begun, names FROM {MARK}.import");
    if !exists(target, MARK)? {
        return Ok(None);
    }
    let rows = target.attempt(&sql)?.unwrap_or_default();
    Ok(Some(match rows.first().map(|row| &row[..]) {
        Some([Some(source), Some(begun), Some(names)]) => {
            format!("an import of {names} from {source} that began at {begun} UTC is not finished")
        }
        _ => "an import was ended when it had just begun".to_owned(),
    }))
}

/// Whether the target has a database.
pub fn exists(target: &mut Session, database: &str) -> Result<bool, String> {
    let sql = format!(
        "SELECT 1 FROM information_schema.schemata WHERE schema_name = {}",
        string(database)
    );
    Ok(target.value(&sql)?.is_some())
}

/// Sets the mark.
pub fn mark(target: &mut Session, source: &str, names: &[String]) -> Result<(), String> {
    unmark(target)?;
    target.execute(&format!("CREATE DATABASE {MARK}"))?;
    target.execute(&format!(
        "CREATE TABLE {MARK}.import (source TEXT, begun DATETIME, names LONGTEXT)"
    ))?;
    target.execute(&format!(
        "INSERT INTO {MARK}.import VALUES ({}, UTC_TIMESTAMP(), {})",
        string(source),
        string(&names.join(", "))
    ))
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
/// An index that a foreign key or AUTO_INCREMENT may need stays where it is.
pub fn split(create: &str) -> Split {
    let lines: Vec<&str> = create.lines().collect();
    let is_index = |line: &str| line.starts_with("  KEY ") || line.starts_with("  UNIQUE KEY ");
    let is_column = |line: &str| line.starts_with("  `");
    let needs_index = |line: &&str| {
        line.contains(" FOREIGN KEY ") || is_column(line) && line.contains(" AUTO_INCREMENT")
    };
    let primary = lines
        .iter()
        .find(|line| line.starts_with("  PRIMARY KEY ("));
    let counts = |line: &&&str| is_column(line) && line.contains(" AUTO_INCREMENT");
    let is_led = lines.iter().find(counts).is_some_and(|line| {
        let column = line
            .trim_start()
            .split_inclusive('`')
            .take(2)
            .collect::<String>();
        primary.is_some_and(|primary| primary.contains(&format!("({column}")))
    });
    let has_foreign = lines.iter().any(|line| line.contains(" FOREIGN KEY "));
    let stays = has_foreign || lines.iter().any(|line| needs_index(line)) && !is_led;
    let (Some((first, rest)), false) = (lines.split_first(), stays) else {
        return Split {
            create: create.to_owned(),
            indexes: Vec::new(),
        };
    };
    // A text with a line break in a comment or a default: such lines are no indexes of ours.
    let end = rest
        .iter()
        .rposition(|line| line.starts_with(')'))
        .unwrap_or(rest.len());
    let (inner, tail) = rest.split_at(end);
    let begin = inner
        .iter()
        .position(|line| is_index(line))
        .unwrap_or(inner.len());
    let (columns, behind) = inner.split_at(begin);
    let is_simple = behind
        .iter()
        .all(|line| is_index(line) || line.starts_with("  CONSTRAINT "));
    if !is_simple {
        return Split {
            create: create.to_owned(),
            indexes: Vec::new(),
        };
    }
    let bare = |line: &&str| line.trim_end_matches(',').to_owned();
    let kept = behind.iter().filter(|line| !is_index(line));
    let inside: Vec<String> = columns.iter().chain(kept).map(|line| bare(line)).collect();
    let indexes = behind.iter().filter(|line| is_index(line));
    Split {
        create: format!("{first}\n{}\n{}", inside.join(",\n"), tail.join("\n")),
        indexes: indexes
            .map(|line| bare(line).trim_start().to_owned())
            .collect(),
    }
}

/// Makes databases, tables without the indexes that come later, and views; what is refused, which
/// the trial did not see: views that read several databases.
pub fn create(target: &mut Session, schema: &Schema) -> Result<Vec<String>, String> {
    for database in &schema.databases {
        target.execute(&format!("DROP DATABASE IF EXISTS {}", name(&database.name)))?;
        target.execute(&database.create)?;
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
                format!(
                    "view {}: {why}",
                    super::text::full_name(&view.database, &view.name)
                )
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

//! Foreign keys as they are written: in SHOW CREATE TABLE, in errors, in information_schema.

use cohort_engine::types::{ForeignKey, ReferentialAction, Table, quoted};
use std::fmt::Write;

/// The foreign key as SHOW CREATE TABLE and errors write it: ``CONSTRAINT `f` FOREIGN KEY (`a`)
/// REFERENCES `p` (`id`) ON DELETE CASCADE``.
#[must_use]
pub fn clause(key: &ForeignKey, child: &Table) -> String {
    clause_in(key, child, quoted)
}

/// The same, with names quoted otherwise.
pub fn clause_in(key: &ForeignKey, child: &Table, quoted: impl Fn(&str) -> String) -> String {
    let columns = key.columns.iter().map(|position| {
        let column = child.columns.get(usize::from(*position));
        quoted(column.map_or("", |column| &column.name))
    });
    let columns: Vec<String> = columns.collect();
    let parent_columns = key.parent_columns.iter().map(|name| quoted(name));
    let parent_columns: Vec<String> = parent_columns.collect();
    let mut parent = quoted(&key.parent);
    if key.parent_database != child.database {
        parent = format!("{}.{parent}", quoted(&key.parent_database));
    }
    let mut text = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        quoted(&key.name),
        columns.join(", "),
        parent_columns.join(", "),
    );
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferentialAction::NoAction {
            let _ = write!(text, " ON {event} {}", action_words(action));
        }
    }
    text
}

/// How an action is written.
#[must_use]
pub fn action_words(action: ReferentialAction) -> &'static str {
    match action {
        ReferentialAction::NoAction => "NO ACTION",
        ReferentialAction::Restrict => "RESTRICT",
        ReferentialAction::Cascade => "CASCADE",
        ReferentialAction::SetNull => "SET NULL",
        ReferentialAction::SetDefault => "SET DEFAULT",
    }
}

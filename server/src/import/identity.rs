//! Which table a name stands for.
//!
//! A transaction that has begun before `RENAME TABLE` reads under the new name what is there now, and one
//! that reads behind `TRUNCATE TABLE` finds nothing; neither is an error. InnoDB gives each table and
//! partition a number, which a renamed one keeps and a truncated one changes. So the numbers under the
//! snapshot's lock must be those when all rows are there.

use super::{
    schema::Table,
    servers::{Flavor, Session},
};
use std::collections::{BTreeMap, BTreeSet};

/// ER_SPECIFIC_ACCESS_DENIED_ERROR.
const DENIED: u16 = 1227;

/// A database and a table, where the letters that are not ASCII are all the same: InnoDB writes some of
/// them with codes of its own. Tables that are alike then are told apart by their numbers only.
type Key = (String, String);

/// The numbers of all tables and partitions, each with its name as the server writes it.
pub struct Identities(BTreeMap<Key, BTreeSet<(String, String)>>);

impl Identities {
    /// Reads those that a source has now.
    ///
    /// # Errors
    /// The account may not.
    pub fn read(source: &mut Session, flavor: Flavor) -> Result<Identities, String> {
        let sql = match flavor {
            Flavor::MySql => "SELECT name, table_id FROM information_schema.INNODB_TABLES",
            Flavor::MariaDb => "SELECT name, table_id FROM information_schema.INNODB_SYS_TABLES",
            // It has no such numbers.
            Flavor::Cohort => {
                "SELECT CONCAT(table_schema, '/', table_name), create_time \
                 FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
            }
        };
        let rows = match source.attempt(sql)? {
            Ok(rows) => rows,
            Err(error) if error.code == DENIED => {
                return Err(source.needs("PROCESS", "to see whether tables are renamed", &error));
            }
            Err(error) => return Err(source.refused(&error)),
        };
        let mut found = BTreeMap::new();
        for row in rows {
            let mut values = row.into_iter().map(Option::unwrap_or_default);
            let name = values.next().unwrap_or_default();
            let number = values.next().unwrap_or_default();
            if let Some((database, table)) = name.split_once('/') {
                let key = match flavor {
                    Flavor::Cohort => (blurred(database), blurred(table)),
                    // A partition's name is behind its table's.
                    _ => (decoded(database), decoded(upto(table, '#'))),
                };
                let all: &mut BTreeSet<_> = found.entry(key).or_default();
                all.insert((name, number));
            }
        }
        Ok(Identities(found))
    }

    /// Those of the tables that are others later.
    pub fn changed(&self, later: &Identities, tables: &[Table]) -> Vec<String> {
        let is_other = |table: &&Table| {
            let key = (blurred(&table.database), blurred(&table.name));
            self.0.get(&key) != later.0.get(&key)
        };
        let others = tables.iter().filter(is_other);
        others.map(Table::full_name).collect()
    }
}

fn upto(text: &str, end: char) -> &str {
    text.split(end).next().unwrap_or_default()
}

/// What stands for any letter that is not ASCII.
const LETTER: char = '\u{fffd}';

fn blurred(name: &str) -> String {
    let blur = |c: char| if c.is_ascii() { c } else { LETTER };
    name.chars().map(blur).collect()
}

/// A name from that of a file: `@` and four digits are a character's code, `@` and two others a letter.
fn decoded(name: &str) -> String {
    let (mut out, mut rest) = (String::new(), name);
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let code = rest
            .get(..4)
            .and_then(|code| u32::from_str_radix(code, 16).ok());
        let (c, length) = match code {
            Some(code) => (char::from_u32(code).unwrap_or(LETTER), 4),
            None => (LETTER, rest.len().min(2)),
        };
        out.push(if c.is_ascii() { c } else { LETTER });
        rest = rest.get(length..).unwrap_or_default();
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        assert_eq!(decoded("p@0024@0020@0p"), blurred("p$ é"));
        let table = "a@0023b@002fc@0020@k0#P#p0";
        assert_eq!(decoded(upto(table, '#')), blurred("a#b/c д"));
        assert_eq!(decoded("plain_1"), "plain_1");
        assert_eq!(decoded("@4e2d@"), blurred("中ä"));
    }
}

//! Tables that some workloads need besides sbtest1, whose rows they are made of.

use crate::lab::{
    control::{Control, Error},
    workload::{MEMBER_GROUPS, MEMBERS_MAX, PARENTS, WIDTHS, groups},
};

/// Such tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Rows that refer to others by a foreign key, with a generated, an ENUM and a JSON column.
    Family,
    /// JSON documents.
    Documents,
    /// JSON documents with an index of the values in an array of theirs.
    Members,
}

/// Rows of one INSERT.
const BATCH: u32 = 10_000;

impl Extra {
    /// Their names; those that refer to others come first.
    fn names(self) -> &'static [&'static str] {
        match self {
            Extra::Family => &["lab_children", "lab_parents"],
            Extra::Documents => &["lab_documents"],
            Extra::Members => &["lab_members"],
        }
    }

    /// Makes them afresh, where sbtest1 has so many rows.
    pub fn make(self, control: &mut Control, rows: u32) -> Result<(), Error> {
        self.remove(control)?;
        match self {
            Extra::Family => family(control),
            Extra::Documents => documents(control, rows),
            Extra::Members => members(control, rows.min(MEMBERS_MAX)),
        }
    }

    /// Removes them.
    pub fn remove(self, control: &mut Control) -> Result<(), Error> {
        let mut names = self.names().iter();
        names.try_for_each(|name| {
            let drop = format!("DROP TABLE IF EXISTS {name}");
            control.query(&drop).map(|_| ())
        })
    }
}

fn family(control: &mut Control) -> Result<(), Error> {
    control.query("CREATE TABLE lab_parents (id INT PRIMARY KEY)")?;
    control.query(
        "CREATE TABLE lab_children (id INT PRIMARY KEY AUTO_INCREMENT, parent INT NOT NULL, \
         price INT NOT NULL, total INT AS (price * 2) STORED, \
         state ENUM('new', 'paid', 'sent') NOT NULL, facts JSON, KEY (total), \
         FOREIGN KEY (parent) REFERENCES lab_parents (id))",
    )?;
    let rows: Vec<_> = (1..=PARENTS).map(|id| format!("({id})")).collect();
    let insert = format!("INSERT INTO lab_parents VALUES {}", rows.join(", "));
    control.query(&insert).map(drop)
}

fn documents(control: &mut Control, rows: u32) -> Result<(), Error> {
    control.query("CREATE TABLE lab_documents (id INT PRIMARY KEY, doc JSON)")?;
    let document = format!(
        "JSON_OBJECT('number', k, 'name', c, 'tags', JSON_ARRAY('red', 'large', id), \
         'size', JSON_OBJECT('width', id % {WIDTHS}, 'height', k % 7))"
    );
    fill(control, "lab_documents", &document, rows)
}

fn members(control: &mut Control, rows: u32) -> Result<(), Error> {
    let values: Vec<_> = (0..MEMBER_GROUPS)
        .map(|n| {
            let (of_id, of_k) = (7919 + n * 104_729, n + 1);
            format!("(id * {of_id} + k * {of_k}) % {}", groups(rows))
        })
        .collect();
    control.query("CREATE TABLE lab_members (id INT PRIMARY KEY, doc JSON)")?;
    let document = format!(
        "JSON_OBJECT('number', k, 'name', c, 'groups', JSON_ARRAY({}))",
        values.join(", ")
    );
    fill(control, "lab_members", &document, rows)?;
    let index = "ALTER TABLE lab_members \
                 ADD KEY of_group ((CAST(doc->'$.groups' AS UNSIGNED ARRAY)))";
    control.query(index).map(drop)
}

/// A document of each row of sbtest1.
fn fill(control: &mut Control, table: &str, document: &str, rows: u32) -> Result<(), Error> {
    let mut first = 1;
    while first <= rows {
        let last = rows.min(first.saturating_add(BATCH - 1));
        control.query(&format!(
            "INSERT INTO {table} SELECT id, {document} FROM sbtest1 \
             WHERE id BETWEEN {first} AND {last}"
        ))?;
        first = last + 1;
    }
    Ok(())
}

//! The statements, and how they are sent.

use super::Draw;
use cohort_mysql::{
    client::wire::{Parameter, put_command, put_execute},
    constants::command,
    packet::Writer,
};

/// How many rows a range has.
const RANGE: u32 = 100;
/// The row that everybody changes.
const HOT: u32 = 1;
/// Rows that others refer to.
pub const PARENTS: u32 = 1000;
/// Different values that documents are looked for by.
pub const WIDTHS: u32 = 100;
/// Documents with an index of the values in them, at most.
pub const MEMBERS_MAX: u32 = 200_000;
/// Values in each of them.
pub const MEMBER_GROUPS: u32 = 5;
/// Documents that have a value in common.
const GROUP_SIZE: u32 = 10;
/// The states of a row that refers to another one.
const STATES: [&[u8]; 3] = [b"new", b"paid", b"sent"];
/// Other numbers of a row are below this.
const NUMBERS: u32 = 1_000_000;

/// How many different values the documents with an index have, of a table with so many rows.
#[must_use]
pub fn groups(rows: u32) -> u32 {
    (rows.min(MEMBERS_MAX) * MEMBER_GROUPS / GROUP_SIZE).max(1)
}

/// One kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // their texts say it
pub enum Statement {
    Begin,
    BeginReadOnly,
    PointSelect,
    /// The same; its key is a number or a text.
    TypedSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    ScanDocuments,
    FindMember,
    IndexUpdate,
    NonIndexUpdate,
    HotUpdate,
    Delete,
    /// Brings back what this event's DELETE took.
    Insert,
    InsertNew,
    InsertProduct,
    InsertRelated,
    Commit,
}

use Statement::{
    Begin, BeginReadOnly, Commit, Delete, DistinctRange, FindMember, HotUpdate, IndexUpdate,
    Insert, InsertNew, InsertProduct, InsertRelated, NonIndexUpdate, OrderRange, PointSelect,
    ScanDocuments, SimpleRange, SumRange, TypedSelect,
};

impl Statement {
    /// How many kinds there are.
    pub const COUNT: usize = Commit as usize + 1;

    /// Its text.
    #[must_use]
    pub const fn sql(self) -> &'static str {
        match self {
            Begin => "BEGIN",
            BeginReadOnly => "START TRANSACTION READ ONLY",
            PointSelect | TypedSelect => "SELECT c FROM sbtest1 WHERE id=?",
            SimpleRange => "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
            SumRange => "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
            OrderRange => "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            DistinctRange => "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            ScanDocuments => {
                "SELECT COUNT(*) FROM lab_documents WHERE JSON_EXTRACT(doc, '$.size.width') = ?"
            }
            FindMember => {
                "SELECT id, doc->>'$.number' FROM lab_members WHERE ? MEMBER OF (doc->'$.groups')"
            }
            IndexUpdate | HotUpdate => "UPDATE sbtest1 SET k=k+1 WHERE id=?",
            NonIndexUpdate => "UPDATE sbtest1 SET c=? WHERE id=?",
            Delete => "DELETE FROM sbtest1 WHERE id=?",
            Insert => "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            InsertNew => "INSERT INTO sbtest1 (k, c, pad) VALUES (?, ?, ?)",
            InsertProduct => {
                "INSERT INTO products (shop_id, title) VALUES (123, 'aerodynamic chair')"
            }
            InsertRelated => {
                "INSERT INTO lab_children (parent, price, state, facts) VALUES (?, ?, ?, ?)"
            }
            Commit => "COMMIT",
        }
    }

    /// Writes its execution: under the number it was prepared as, or as text if it was not.
    pub fn put(self, out: &mut Writer, prepared: Option<u32>, draw: &mut Draw) {
        self.with_values(draw, |values| match prepared {
            Some(id) => put_execute(out, id, values),
            None => put_command(out, command::QUERY, &self.text(values)),
        });
    }

    /// Its text with these values in it.
    fn text(self, values: &[Parameter]) -> Vec<u8> {
        let mut values = values.iter();
        let mut text = Vec::with_capacity(self.sql().len() + 64);
        for byte in self.sql().bytes() {
            if byte != b'?' {
                text.push(byte);
                continue;
            }
            match values.next() {
                Some(Parameter::Int(number)) => {
                    text.extend_from_slice(number.to_string().as_bytes());
                }
                // None of them has a quote or a backslash.
                Some(Parameter::Text(value)) => {
                    text.push(b'\'');
                    text.extend_from_slice(value);
                    text.push(b'\'');
                }
                other => unreachable!("{self:?} has no value {other:?}"),
            }
        }
        text
    }

    /// Draws its values.
    fn with_values(self, draw: &mut Draw, what: impl FnOnce(&[Parameter])) {
        match self {
            Begin | BeginReadOnly | InsertProduct | Commit => what(&[]),
            PointSelect | IndexUpdate => what(&[Parameter::Int(draw.id())]),
            HotUpdate => what(&[Parameter::Int(HOT)]),
            TypedSelect => {
                let id = draw.id();
                match draw.random.below(2) {
                    0 => what(&[Parameter::Int(id)]),
                    _ => what(&[Parameter::Text(id.to_string().as_bytes())]),
                }
            }
            SimpleRange | SumRange | OrderRange | DistinctRange => {
                let first = draw.id();
                let last = first.saturating_add(RANGE - 1);
                what(&[Parameter::Int(first), Parameter::Int(last)]);
            }
            ScanDocuments => what(&[Parameter::Int(draw.random.below(WIDTHS))]),
            FindMember => what(&[Parameter::Int(draw.random.below(groups(draw.rows)))]),
            NonIndexUpdate => {
                let (row, c) = (draw.id(), draw.c());
                what(&[Parameter::Text(&c), Parameter::Int(row)]);
            }
            Delete => {
                draw.deleted = draw.id();
                what(&[Parameter::Int(draw.deleted)]);
            }
            Insert => {
                let (id, k, c, pad) = (draw.deleted, draw.id(), draw.c(), draw.pad());
                what(&[
                    Parameter::Int(id),
                    Parameter::Int(k),
                    Parameter::Text(&c),
                    Parameter::Text(&pad),
                ]);
            }
            InsertNew => {
                let (k, c, pad) = (draw.id(), draw.c(), draw.pad());
                what(&[
                    Parameter::Int(k),
                    Parameter::Text(&c),
                    Parameter::Text(&pad),
                ]);
            }
            InsertRelated => {
                let (parent, price) = (draw.random.below(PARENTS), draw.random.below(NUMBERS));
                let state = STATES[draw.random.below(3) as usize];
                let facts = format!(
                    "{{\"number\": {price}, \"tags\": [\"red\", \"large\"], \"name\": \"a name\"}}"
                );
                what(&[
                    Parameter::Int(1 + parent),
                    Parameter::Int(price),
                    Parameter::Text(state),
                    Parameter::Text(facts.as_bytes()),
                ]);
            }
        }
    }
}

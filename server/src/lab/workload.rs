//! What the clients do: sysbench's OLTP scripts, under their names.
//!
//! A workload is a list of statements that make one event. As with sysbench, every statement is
//! prepared once for each connection, ids are drawn uniformly, and what a server cannot prepare
//! (BEGIN, on some) is sent as text.

use super::random::Random;
use cohort_mysql::{
    client::wire::{Parameter, put_command, put_execute},
    constants::command,
    packet::Writer,
};

/// How many rows a range has.
const RANGE: u32 = 100;
/// The digits of `c` and of `pad` stand in groups of eleven.
const GROUP: usize = 11;
const C_GROUPS: usize = 10;
const PAD_GROUPS: usize = 5;
/// The length of `c`.
pub const C_LENGTH: usize = C_GROUPS * (GROUP + 1) - 1;
/// The length of `pad`.
pub const PAD_LENGTH: usize = PAD_GROUPS * (GROUP + 1) - 1;

/// One kind of statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // their texts say it
pub enum Statement {
    Begin,
    BeginReadOnly,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
    InsertProduct,
    Commit,
}

use Statement::{
    Begin, BeginReadOnly, Commit, Delete, DistinctRange, IndexUpdate, Insert, InsertProduct,
    NonIndexUpdate, OrderRange, PointSelect, SimpleRange, SumRange,
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
            PointSelect => "SELECT c FROM sbtest1 WHERE id=?",
            SimpleRange => "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
            SumRange => "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
            OrderRange => "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            DistinctRange => "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            IndexUpdate => "UPDATE sbtest1 SET k=k+1 WHERE id=?",
            NonIndexUpdate => "UPDATE sbtest1 SET c=? WHERE id=?",
            Delete => "DELETE FROM sbtest1 WHERE id=?",
            Insert => "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            InsertProduct => {
                "INSERT INTO products (shop_id, title) VALUES (123, 'aerodynamic chair')"
            }
            Commit => "COMMIT",
        }
    }

    /// Writes its execution: under the number it was prepared as, or as text if it was not, which
    /// only statements without parameters may lack.
    pub fn put(self, out: &mut Writer, prepared: Option<u32>, draw: &mut Draw) {
        let Some(id) = prepared else {
            put_command(out, command::QUERY, self.sql().as_bytes());
            return;
        };
        match self {
            Begin | BeginReadOnly | InsertProduct | Commit => put_execute(out, id, &[]),
            PointSelect | IndexUpdate => {
                put_execute(out, id, &[Parameter::Int(draw.id())]);
            }
            SimpleRange | SumRange | OrderRange | DistinctRange => {
                let first = draw.id();
                let last = first.saturating_add(RANGE - 1);
                put_execute(out, id, &[Parameter::Int(first), Parameter::Int(last)]);
            }
            NonIndexUpdate => {
                let (row, c) = (draw.id(), draw.c());
                put_execute(out, id, &[Parameter::Text(&c), Parameter::Int(row)]);
            }
            Delete => {
                draw.deleted = draw.id();
                put_execute(out, id, &[Parameter::Int(draw.deleted)]);
            }
            Insert => {
                let (k, c, pad) = (draw.id(), draw.c(), draw.pad());
                let parameters = [
                    Parameter::Int(draw.deleted),
                    Parameter::Int(k),
                    Parameter::Text(&c),
                    Parameter::Text(&pad),
                ];
                put_execute(out, id, &parameters);
            }
        }
    }
}

/// Values for one event.
#[derive(Debug)]
pub struct Draw<'a> {
    /// Where they come from.
    pub random: &'a mut Random,
    /// Rows of the table.
    pub rows: u32,
    /// The row that this event's DELETE took, and its INSERT brings back.
    pub deleted: u32,
}

impl Draw<'_> {
    fn id(&mut self) -> u32 {
        1 + self.random.below(self.rows)
    }
    /// A value of the column `c`.
    pub fn c(&mut self) -> [u8; C_LENGTH] {
        let mut out = [b'-'; C_LENGTH];
        self.random.digits(&mut out, GROUP);
        out
    }
    /// A value of the column `pad`.
    pub fn pad(&mut self) -> [u8; PAD_LENGTH] {
        let mut out = [b'-'; PAD_LENGTH];
        self.random.digits(&mut out, GROUP);
        out
    }
}

/// A list of statements under a name.
#[derive(Debug, PartialEq, Eq)]
pub struct Workload {
    /// sysbench's name of the script; `_trx` if it is that with a transaction around.
    pub name: &'static str,
    /// One event.
    pub statements: &'static [Statement],
}

/// All workloads.
pub const WORKLOADS: [Workload; 4] = [
    Workload {
        name: "oltp_point_select",
        statements: &[PointSelect],
    },
    Workload {
        name: "oltp_update_non_index",
        statements: &[NonIndexUpdate],
    },
    Workload {
        name: "oltp_update_non_index_trx",
        statements: &[Begin, NonIndexUpdate, Commit],
    },
    Workload {
        name: "oltp_read_write",
        statements: &[
            Begin,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            PointSelect,
            SimpleRange,
            SumRange,
            OrderRange,
            DistinctRange,
            IndexUpdate,
            NonIndexUpdate,
            Delete,
            Insert,
            Commit,
        ],
    },
];

impl Workload {
    /// The workload of a name.
    pub fn named(name: &str) -> Result<&'static Workload, String> {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        found.ok_or_else(|| {
            let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
            format!("no such workload: there are {}", names.join(", "))
        })
    }

    /// The kinds of its statements, each once.
    pub fn kinds(&self) -> impl Iterator<Item = Statement> + '_ {
        let all = self.statements.iter().enumerate();
        all.filter(|(i, kind)| !self.statements[..*i].contains(kind))
            .map(|(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::types::Value;
    use cohort_mysql::{client::wire::Frames, parameters};

    fn values(statement: Statement, draw: &mut Draw) -> Vec<Value> {
        let mut out = Writer::new();
        statement.put(&mut out, Some(3), draw);
        let (_, payload) = Frames(&out.buffer).next().unwrap();
        let count = statement.sql().bytes().filter(|b| *b == b'?').count();
        let mut values = Vec::new();
        parameters::Statement::new(count as u16)
            .decode(&payload[5..], &mut values)
            .unwrap();
        values
    }

    #[test]
    fn parameters_fit_the_statements() {
        let mut random = Random::new(1);
        let mut draw = Draw {
            random: &mut random,
            rows: 1000,
            deleted: 0,
        };
        for workload in &WORKLOADS {
            for kind in workload.kinds() {
                let values = values(kind, &mut draw);
                let ids = values.iter().filter_map(|value| match value {
                    Value::UInt(id) => Some(*id),
                    _ => None,
                });
                assert!(
                    ids.into_iter().all(|id| (1..1100).contains(&id)),
                    "{kind:?}"
                );
            }
        }
        let deleted = values(Delete, &mut draw);
        let inserted = values(Insert, &mut draw);
        assert_eq!(deleted[0], inserted[0]);
        let range = values(SumRange, &mut draw);
        let (Value::UInt(first), Value::UInt(last)) = (&range[0], &range[1]) else {
            panic!("{range:?}");
        };
        assert_eq!(last - first, 99);
    }

    #[test]
    fn texts_look_like_sysbench_s() {
        let mut random = Random::new(2);
        let mut draw = Draw {
            random: &mut random,
            rows: 1,
            deleted: 0,
        };
        let c = draw.c();
        assert_eq!((c.len(), draw.pad().len()), (119, 59));
        for (i, byte) in c.iter().enumerate() {
            assert_eq!(*byte == b'-', i % 12 == 11, "{i}");
            assert!(*byte == b'-' || byte.is_ascii_digit());
        }
    }

    #[test]
    fn what_was_not_prepared_is_text() {
        let mut random = Random::new(3);
        let mut draw = Draw {
            random: &mut random,
            rows: 1,
            deleted: 0,
        };
        let mut out = Writer::new();
        Begin.put(&mut out, None, &mut draw);
        assert_eq!(Frames(&out.buffer).next(), Some((0, &b"\x03BEGIN"[..])));
    }
}

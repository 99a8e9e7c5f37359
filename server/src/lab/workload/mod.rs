//! What the clients do: sysbench's OLTP scripts, under their names, and what some experiments have of their own.
//!
//! A workload is a list of statements that make one event. As with sysbench, every statement is
//! prepared once for each connection, ids are drawn uniformly, and what a server cannot prepare
//! (BEGIN, on some) is sent as text.

mod draw;
mod statement;

pub use draw::Draw;
pub use statement::{MEMBER_GROUPS, MEMBERS_MAX, PARENTS, Statement, WIDTHS, groups};

use Statement::{
    Begin, Commit, Delete, DistinctRange, IndexUpdate, Insert, InsertNew, NonIndexUpdate,
    OrderRange, PointSelect, SimpleRange, SumRange,
};

/// A list of statements under a name.
#[derive(Debug, PartialEq, Eq)]
pub struct Workload {
    /// sysbench's name of the script; `_trx` if it is that with a transaction around.
    pub name: &'static str,
    /// One event.
    pub statements: &'static [Statement],
}

/// What an event of `oltp_read_only` reads.
const READS: [Statement; 14] = [
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
];
/// What an event of `oltp_write_only` changes.
const WRITES: [Statement; 4] = [IndexUpdate, NonIndexUpdate, Delete, Insert];

/// sysbench's workloads.
pub static WORKLOADS: [&Workload; 9] = [
    &POINT_SELECT,
    &UPDATE_NON_INDEX,
    &UPDATE_NON_INDEX_TRX,
    &READ_WRITE,
    &READ_ONLY,
    &WRITE_ONLY,
    &INSERT,
    &UPDATE_INDEX,
    &DELETE,
];

/// `oltp_point_select`.
pub static POINT_SELECT: Workload = Workload {
    name: "oltp_point_select",
    statements: &[PointSelect],
};
/// `oltp_update_non_index`.
pub static UPDATE_NON_INDEX: Workload = Workload {
    name: "oltp_update_non_index",
    statements: &[NonIndexUpdate],
};
/// `oltp_update_non_index_trx`.
pub static UPDATE_NON_INDEX_TRX: Workload = Workload {
    name: "oltp_update_non_index_trx",
    statements: &[Begin, NonIndexUpdate, Commit],
};
/// `oltp_read_write`.
pub static READ_WRITE: Workload = Workload {
    name: "oltp_read_write",
    statements: &transaction::<20>(&[&READS, &WRITES]),
};
/// `oltp_read_only`.
pub static READ_ONLY: Workload = Workload {
    name: "oltp_read_only",
    statements: &transaction::<16>(&[&READS]),
};
/// `oltp_write_only`.
pub static WRITE_ONLY: Workload = Workload {
    name: "oltp_write_only",
    statements: &transaction::<6>(&[&WRITES]),
};
/// `oltp_insert`.
pub static INSERT: Workload = Workload {
    name: "oltp_insert",
    statements: &[InsertNew],
};
/// `oltp_update_index`.
pub static UPDATE_INDEX: Workload = Workload {
    name: "oltp_update_index",
    statements: &[IndexUpdate],
};
/// `oltp_delete`.
pub static DELETE: Workload = Workload {
    name: "oltp_delete",
    statements: &[Delete],
};

/// These statements, in a transaction.
const fn transaction<const N: usize>(parts: &[&[Statement]]) -> [Statement; N] {
    let mut all = [Begin; N];
    let (mut end, mut part) = (1, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            all[end] = parts[part][i];
            (end, i) = (end + 1, i + 1);
        }
        part += 1;
    }
    assert!(end == N - 1);
    all[end] = Commit;
    all
}

impl Workload {
    /// The workload of a name.
    pub fn named(name: &str) -> Result<&'static Workload, String> {
        let found = WORKLOADS.iter().find(|workload| workload.name == name);
        found.copied().ok_or_else(|| {
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
    use crate::lab::random::Random;
    use cohort_engine::types::Value;
    use cohort_mysql::packet::Writer;
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
        for workload in WORKLOADS {
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
    fn transactions_are_sysbench_s() {
        let read_write = Workload::named("oltp_read_write").unwrap().statements;
        assert_eq!(read_write[..2], [Begin, PointSelect]);
        assert_eq!(
            read_write[14..],
            [
                DistinctRange,
                IndexUpdate,
                NonIndexUpdate,
                Delete,
                Insert,
                Commit
            ]
        );
        assert_eq!(
            Workload::named("oltp_write_only").unwrap().statements.len(),
            6
        );
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
        let mut out = Writer::new();
        PointSelect.put(&mut out, None, &mut draw);
        let text = b"\x03SELECT c FROM sbtest1 WHERE id=1";
        assert_eq!(Frames(&out.buffer).next(), Some((0, &text[..])));
        let mut out = Writer::new();
        Statement::InsertRelated.put(&mut out, None, &mut draw);
        let (_, text) = Frames(&out.buffer).next().unwrap();
        let text = std::str::from_utf8(text).unwrap();
        assert!(
            !text.contains('?') && text.ends_with("\"a name\"}')"),
            "{text}"
        );
    }
}

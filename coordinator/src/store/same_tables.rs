//! The tables in memory, which models of the coordinator use, do what the real ones do.

use super::{
    connection::{Answer, Committed, Connection},
    embedded::Embedded,
    hasten,
    history::{self, Operated},
    leases, rows, schema,
};
use crate::{
    decide::Transaction,
    model::{Branch, BranchStatus, CopyOnWrite, Global, Micros, Pattern, Status, Timing},
    plan,
};
use cohort_coordinator_core::{
    outside::{By, Claimed, Seen},
    tables::{self, Tables},
};
use cohort_engine::{env::fake::Noise, types::Value};
use cohort_sql::SqlError;

/// Coordinators that share one connection.
struct Shared {
    inner: Embedded,
    me: u64,
}

impl Connection for Shared {
    fn owner(&self) -> u64 {
        self.me
    }
    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError> {
        self.inner.run(sql, params)
    }
    fn begin(&mut self) -> Result<(), SqlError> {
        self.inner.begin()
    }
    fn commit(&mut self) -> Result<Committed, SqlError> {
        self.inner.commit()
    }
    fn rollback(&mut self) {
        self.inner.rollback();
    }
}

const GID: &str = "g";

fn new(pattern: Pattern, status: Status, now: Micros) -> Transaction {
    let steps = r#"[{"action":"a","compensate":"b"},{"action":"c","compensate":"d"}]"#;
    let payloads = r#"["{}","{}"]"#;
    let planned = plan::read(pattern, steps, payloads);
    let global = Global {
        steps: steps.into(),
        payloads: planned.as_ref().map_or("", |_| payloads).into(),
        ..Global::new(GID, pattern, status, now)
    };
    Transaction::new(global, planned.unwrap_or_default())
}

/// Something that may happen to a branch.
fn change_branch(branch: &mut Branch, noise: &mut Noise, now: Micros) {
    match noise.below(5) {
        0 | 1 => {
            branch.attempts += 1;
            branch.status = BranchStatus::Succeed;
            branch.ended = Some(now);
            if branch.attempts == 1 {
                branch.only_call = Some(Timing {
                    started: now,
                    duration_us: 5,
                });
            }
        }
        2 => {
            branch.attempts += 1;
            branch.errors += 1;
            branch.last_error = "e".into();
            branch.not_before = now + noise.below(4_000_000);
            branch.interval = 7;
            branch.failing_since = Some(now);
        }
        3 => branch.answer = "42".into(),
        _ => {}
    }
}

fn changed(before: &Transaction, noise: &mut Noise, now: Micros) -> Transaction {
    const STATUSES: [Status; 6] = [
        Status::Prepared,
        Status::Submitted,
        Status::Submitted,
        Status::Aborting,
        Status::Succeed,
        Status::Failed,
    ];
    let mut after = before.clone();
    if noise.one_in(3) {
        after.global.status = STATUSES[noise.below(6) as usize];
    }
    after.global.retry_count += noise.below(2);
    after.global.next_run = now + noise.below(100);
    after.global.is_exact |= noise.one_in(4);
    if noise.one_in(8) {
        after.global.created = now;
    }
    if noise.one_in(4) {
        after.global.rollback_reason = "because".into();
        after.global.finished = Some(now);
        after.global.dead_since = Some(now);
    }
    for branch in &mut after.branches {
        if noise.one_in(3) {
            change_branch(branch, noise, now);
        }
    }
    after
}

/// As far as both kinds of tables know it.
fn comparable(found: Option<Transaction>) -> Option<Transaction> {
    let mut found = found?;
    found.global.id = 0;
    found.global.updated = 0;
    if found.global.status.is_final() {
        found.global.next_run = 0;
    }
    Some(found)
}

fn kind(claimed: &Claimed) -> String {
    match claimed {
        Claimed::Ours(_) => "ours".into(),
        Claimed::Kept(_) => "kept".into(),
        Claimed::Ended(_) => "ended".into(),
        Claimed::Others(owner) => format!("of {owner}"),
        Claimed::Missing => "missing".into(),
    }
}

fn operated() -> Operated {
    Operated {
        time: 1,
        operator: "o".into(),
        operation: "pause".into(),
        branch_id: String::new(),
        op: String::new(),
        from: String::new(),
        to: String::new(),
        reason: String::new(),
    }
}

/// One transaction's life; `is_shared`: with several coordinators.
fn live(connection: &mut Shared, noise: &mut Noise, is_shared: bool) -> Result<(), SqlError> {
    let mut memory = Tables::default();
    connection.run("DELETE FROM global_transactions", &[])?;
    connection.run("DELETE FROM branches", &[])?;
    connection.run("DELETE FROM operations", &[])?;
    connection.run("DELETE FROM coordinators", &[])?;
    for id in 1..=3 {
        leases::register(connection, id, "")?;
    }
    let mut seen: Vec<Transaction> = Vec::new();
    let mut by_hand = (0, 0);
    for step in 1..40 {
        let now = 1_000_000 * step;
        connection.me = if is_shared { 1 + noise.below(3) } else { 0 };
        let me = connection.me;
        let some = seen.get(noise.below(seen.len() as u64) as usize).cloned();
        let did = noise.below(10);
        match (did, some) {
            (0 | 1, _) => {
                let pattern = Pattern::ALL[noise.below(5) as usize];
                let status = [Status::Prepared, Status::Submitted][noise.below(2) as usize];
                let (new, is_driven) = (new(pattern, status, now), noise.one_in(2));
                let real = rows::insert(connection, &new, is_driven)?;
                assert_eq!(memory.insert(me, &new, is_driven), real);
            }
            (2..=5, Some(before)) => {
                const ALL: [By; 4] = [By::Driver, By::Leaver, By::Client, By::Operator];
                let by = ALL[noise.below(4) as usize];
                let after = changed(&before, noise, now);
                let real = rows::save(connection, by, &before, &after, &[], now)?;
                assert_eq!(memory.save(me, by, (&before, &after), now), real, "{by:?}");
                seen.push(after);
            }
            (6, _) if noise.one_in(3) => {
                let real = history::pause(connection, GID, now, &operated())?;
                assert_eq!(memory.pause(GID, now), real);
            }
            (6, Some(before)) => {
                let mut after = before.clone();
                after.global.paused_since = [None, Some(now)][noise.below(2) as usize];
                let real = history::operate(connection, &before, &after, &operated(), now)?;
                assert_eq!(memory.operate(me, (&before, &after), now), real);
            }
            (7, _) if is_shared => {
                let real = leases::claim(connection, GID)?;
                assert_eq!(kind(&memory.claim(me, GID)), kind(&real));
                if noise.one_in(4) {
                    let (id, beat) = (1 + noise.below(3), 0);
                    leases::bury(connection, &[Seen { id, beat }])?;
                    memory.bury(id);
                }
            }
            (8, _) => {
                let pause = noise.below(20) * 100_000;
                hasten::hasten(connection, GID, pause, now)?;
                memory.hasten(GID, pause, now);
            }
            (9, _) => {
                let pattern = [Pattern::Tcc, Pattern::Workflow][noise.below(2) as usize];
                let id = plan::branch_id(noise.below(3) as usize);
                let branch = Branch::new(&id, "confirm", "u", b"x".to_vec());
                let copies = [CopyOnWrite::new(branch.clone())];
                let real = rows::register(connection, GID, pattern, &copies, now)?;
                let real = match real {
                    rows::Registered::Yes => tables::Registered::Yes,
                    rows::Registered::Duplicate => tables::Registered::Duplicate,
                    _ => tables::Registered::NoTransaction,
                };
                assert_eq!(memory.register(GID, pattern, vec![branch]), real);
            }
            _ => {}
        }
        let real = comparable(rows::load(connection, GID)?);
        assert_eq!(comparable(memory.load(GID)), real, "step {step}, {did}");
        seen.extend(rows::load(connection, GID)?);
        let after = (history::by_hand(connection, GID)?, memory.by_hand(GID));
        assert_eq!(
            after.0 != by_hand.0,
            after.1 != by_hand.1,
            "step {step}, {did}"
        );
        by_hand = after;
    }
    Ok(())
}

#[test]
fn tables_in_memory_do_what_the_real_ones_do() {
    let inner = schema::tests::connection();
    let mut connection = Shared { inner, me: 0 };
    schema::create(&mut connection, true).expect("tables");
    for seed in 0..60 {
        let mut noise = Noise::new(seed);
        let lived = live(&mut connection, &mut noise, seed % 2 == 0);
        lived.unwrap_or_else(|error| panic!("seed {seed}: {error:?}"));
    }
}

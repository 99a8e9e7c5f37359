//! What the golden scripts (`tests/golden/ddl_*.sql`) cannot show.

use super::*;
use crate::{
    command::Cursor,
    expr::{SqlMode, TimeZone},
    lexer::Mode,
    warnings::Level,
};
use cohort_engine::{
    env::fake::Disk,
    txn::{EngineOptions, Others, Unattended},
    types::{Column, ColumnType},
};
use std::path::Path;

struct Bench {
    engine: Arc<Engine>,
    owner: Arc<Owner>,
    warnings: Warnings,
}

impl Bench {
    fn new() -> Bench {
        let options = EngineOptions {
            quiet_checkpoint_ms: u64::MAX,
            base_cache_bytes: 1 << 20,
            log_preallocate_bytes: 32 << 10,
            ..EngineOptions::default()
        };
        let env = Disk::new(1).env();
        let engine = Engine::open(&env, Path::new("/data"), options, &mut |_| {}).unwrap();
        let mut bench = Bench {
            engine: Arc::new(engine),
            owner: Owner::new(1, Arc::new(Unattended)),
            warnings: Warnings::default(),
        };
        bench.run("CREATE DATABASE ddl").unwrap();
        bench
    }

    fn run(&mut self, sql: &str) -> Result<Done, SqlError> {
        self.warnings.clear(64, true);
        let mut cursor = Cursor::new(sql.as_bytes(), Mode::default());
        let statement = parse(&mut cursor)?.expect("a schema change");
        let session = expr::Statement {
            database: Some("ddl"),
            ..expr::Statement::of_test()
        };
        let mut ctx = DdlContext {
            engine: &self.engine,
            owner: &self.owner,
            session: &session,
            reading: &cohort_engine::log::Reading::default(),
            account: ("root", "localhost"),
            host: "localhost",
            rights: &crate::rights::Rights::unlimited(),
            collation: Collation::Utf8mb40900AiCi,
            primary_key_required: false,
            foreign_key_checks: true,
            threads: 1,
            auto_increment: Default::default(),
            parents_unique: true,
            strict_options: true,
            lock_wait_ms: 1000,
            locks: None,
            fulltext: Default::default(),
            warnings: &mut self.warnings,
        };
        execute(&statement, sql, &mut ctx)
    }
}

#[test]
fn what_is_shown_makes_the_same_table() {
    /// The columns, but for what was said although it is the default.
    fn columns(table: &Table) -> Vec<Column> {
        let mut columns = table.columns.clone();
        for column in &mut columns {
            column.explicit_collation = false;
            let shown = column.zerofill || column.ty == ColumnType::TinyInt;
            let width = column.display_width.unwrap_or(column.default_width());
            column.display_width = shown.then_some(width);
        }
        columns
    }
    let mut bench = Bench::new();
    let script = include_str!("../../tests/golden/ddl_create.sql");
    for line in script.lines() {
        if line.starts_with("CREATE TABLE") {
            let _ = bench.run(line.trim_end_matches(';'));
        }
    }
    bench.run("CREATE DATABASE again").unwrap();
    let dictionary = bench.engine.dictionary();
    assert!(dictionary.tables("ddl").count() > 10);
    for table in dictionary.tables("ddl") {
        let shown = show_create_table(table, None, SqlMode::DEFAULT, TimeZone::default());
        let sql = shown.replacen("CREATE TABLE ", "CREATE TABLE again.", 1);
        bench
            .run(&sql)
            .unwrap_or_else(|error| panic!("{error} in {sql}"));
        let dictionary = bench.engine.dictionary();
        let copy = dictionary.table("again", &table.name).unwrap();
        assert_eq!(columns(copy), columns(table));
        let keys = |text: &str| text.split_once("KEY").map(|(_, keys)| keys.to_string());
        assert_eq!(
            keys(&show_create_table(
                copy,
                None,
                SqlMode::DEFAULT,
                TimeZone::default()
            )),
            keys(&shown)
        );
    }
}

#[test]
fn other_engines_of_mysql_are_replaced_with_a_warning() {
    let mut bench = Bench::new();
    for sql in [
        "CREATE TABLE e (a INT) ENGINE=MyISAM",
        "ALTER TABLE e ENGINE 'memory'",
    ] {
        bench.run(sql).unwrap();
        let warnings = bench.warnings.list();
        let told: Vec<u16> = warnings.iter().map(|warning| warning.error.code).collect();
        assert_eq!(told, [1266], "{sql}");
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let mut bench = Bench::new();
    for (sql, what) in [
        ("CREATE TABLE e (a VECTOR)", "type VECTOR"),
        ("CREATE TABLE e (a POINT)", "type POINT"),
        (
            "CREATE TABLE e (a INT, b INT AS (DEFAULT(a)))",
            "DEFAULT() in table definitions",
        ),
        (
            "CREATE TABLE e (a INT, g INT AS (a), b INT DEFAULT (g + 1))",
            "generated columns in DEFAULT expressions: g",
        ),
        (
            "CREATE TABLE e (a INT) PARTITION BY HASH (a)",
            "PARTITION BY",
        ),
        (
            "CREATE TABLE e (a INT) ENGINE=Blackhole",
            "ENGINE=Blackhole",
        ),
        (
            "CREATE TABLE e (a CHAR(1) COLLATE latin1_german2_ci)",
            "collation latin1_german2_ci",
        ),
        (
            "CREATE TABLE e (a ENUM('日') CHARACTER SET latin1)",
            "a member '日' that latin1 does not have",
        ),
    ] {
        let error = bench.run(sql).unwrap_err();
        assert_eq!(error.code, 1235, "{sql}: {error}");
        assert!(
            error.message.contains(&format!("'{what}'")),
            "{sql}: {error}"
        );
    }
    assert_eq!(bench.engine.dictionary().tables("ddl").count(), 0);
}

#[test]
fn indexes_keep_their_trees_when_rows_stay() {
    let mut bench = Bench::new();
    bench
        .run("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(5), c INT, KEY b (b), KEY c (c))")
        .unwrap();
    let table = |bench: &Bench| Table::clone(bench.engine.dictionary().table("ddl", "t").unwrap());
    let before = table(&bench);
    bench
        .run("ALTER TABLE t MODIFY b VARCHAR(9), RENAME INDEX c TO d, ADD KEY e (b, c)")
        .unwrap();
    let after = table(&bench);
    assert_eq!((before.id, before.rows), (after.id, after.rows));
    let trees = |table: &Table| {
        table
            .indexes
            .iter()
            .map(|index| index.tree)
            .collect::<Vec<_>>()
    };
    assert_eq!(trees(&before), trees(&after)[..2]);
    bench.run("ALTER TABLE t MODIFY b VARCHAR(90)").unwrap();
    assert_ne!(table(&bench).id, after.id);
}

#[test]
fn a_change_made_meanwhile_is_not_lost() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a INT)").unwrap();
    let stale = Arc::clone(bench.engine.dictionary().table("ddl", "t").unwrap());
    bench.run("ALTER TABLE t COMMENT 'first'").unwrap();
    let mut new = Table::clone(&stale);
    new.comment = "second".into();
    let statement = DdlStatement {
        database: "ddl".into(),
        text: "ALTER TABLE t COMMENT 'second'".into(),
        reading: cohort_engine::log::Reading::default(),
        foreign_key_checks: true,
        threads: 1,
    };
    let change = SchemaChange::AlterInPlace {
        old: stale,
        new,
        others: Others::Write,
    };
    let refused = bench.engine.change_schema(
        &bench.owner,
        change,
        &Related::default(),
        &statement,
        1000,
        None,
    );
    assert!(
        matches!(refused, Err(TxnError::TableChanged)),
        "{refused:?}"
    );
}

#[test]
fn notes_are_notes() {
    let mut bench = Bench::new();
    bench.run("DROP TABLE IF EXISTS t").unwrap();
    let levels: Vec<Level> = bench.warnings.list().iter().map(|c| c.level).collect();
    assert_eq!(levels, [Level::Note]);
}

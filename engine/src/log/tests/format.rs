//! The bytes: against MySQL's own, and with MySQL's own tool.

use super::*;
use crate::{
    log::{
        event::{Event, table_map},
        seal,
    },
    types::Members,
};
use std::process::Command;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

fn text_column(name: &str, ty: ColumnType, collation: Collation, nullable: bool) -> Column {
    Column {
        collation,
        nullable,
        ..Column::new(name, ty)
    }
}

/// The TABLE_MAP event that MySQL 9.7 writes (binlog_row_metadata=FULL) for
/// `CREATE TABLE logref.p (a TEXT, b INT, c INT, PRIMARY KEY (c, a(10)))`.
#[test]
fn a_table_map_is_mysqls_to_the_byte() {
    let wanted = hex("1713026b 13 01000000 4a000000 d60c0000 0000
         710000000000 0100 06 6c6f6772656600 017000 03 fc0303 01 02 02
         010100 0203fcff00 0406016101620163 090402 00000a 0c01e0 07cd1bca");
    let text = Collation::Utf8mb40900AiCi;
    let mut table = Table {
        id: 113,
        database: "logref".into(),
        name: "p".into(),
        columns: vec![
            text_column("a", ColumnType::Text(2), text, false),
            text_column("b", ColumnType::Int, Collation::Binary, true),
            text_column("c", ColumnType::Int, Collation::Binary, false),
        ],
        ..super::table(113)
    };
    let part = |column, prefix| IndexPart {
        column,
        prefix,
        desc: false,
        trimmed: false,
    };
    table.primary.as_mut().unwrap().parts = vec![part(2, None), part(0, Some(10))];
    let mut bytes = Vec::new();
    table_map(&mut bytes, &table);
    seal::events(&mut bytes, 0xc8c, 0x6b02_1317, 1);
    assert_eq!(bytes, wanted);
    assert!(Event::parse(&bytes, 0xc8c).is_ok());
}

/// As `logref.t` in MySQL 9.7: every type, and collations that are shorter as a list.
#[test]
fn metadata_of_all_types_is_mysqls() {
    let (text, bytes) = (Collation::Utf8mb40900AiCi, Collation::Binary);
    let unsigned = |name, ty| Column {
        unsigned: true,
        ..Column::new(name, ty)
    };
    let mut id = unsigned("id", ColumnType::Int);
    id.nullable = false;
    let table = Table {
        id: 111,
        database: "logref".into(),
        name: "t".into(),
        columns: vec![
            id,
            text_column("a", ColumnType::VarChar(40), text, false),
            text_column("b", ColumnType::Char(100), text, true),
            text_column("c", ColumnType::Text(2), Collation::Utf8mb4Bin, true),
            Column::new(
                "d",
                ColumnType::Decimal {
                    precision: 10,
                    scale: 2,
                },
            ),
            Column::new("e", ColumnType::DateTime(3)),
            text_column("f", ColumnType::Text(2), bytes, true),
            text_column("g", ColumnType::VarChar(300), bytes, true),
            text_column("h", ColumnType::Char(5), bytes, true),
            Column::new("i", ColumnType::Timestamp(0)),
            Column::new("j", ColumnType::Double),
            unsigned("k", ColumnType::Float),
            unsigned("l", ColumnType::BigInt),
            Column::new("y", ColumnType::Year),
            Column::new("z", ColumnType::Time(2)),
            Column::new("tt", ColumnType::TinyInt),
        ],
        ..super::table(111)
    };
    let mut event = Vec::new();
    table_map(&mut event, &table);
    seal::events(&mut event, 4, 0, 1);
    let body = Event::parse(&event, 4).unwrap().body;
    // But for length and collation of `b` (MySQL's was a CHAR(20) in latin1).
    let wanted = hex("6f0000000000 0100 066c6f6772656600 017400
         10 030ffefcf612fc0ffe110504080d1301
         11 a000 ee90 02 0a02 03 02 2c01 fe05 00 08 04 02 fcff
         01019c 030a fcff00 fcff00 2e 3f 3f 3f");
    assert_eq!(&body[..wanted.len()], wanted);
    assert!(body.ends_with(&hex("0c02ffff")));
}

/// A table of an ENUM and two SETs.
fn member_table() -> Table {
    let column = |name, ty, collation, members: &[&str]| Column {
        collation,
        members: Members::new(members.iter().map(ToString::to_string).collect()),
        ..Column::new(name, ty)
    };
    let (text, bin) = (Collation::Utf8mb40900AiCi, Collation::Utf8mb4Bin);
    Table {
        name: "members".into(),
        columns: vec![
            column("e", ColumnType::Enum(1), text, &["no", "it's"]),
            column("s", ColumnType::Set(1), bin, &["x", "y", "z"]),
            column("t", ColumnType::Set(1), text, &["q"]),
        ],
        primary: None,
        ..super::table(3)
    }
}

/// What MySQL's mysqlbinlog makes of the files. Needs the tool: COHORT_MYSQLBINLOG or the PATH.
#[test]
fn mysqlbinlog_decodes_the_files() {
    let tool = std::env::var("COHORT_MYSQLBINLOG").unwrap_or("mysqlbinlog".into());
    let version = Command::new(&tool).arg("--version").output();
    let is_mysql = version.is_ok_and(|out| {
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        !text.contains("MariaDB") && (text.contains("Ver 9.") || text.contains("Ver 8."))
    });
    if !is_mysql {
        eprintln!("skipped: there is no mysqlbinlog of MySQL 8 or 9 (set COHORT_MYSQLBINLOG)");
        return;
    }
    let env = Env::real();
    let dir = std::env::temp_dir().join(format!("cohort-mysqlbinlog-{}", std::process::id()));
    let from = Known::default();
    let mut replay = InOrder(|_: &Replayed<'_>| ());
    let log = Log::open(&env, &dir, options(), from, &mut replay, &mut |_| ()).unwrap();
    let mut ddl = Batch::new("test", 1);
    ddl.internal(b"table", Some(&[0xff; 300]));
    ddl.query(
        "CREATE TABLE t1 (id INT PRIMARY KEY, data BLOB)",
        &Reading::default(),
    );
    commit(&log, ddl).unwrap();
    let mut rows = Batch::new("test", 1);
    for id in 0..100 {
        rows.insert(&table(1), &image(id, &[b'a'; 200]));
    }
    rows.update(&table(1), &image(1, b"before"), &image(1, b"after"));
    rows.delete(&table(2), &image(9, b"gone"));
    rows.insert(&member_table(), &[0b100, 2, 5]);
    commit(&log, rows).unwrap();
    let xid = crate::types::Xid::new(7, b"ab", b"c").unwrap();
    let mut prepared = Batch::prepared("test", 1, &xid);
    prepared.insert(&table(1), &image(500, b"later"));
    commit(&log, prepared).unwrap();
    commit(&log, Batch::outcome("test", 2, &xid, true)).unwrap();
    log.rotate().unwrap();
    commit(&log, insert(7, 10)).unwrap();
    let active = dir.join(log.files().last().unwrap().name());
    let print = |path: &Path| {
        let mut command = Command::new(&tool);
        command.args([
            "-vv",
            "--base64-output=decode-rows",
            "--print-table-metadata",
        ]);
        let out = command.arg("--verify-binlog-checksum").arg(path).output();
        let out = out.unwrap();
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        (String::from_utf8_lossy(&out.stdout).into_owned(), errors)
    };
    // While it is written to, it may end in zeros, but what is there is printed.
    assert!(print(&active).0.contains("@1=7"));
    let files = log.files();
    log.close().unwrap();
    let mut text = String::new();
    for file in files {
        let (out, errors) = print(&dir.join(file.name()));
        assert_eq!(errors, "", "{out}");
        text += &out;
    }
    std::fs::remove_dir_all(dir).unwrap();
    for wanted in [
        "GTID_NEXT= 'abababab-abab-abab-abab-abababababab:5'",
        "CREATE TABLE t1 (id INT PRIMARY KEY, data BLOB)",
        "Columns(`id` INT",
        "# Primary Key(id)",
        "# Columns(`e` ENUM(\'no\',\'it\\\'s\') CHARSET utf8mb4 COLLATE utf8mb4_0900_ai_ci,",
        "`s` SET(\'x\',\'y\',\'z\') CHARSET utf8mb4 COLLATE utf8mb4_bin,",
        "###   @2=5 /* SET(1 bytes)",
        "### UPDATE `test`.`t1`",
        "###   @2='before'",
        "### DELETE FROM `test`.`t2`",
        "XA START X'6162',X'63',7",
        "XA END X'6162',X'63',7",
        "XA PREPARE X'6162',X'63',7",
        "XA COMMIT X'6162',X'63',7",
        "last_committed=1\tsequence_number=2",
        "Rotate to binlog.000002  pos: 4",
        "Unrecognized ignorable event",
        "Stop",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in\n{text}");
    }
    assert_eq!(text.matches("### INSERT INTO `test`.`t1`").count(), 102);
}

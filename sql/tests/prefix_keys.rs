//! Indexes on the beginnings of texts: whatever is asked, they find what is found without them. (MySQL's
//! do not, so that it is no oracle here.) Letters that are several characters or several letters,
//! and characters without any weight, make the key of a beginning longer or shorter than that of
//! the text.

use cohort_engine::{
    env::fake::Disk,
    txn::{Engine, EngineOptions},
    types::Value,
};
use cohort_sql::{ColumnMeta, Done, Output, Session, text};
use std::{io, path::Path};

const COLLATIONS: [&str; 9] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_czech_ci",
    "utf8mb4_hu_0900_ai_ci",
    "utf8mb4_general_ci",
    "utf8mb4_bin",
    "latin1_swedish_ci",
];
const KEYS: [&str; 4] = ["k1", "k2", "k3", "kd"];
const LETTERS: [&str; 14] = [
    "a", "A", "ä", "ß", "s", "ss", "c", "h", "ch", "dz", "dzs", "z", " ", "\t",
];
/// Without weight: a combining accent, a soft hyphen.
const MARKS: [&str; 2] = ["\u{301}", "\u{ad}"];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
    /// A text, maybe with marks; one of these first only if the language has no letters of several
    /// characters: see docs/compatibility.md.
    fn word(&mut self, (marks, first): (bool, bool)) -> String {
        let mut word = String::new();
        for _ in 0..self.below(5) {
            word += LETTERS[self.below(LETTERS.len())];
            if marks && self.below(4) == 0 {
                word += MARKS[self.below(MARKS.len())];
            }
        }
        if first && self.below(8) == 0 {
            word.insert_str(0, MARKS[0]);
        }
        word
    }
}

#[derive(Default)]
struct Rows(Vec<String>);

impl Output for Rows {
    fn columns(&mut self, _: &[ColumnMeta]) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        let mut line = Vec::new();
        for value in row {
            text::put(value, 0, &mut line);
        }
        self.0.push(String::from_utf8_lossy(&line).into_owned());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> io::Result<()> {
        Ok(())
    }
}

fn run(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = Rows::default();
    let done = session.query(sql.as_bytes(), false, &mut rows);
    done.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    rows.0
}

fn conditions(random: &mut Random, marks: (bool, bool)) -> Vec<String> {
    let [a, b] = [random.word(marks), random.word(marks)];
    vec![
        format!("s = '{a}'"),
        format!("s = '{a}' AND id > 30"),
        format!("s IN ('{a}', '{b}')"),
        format!("s >= '{a}'"),
        format!("s < '{a}'"),
        format!("s <= CONCAT('\t', '{a}')"),
        format!("s BETWEEN LEAST('{a}', '{b}') AND GREATEST('{a}', '{b}')"),
        format!("s LIKE '{a}%'"),
        format!("s > '{a}' OR s = '{b}'"),
    ]
}

#[test]
fn they_find_what_is_found_without_them() {
    let disk = Disk::new(1);
    let options = EngineOptions::default();
    let engine = Engine::open(&disk.env(), Path::new("/p"), options, &mut |_| {});
    let mut session = Session::alone(engine.expect("a new data directory opens")).unwrap();
    run(&mut session, "CREATE DATABASE d");
    run(&mut session, "USE d");
    // A CHAR has no spaces at its end, and neither have its beginnings.
    let chars = [
        "utf8mb4_0900_ai_ci",
        "utf8mb4_0900_bin",
        "utf8mb4_0900_as_cs",
    ];
    let chars = chars.map(|collation| (collation, "CHAR"));
    let texts = COLLATIONS.map(|collation| (collation, "VARCHAR"));
    for (collation, ty) in texts.into_iter().chain(chars) {
        let mut random = Random(collation.len() as u64 * 977);
        let is_of_language = collation.contains("czech") || collation.contains("hu");
        let has_marks = !collation.starts_with("latin1");
        let marks = (has_marks, has_marks && !is_of_language);
        run(
            &mut session,
            &format!(
                "CREATE TABLE t (id INT PRIMARY KEY, s {ty}(60) COLLATE {collation}, KEY k1 (s(1)), \
                 KEY k2 (s(2), id), KEY k3 (s(3)), KEY kd (s(4) DESC))"
            ),
        );
        for id in 0..120 {
            let word = random.word(marks);
            run(
                &mut session,
                &format!("INSERT INTO t VALUES ({id}, '{word}')"),
            );
        }
        run(&mut session, "INSERT INTO t VALUES (1000, NULL)");
        let mut found = 0;
        for _ in 0..25 {
            for condition in conditions(&mut random, marks) {
                let asked =
                    |hint: &str| format!("SELECT id FROM t {hint} WHERE {condition} ORDER BY id");
                let expected = run(&mut session, &asked("IGNORE INDEX (k1, k2, k3, kd)"));
                found += expected.len();
                for key in KEYS {
                    let sql = asked(&format!("FORCE INDEX ({key})"));
                    assert_eq!(run(&mut session, &sql), expected, "{collation}: {sql}");
                }
            }
        }
        assert!(found > 500, "{collation}: hardly anything was found");
        let before = run(
            &mut session,
            "SELECT COUNT(*) FROM t WHERE s >= 'c' AND s < 'd'",
        );
        let deleted = "DELETE t FROM t FORCE INDEX (k1) WHERE s >= 'c' AND s < 'd'";
        run(&mut session, deleted);
        assert_eq!(
            run(&mut session, "SELECT ROW_COUNT()"),
            before,
            "{collation}"
        );
        run(&mut session, "DROP TABLE t");
    }
}

//! Whatever is asked of a table with many indexes is what is asked of one with the same rows and none:
//! conditions, DISTINCT, groups, changes, all at random, and what a transaction has not committed yet.

mod random;

use cohort_sql::Session;
use random::{Random, run, session};

const COLUMNS: &str = "p INT, q INT, a INT, b INT, c TINYINT NOT NULL, s VARCHAR(20), \
                       e ENUM('z','y','x'), d DECIMAL(6,1), u INT, PRIMARY KEY (p, q)";
const KEYS: &str = ", KEY (a), KEY (b), KEY (c, a), KEY (c, b DESC), KEY (s), KEY (e, d), KEY (d, s), \
                    KEY (a, b, c), UNIQUE KEY (u), KEY (s(2), a)";
/// So many rows that repeated entries are passed over where that pays.
const ROWS: usize = 2500;

impl Random {
    fn or_null(&mut self, value: String) -> String {
        match self.below(12) {
            0 => "NULL".to_owned(),
            _ => value,
        }
    }
    /// A value of a column.
    fn value(&mut self, column: &str) -> String {
        match column {
            "p" => self.below(50).to_string(),
            "q" => self.below(60).to_string(),
            "a" => self.below(120).to_string(),
            "b" => self.below(300).to_string(),
            "c" => self.below(6).to_string(),
            "s" => {
                let letters = ["a", "A", "ä", "b", "B", "c", "ab", " "];
                let word = self.one_of(&letters) + &self.one_of(&letters) + &self.one_of(&letters);
                format!("'{word}'")
            }
            "e" => format!("'{}'", self.one_of(&["z", "y", "x"])),
            "d" => format!("{}.{}", self.below(40) as i64 - 20, self.below(3)),
            _ => self.below(2 * ROWS).to_string(),
        }
    }
    fn comparison(&mut self) -> String {
        let column = self.one_of(&["p", "q", "a", "a", "b", "b", "c", "s", "e", "d", "u"]);
        let mut value = || self.value(&column);
        let (one, other, third) = (value(), value(), value());
        match self.below(10) {
            0..5 => format!("{column} = {one}"),
            5 => format!("{column} IN ({one}, {other}, {third})"),
            6 if column != "e" => format!("{column} BETWEEN LEAST({one}, {other}) AND {other}"),
            7 if column != "e" => format!("{column} > {one}"),
            8 => format!("{column} IS NULL"),
            _ => format!("{column} <=> {one}"),
        }
    }
    fn condition(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.comparison();
        }
        let [left, right] = [self.condition(depth - 1), self.condition(depth - 1)];
        match self.below(5) {
            0..3 => format!("({left} OR {right})"),
            3 => format!("({left} AND {right})"),
            _ => left,
        }
    }
    fn filter(&mut self) -> String {
        let depth = self.below(4);
        format!("WHERE {}", self.condition(depth))
    }
    /// A query whose answer does not depend on how it is found, of the table `$`.
    fn query(&mut self) -> String {
        let keys = [
            "a", "b", "c", "s", "e", "d", "c, a", "e, d", "d, s", "a, b", "p", "c, b", "a, c",
            "s, a",
        ];
        // With an index that goes on with the column whose end is wanted, or with any.
        let (of_group, end) = match self.below(6) {
            0 => ("c".to_owned(), "a".to_owned()),
            1 => ("e".to_owned(), "d".to_owned()),
            2 => ("p".to_owned(), "q".to_owned()),
            _ => {
                let ends = ["a", "b", "d", "u", "q", "e", "c"];
                (self.one_of(&keys), self.one_of(&ends))
            }
        };
        // As values of a group some texts stand for others that are equal.
        let shown = of_group.replace('s', "REPLACE(UPPER(s), 'Ä', 'A')");
        let filter = match self.below(3) {
            0 => String::new(),
            1 => {
                let column = of_group.split(',').next().unwrap_or("c");
                format!("WHERE {column} > {}", self.value(column))
            }
            _ => self.filter(),
        };
        let set = self.one_of(&["MIN", "MAX"]);
        match self.below(12) {
            0..3 => {
                let locked = self.one_of(&["", "FOR UPDATE", "FOR SHARE"]);
                format!(
                    "SELECT p, q, a, b, c, s, e, d, u FROM $ {} {locked}",
                    self.filter()
                )
            }
            3 => format!("SELECT COUNT(*), SUM(d), MIN(u) FROM $ {}", self.filter()),
            4 => {
                let filter = self.filter();
                format!("SELECT p, q FROM $ {filter} ORDER BY d DESC, p, q LIMIT 7")
            }
            5 => format!("SELECT DISTINCT SHOWN FROM $ {filter}").replace("SHOWN", &shown),
            6 => format!("SELECT {shown}, {set}({end}) FROM $ {filter} GROUP BY {of_group}"),
            7 => {
                let other = self.one_of(&["COUNT(DISTINCT c)", "SUM(DISTINCT c)", "BIT_OR(c)"]);
                format!(
                    "SELECT MIN({end}), MAX({end}), {other} FROM $ {filter} GROUP BY {of_group}"
                )
            }
            8 => format!("SELECT COUNT(DISTINCT {of_group}) FROM $ {filter}"),
            _ => self.nested(),
        }
    }
    /// A query with a subquery that sees its rows.
    fn nested(&mut self) -> String {
        let pairs = [
            ("a", "b"),
            ("u", "a"),
            ("b", "u"),
            ("s", "s"),
            ("d", "d"),
            ("a", "u"),
        ];
        let (inner, outer) = pairs[self.below(pairs.len())];
        let join = format!("i.{inner} = o.{outer}");
        let filter = self.filter();
        let own = format!("o.p < {}", 4 * self.below(4));
        match self.below(4) {
            0 => format!(
                "SELECT p, q FROM $ o WHERE {own} AND EXISTS (SELECT 1 FROM $ i {filter} AND {join})"
            ),
            1 => format!(
                "SELECT p, q FROM $ o WHERE {own} AND NOT EXISTS (SELECT 1 FROM $ i {filter} AND {join})"
            ),
            2 => format!(
                "SELECT p, q, (SELECT SUM(c) FROM $ i {filter} AND {join}) FROM $ o WHERE {own}"
            ),
            _ => {
                let inner = format!("(SELECT * FROM $ {filter}) i");
                format!("SELECT COUNT(*), SUM(i.d) FROM $ o JOIN {inner} ON {join} AND i.c < 3")
            }
        }
    }
    /// A condition between two tables that no index and no hash table need serve.
    fn loose_join(&mut self) -> String {
        let pairs = [("a", "b"), ("u", "a"), ("b", "p"), ("c", "q"), ("d", "d")];
        let mut comparison = || {
            let (inner, outer) = pairs[self.below(pairs.len())];
            let op = self.one_of(&["=", "=", "<", ">", "<=>", "<>"]);
            let more = self.one_of(&["", " + 1", " * 2"]);
            format!("i.{inner} {op} o.{outer}{more}")
        };
        let (one, other) = (comparison(), comparison());
        match self.below(4) {
            0 => one,
            1 => format!("{one} AND i.c < {}", self.below(6)),
            2 => format!("i.a BETWEEN o.a AND o.a + {}", self.below(9)),
            _ => format!("({one} OR {other})"),
        }
    }
    /// A join of few rows with some.
    fn joined(&mut self) -> String {
        let (on, then) = (self.loose_join(), self.loose_join().replace("o.", "l."));
        let join = self.one_of(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "STRAIGHT_JOIN"]);
        let last = self.one_of(&["JOIN", "LEFT JOIN"]);
        let (few, some) = (self.below(3), 5 + self.below(8));
        let third = match self.below(3) {
            0 => format!("{last} $ l ON {then} AND l.p = {few}"),
            _ => String::new(),
        };
        format!(
            "SELECT o.p, o.q, i.p, i.q, i.s FROM $ o {join} $ i ON {on} AND i.p < {some} {third} \
             WHERE o.p = {few} AND o.q < 20"
        )
    }
    fn change(&mut self) -> String {
        let filter = self.filter();
        let column = self.one_of(&["a", "b", "c", "s", "d"]);
        match self.below(3) {
            0 => format!("DELETE FROM $ {filter}"),
            1 => format!("UPDATE $ SET {column} = {} {filter}", self.value(&column)),
            _ => format!("UPDATE $ SET a = a + 1, b = b - 1 {filter}"),
        }
    }
}

/// The same of both tables.
fn check(session: &mut Session, sql: &str) {
    let [mut with, mut without] = ["indexed", "plain"].map(|t| run(session, &sql.replace('$', t)));
    with.rows.sort();
    without.rows.sort();
    assert_eq!(with.affected, without.affected, "{sql}");
    assert_eq!(with.rows, without.rows, "{sql}");
}

/// How many of these ways are taken.
#[derive(Default)]
struct Ways {
    merged: usize,
    grouped: usize,
    deduplicated: usize,
}

impl Ways {
    fn note(&mut self, session: &mut Session, sql: &str) {
        let explained = format!("EXPLAIN FORMAT=TREE {}", sql.replace('$', "indexed"));
        let plan = run(session, &explained).rows.join("\n");
        self.merged +=
            usize::from(plan.contains("eduplicate rows") || plan.contains("-deduplicate by"));
        self.grouped += usize::from(plan.contains("skip scan for grouping"));
        self.deduplicated += usize::from(plan.contains("skip scan for deduplication"));
    }
}

fn fill(session: &mut Session, random: &mut Random, rows: usize) {
    let mut values = Vec::with_capacity(rows);
    for _ in 0..rows {
        let mut row = Vec::new();
        for column in ["p", "q", "a", "b", "c", "s", "e", "d", "u"] {
            let value = random.value(column);
            row.push(match column {
                "p" | "q" | "c" => value,
                _ => random.or_null(value),
            });
        }
        values.push(format!("({})", row.join(", ")));
    }
    // Both get the same: what one refuses for its UNIQUE key the other must not take.
    run(
        session,
        &format!("INSERT IGNORE INTO indexed VALUES {}", values.join(", ")),
    );
    run(session, "DELETE FROM plain");
    run(session, "INSERT INTO plain SELECT * FROM indexed");
}

#[test]
fn they_all_lead_to_the_same_rows() {
    let mut session = session();
    let mut ways = Ways::default();
    run(
        &mut session,
        &format!("CREATE TABLE indexed ({COLUMNS}{KEYS})"),
    );
    run(&mut session, &format!("CREATE TABLE plain ({COLUMNS})"));
    let mut random = Random(42);
    fill(&mut session, &mut random, ROWS);
    run(&mut session, "ANALYZE TABLE indexed, plain");
    for round in 0..14 {
        let level = random.one_of(&["READ COMMITTED", "REPEATABLE READ"]);
        run(
            &mut session,
            &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"),
        );
        run(&mut session, "BEGIN");
        for _ in 0..30 {
            let sql = random.query();
            ways.note(&mut session, &sql);
            check(&mut session, &sql);
        }
        for _ in 0..3 {
            let change = random.change();
            check(&mut session, &change);
            let query = random.query();
            check(&mut session, &query);
        }
        check(&mut session, "SELECT * FROM $");
        run(
            &mut session,
            if round % 3 == 2 { "COMMIT" } else { "ROLLBACK" },
        );
        if round % 3 == 2 {
            fill(&mut session, &mut random, ROWS / 2);
        }
    }
    assert!(ways.merged > 20, "{}", ways.merged);
    assert!(ways.grouped > 5, "{}", ways.grouped);
    assert!(ways.deduplicated > 2, "{}", ways.deduplicated);
}

/// One that wants its first rows soon keeps none, but where it looks for them in a hash table.
#[test]
fn rows_that_are_kept_are_those_that_are_read_again() {
    let mut session = session();
    run(
        &mut session,
        &format!("CREATE TABLE indexed ({COLUMNS}{KEYS})"),
    );
    run(&mut session, &format!("CREATE TABLE plain ({COLUMNS})"));
    let mut random = Random(7);
    fill(&mut session, &mut random, ROWS / 2);
    run(&mut session, "ANALYZE TABLE indexed, plain");
    let mut kept = 0;
    for _ in 0..150 {
        let sql = random.joined();
        for table in ["indexed", "plain"] {
            let sql = sql.replace('$', table);
            let mut as_it_is = run(&mut session, &sql).rows;
            let mut in_haste = run(&mut session, &format!("{sql} LIMIT 1000000000")).rows;
            as_it_is.sort();
            in_haste.sort();
            assert_eq!(as_it_is, in_haste, "{sql}");
            let explained = run(&mut session, &format!("EXPLAIN FORMAT=TREE {sql}"));
            kept += usize::from(explained.rows.join("\n").contains("join (no condition)"));
        }
    }
    assert!(kept > 50, "{kept}");
}

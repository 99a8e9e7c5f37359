//! What is asked of a derived table, view or common table expression is what is asked of its rows: whether
//! its tables are read in its place, conditions are pushed into it, or it is computed as it stands.

mod random;

use cohort_sql::Session;
use random::{Random, run, session};

/// A LIMIT that leaves out nothing: with it a text is computed as it stands.
const ALL: &str = "LIMIT 1000000000";
/// How texts are equal, whichever of several equal ones stands for a group.
const SHOWN: &str = "REPLACE(UPPER(x.s), 'Ä', 'A')";

impl Random {
    fn value(&mut self, column: &str) -> String {
        match column {
            "s" => format!("'{}'", self.one_of(&["a", "A", "ä", "b", "B ", "c", ""])),
            "d" => format!("DATE '2026-01-{:02}'", self.below(20) + 1),
            "a" => self.below(30).to_string(),
            _ => (self.below(12) as i64 - 2).to_string(),
        }
    }
    /// A condition on one of the columns that every text has, of a table of this name.
    fn comparison(&mut self, of: &str) -> String {
        let column = self.one_of(&["a", "a", "b", "c", "s", "d"]);
        let [one, other] = [self.value(&column), self.value(&column)];
        let column_of = format!("{of}{column}");
        match self.below(11) {
            0..4 => format!("{column_of} = {one}"),
            4 => format!("{column_of} IN ({one}, {other})"),
            5 => format!("{column_of} BETWEEN LEAST({one}, {other}) AND {other}"),
            6 => format!("{column_of} > {one}"),
            7 => format!("{column_of} <> {one}"),
            8 => format!("{column_of} IS NULL"),
            9 => format!("NOT {column_of} <=> {one}"),
            _ => format!("COALESCE({of}a, {of}b) < {}", self.value("a")),
        }
    }
    fn condition(&mut self, of: &str) -> String {
        let [one, other] = [self.comparison(of), self.comparison(of)];
        match self.below(4) {
            0 => format!("({one} OR {other})"),
            1 => format!("{one} AND {other}"),
            _ => one,
        }
    }
    fn filter(&mut self) -> String {
        match self.below(3) {
            0 => String::new(),
            _ => format!("WHERE {}", self.condition("")),
        }
    }
    /// A query with the columns a, b, c, s and d, with `$` where a LIMIT can stand.
    fn text(&mut self, depth: usize) -> String {
        let filter = self.filter();
        let table = self.one_of(&["t", "t", "k"]);
        let tail = format!("FROM {table} {filter}");
        match self.below(15) {
            11 => format!(
                "SELECT a, MIN(b) AS b, c, MIN(UPPER(s)) AS s, MAX(d) AS d {tail} GROUP BY a, c WITH ROLLUP $"
            ),
            // Columns that have other types in one of the operands.
            12 => format!(
                "SELECT a, b, c, s, d {tail} UNION ALL SELECT s, c + 0.5, c, a, '2026-01-07 12:00:00' FROM k $"
            ),
            0 | 1 => format!("SELECT a, b, c, s, d {tail} $"),
            2 => format!("SELECT b + 1 AS a, a AS b, -c AS c, CONCAT(s, '') AS s, d {tail} $"),
            3 => {
                let join = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
                let on = format!("t.b = k.a AND {}", self.condition("k."));
                format!("SELECT t.a, k.b, t.c, k.s, t.d FROM t {join} k ON {on} $")
            }
            4 => {
                let having = self.one_of(&["", "HAVING COUNT(*) > 1", "HAVING c > 2"]);
                let keys = self.one_of(&["a, c, d", "c, d, a", "a, c, d"]);
                format!(
                    "SELECT a, SUM(b) AS b, c, MIN(UPPER(s)) AS s, d {tail} GROUP BY {keys} {having} $"
                )
            }
            5 => format!(
                "SELECT MIN(a) AS a, COUNT(*) AS b, MAX(c) AS c, s, MIN(d) AS d {tail} GROUP BY s $"
            ),
            6 => format!(
                "SELECT MIN(a) AS a, b + c AS b, MAX(c) AS c, MIN(UPPER(s)) AS s, d {tail} GROUP BY b + c, d $"
            ),
            7 => format!("SELECT DISTINCT a, b, c, s, d {tail} $"),
            8 => {
                let all = self.one_of(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
                let second = self.one_of(&["a, b, c, s, d", "b, a, 3, 'a', d", "c, b, a, s, NULL"]);
                let filter = self.filter();
                format!("SELECT a, b, c, s, d {tail} {all} SELECT {second} FROM k {filter} $")
            }
            9 => {
                let by = self.one_of(&["a", "c, a", "s"]);
                let call = self.one_of(&[
                    "ROW_NUMBER() OVER (PARTITION BY $$ ORDER BY p)",
                    "SUM(b) OVER (PARTITION BY $$)",
                ]);
                let call = call.replace("$$", &by);
                format!("SELECT a, {call} AS b, c, s, d {tail} $")
            }
            10 => {
                let by = self.one_of(&["a", "c, a"]);
                format!(
                    "SELECT a, SUM(b) OVER (PARTITION BY {by}) AS b, SUM(c) OVER (PARTITION BY a ORDER BY p) AS c, s, d {tail} $"
                )
            }
            _ if depth > 0 => {
                let inner = self.text(depth - 1);
                let outer = self.filter();
                let list = self.one_of(&["*", "y.*", "a, b, c, s, d", "y.a, b, c, y.s, d"]);
                match self.below(3) {
                    0 => format!("WITH y AS ({inner}) SELECT {list} FROM y {outer} $"),
                    1 => format!(
                        "SELECT y.a, z.b, z.c, y.s, z.d FROM ({inner}) y JOIN t z ON z.a = y.a $"
                    ),
                    _ => format!("SELECT {list} FROM ({inner}) y {outer} $"),
                }
            }
            _ => format!("SELECT a, b, c, s, d {tail} ORDER BY a DESC $"),
        }
    }
    /// A query that reads a text as `x`; `#` stands for what it does so by.
    fn query(&mut self) -> String {
        let condition = self.condition("x.");
        let join = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
        match self.below(9) {
            0 | 1 => format!("SELECT x.a, x.b, x.c, {SHOWN}, x.d FROM # WHERE {condition}"),
            2 => format!("SELECT COUNT(*), SUM(x.b), MAX(x.d) FROM # WHERE {condition}"),
            3 => format!("SELECT x.a, COUNT(*), SUM(x.c) FROM # WHERE {condition} GROUP BY x.a"),
            4 => format!(
                "SELECT o.p, x.b, {SHOWN} FROM t o {join} # ON o.a = x.a AND {condition} WHERE o.p < 40 OR o.p IS NULL"
            ),
            5 => format!(
                "SELECT o.p, x.a FROM k o LEFT JOIN # ON o.b = x.b WHERE o.p < 30 AND {condition}"
            ),
            6 => format!(
                "SELECT p FROM t WHERE p < 200 AND a IN (SELECT x.a FROM # WHERE {condition})"
            ),
            7 => format!(
                "SELECT p, (SELECT COUNT(*) FROM # WHERE x.b = o.b AND {condition}) FROM k o WHERE o.p < 15"
            ),
            _ => format!(
                "SELECT DISTINCT {SHOWN}, x.c FROM # JOIN k o ON o.c = x.c AND o.a = 3 WHERE {condition}"
            ),
        }
    }
}

fn rows(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = run(session, sql).rows;
    rows.sort();
    rows
}

fn fill(session: &mut Session, random: &mut Random, table: &str, rows: usize) {
    run(
        session,
        &format!(
            "CREATE TABLE {table} (p INT PRIMARY KEY, a INT, b INT, c INT NOT NULL, s VARCHAR(9), d DATE, \
             KEY (a, c), KEY (s), KEY (d, a))"
        ),
    );
    let row = |p: usize, random: &mut Random| {
        let mut or_null = |column: &str| match random.below(9) {
            0 => "NULL".to_owned(),
            _ => random.value(column),
        };
        let [a, b, s, d] = ["a", "b", "s", "d"].map(&mut or_null);
        format!("({p}, {a}, {b}, {}, {s}, {d})", random.value("c"))
    };
    let values: Vec<String> = (0..rows).map(|p| row(p, random)).collect();
    run(
        session,
        &format!("INSERT INTO {table} VALUES {}", values.join(", ")),
    );
    run(session, &format!("ANALYZE TABLE {table}"));
}

#[test]
fn they_are_what_their_rows_are() {
    let mut session = session();
    let mut random = Random(4711);
    fill(&mut session, &mut random, "t", 1200);
    fill(&mut session, &mut random, "k", 90);
    let mut in_place = 0;
    let mut found = 0;
    for number in 0..700 {
        let text = random.text(2);
        let [free, fixed] = ["", ALL].map(|limit| text.replace('$', limit));
        let query = random.query();
        let as_it_stands = query.replace('#', &format!("({fixed}) x"));
        let wanted = rows(&mut session, &as_it_stands);
        let asked = match random.below(3) {
            0 => {
                run(&mut session, &format!("CREATE OR REPLACE VIEW v AS {free}"));
                query.replace('#', "v x")
            }
            1 => format!("WITH y AS ({free}) {}", query.replace('#', "y x")),
            _ => query.replace('#', &format!("({free}) x")),
        };
        let got = rows(&mut session, &asked);
        assert_eq!(got, wanted, "{number}: {asked}\nis not {as_it_stands}");
        found += usize::from(!wanted.is_empty());
        let plan = |session: &mut Session, sql: &str| {
            run(session, &format!("EXPLAIN FORMAT=TREE {sql}"))
                .rows
                .join("\n")
        };
        let differs = plan(&mut session, &asked) != plan(&mut session, &as_it_stands);
        in_place += usize::from(differs);
    }
    assert!(found > 400, "{found}");
    assert!(in_place > 400, "{in_place}");
}

/// What counts the rows that it sees sees them all.
#[test]
fn conditions_do_not_come_before_a_counter() {
    let mut session = session();
    let mut random = Random(7);
    fill(&mut session, &mut random, "t", 50);
    let counted = "@n := @n + 1 AS n";
    for text in [
        format!("SELECT p, {counted} FROM t, (SELECT @n := 0) i ORDER BY p"),
        format!("SELECT DISTINCT p, {counted} FROM t ORDER BY p"),
        "SELECT p, @n AS n FROM t WHERE (@n := @n + 1) > 0 ORDER BY p".to_owned(),
    ] {
        for asked in [
            format!("SELECT n FROM ({text}) x WHERE p = 20"),
            format!("SELECT n FROM (SELECT * FROM ({text}) y) x WHERE p = 20"),
            format!("WITH x AS ({text}) SELECT n FROM x WHERE p = 20"),
        ] {
            run(&mut session, "SET @n = 0");
            assert_eq!(run(&mut session, &asked).rows, ["21|"], "{asked}");
        }
    }
}

/// A condition that warns does so once for a row, wherever it is evaluated.
#[test]
fn conditions_on_windows_warn_once() {
    let mut session = session();
    let mut random = Random(7);
    fill(&mut session, &mut random, "t", 50);
    run(&mut session, "SET sql_mode = DEFAULT");
    let text = "SELECT p, ROW_NUMBER() OVER (ORDER BY p) AS n FROM t";
    for condition in [
        "n <= '20x'",
        "n <= 1 / 0",
        "n BETWEEN '10x' AND 30",
        "n IN ('7x', 8)",
    ] {
        let [pushed, whole] = [text.to_owned(), format!("{text} {ALL}")].map(|text| {
            let asked = format!("SELECT n FROM ({text}) x WHERE {condition}");
            let found = run(&mut session, &asked).rows;
            (found, run(&mut session, "SHOW COUNT(*) WARNINGS").rows)
        });
        assert_eq!(pushed, whole, "{condition}");
        assert_ne!(pushed.1, ["0|"], "{condition}");
    }
}

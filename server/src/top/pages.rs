//! The pages, as titles, lines and tables: what the screen draws, and `--once` prints.

use super::look::{Flavor, Known, Rows, Seen};
use std::collections::VecDeque;

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Now,
    Times,
    Sessions,
    Statements,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Now, Kind::Times, Kind::Sessions, Kind::Statements];

    pub fn title(self) -> &'static str {
        match self {
            Kind::Now => "Now",
            Kind::Times => "A transaction's time",
            Kind::Sessions => "Sessions and locks",
            Kind::Statements => "Statements",
        }
    }
}

/// A number over time.
pub struct Line {
    pub name: &'static str,
    pub now: String,
    pub points: Vec<u64>,
}

/// A table; `Err`: why there is none.
pub struct Table {
    pub title: &'static str,
    pub headings: Vec<&'static str>,
    pub rows: Result<Vec<Vec<String>>, String>,
}

/// A page.
pub struct Page {
    pub title: String,
    pub lines: Vec<Line>,
    pub tables: Vec<Table>,
}

/// The page of what was seen, the latest at the end.
pub fn page(kind: Kind, seen: &VecDeque<Seen>, server: &Known) -> Page {
    let name = match server.flavor {
        Flavor::Cohort => "Cohort",
        Flavor::MySql => "MySQL",
        Flavor::MariaDb => "MariaDB",
    };
    let title = format!(
        "{}: {name} {} at {}",
        kind.title(),
        server.version,
        server.place
    );
    let (mut lines, mut tables) = (Vec::new(), Vec::new());
    if let Some(last) = seen.back() {
        match kind {
            Kind::Now => lines = now(seen, last, server.flavor),
            Kind::Times => tables.push(times(last)),
            Kind::Sessions => tables = vec![waits(last), transactions(last), sessions(last)],
            Kind::Statements => tables.push(statements(last)),
        }
    }
    Page {
        title,
        lines,
        tables,
    }
}

/// How much a counter has grown between each two looks, in a second.
fn rates(seen: &VecDeque<Seen>, name: &str) -> Option<Vec<u64>> {
    seen.back()?.status(name)?;
    let pairs = seen.iter().zip(seen.iter().skip(1));
    let rate = |(before, now): (&Seen, &Seen)| {
        let grown = now.status(name)?.saturating_sub(before.status(name)?) as f64;
        Some((grown / now.at.duration_since(before.at).as_secs_f64().max(0.001)).round() as u64)
    };
    Some(pairs.filter_map(rate).collect())
}

fn now(seen: &VecDeque<Seen>, last: &Seen, flavor: Flavor) -> Vec<Line> {
    let mut lines = Vec::new();
    let commits: &[&str] = match flavor {
        Flavor::Cohort => &["Cohort_log_commits"],
        Flavor::MariaDb => &["Binlog_commits", "Com_commit"],
        Flavor::MySql => &["Com_commit"],
    };
    let fsyncs: &[&str] = &["Cohort_log_fsyncs", "Innodb_os_log_fsyncs"];
    let counters: [(&str, &[&str]); 6] = [
        ("statements/s", &["Questions"]),
        ("SELECT/s", &["Com_select"]),
        ("commits/s", commits),
        ("syncs of the log/s", fsyncs),
        (
            "bytes of the log/s",
            &["Cohort_log_bytes", "Innodb_os_log_written"],
        ),
        (
            "rows examined/s",
            &["Cohort_rows_examined", "Innodb_rows_read"],
        ),
    ];
    for (name, names) in counters {
        if let Some(points) = names.iter().find_map(|counter| rates(seen, counter)) {
            let now = grouped(points.last().copied().unwrap_or(0));
            lines.push(Line { name, now, points });
        }
    }
    let groups = [
        ("Cohort_log_commits", "Cohort_log_groups"),
        ("Binlog_commits", "Binlog_group_commits"),
    ];
    for (commits, groups) in groups {
        if let (Some(commits), Some(groups)) = (rates(seen, commits), rates(seen, groups)) {
            let share = |(commits, groups): (&u64, &u64)| commits * 10 / (*groups).max(1);
            let points: Vec<u64> = commits.iter().zip(&groups).map(share).collect();
            let now = format!("{:.1}", points.last().copied().unwrap_or(0) as f64 / 10.0);
            lines.push(Line {
                name: "commits in a group",
                now,
                points,
            });
            break;
        }
    }
    let levels: [(&str, &[&str]); 5] = [
        ("connected", &["Threads_connected"]),
        ("executing", &["Threads_running"]),
        ("waiting for row locks", &["Innodb_row_lock_current_waits"]),
        (
            "recent changes, bytes",
            &["Cohort_delta_bytes", "Innodb_buffer_pool_bytes_dirty"],
        ),
        ("being merged, bytes", &["Cohort_delta_sealed_bytes"]),
    ];
    for (name, names) in levels {
        let known = names.iter().find(|level| last.status(level).is_some());
        if let Some(level) = known {
            let points = seen.iter().filter_map(|one| one.status(level)).collect();
            let now = grouped(last.status(level).unwrap_or(0));
            lines.push(Line { name, now, points });
        }
    }
    if let Ok(pool) = &last.pool
        && let [slots, taken, waiting, ..] = &pool.iter().flatten().collect::<Vec<_>>()[..]
    {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let now = format!("{} of {}, {} wait", text(taken), text(slots), text(waiting));
        let waiting = |one: &Seen| {
            let pool = one.pool.as_ref().ok()?;
            pool.first()?.get(2)?.as_ref()?.parse().ok()
        };
        let points = seen.iter().filter_map(waiting).collect();
        lines.push(Line {
            name: "slots taken",
            now,
            points,
        });
    }
    lines
}

/// Rows of texts; NULL is an empty one.
fn texts(rows: &Rows) -> Result<Vec<Vec<String>>, String> {
    let rows = rows.as_ref().map_err(Clone::clone)?;
    let text = |value: &Option<String>| plain(value.as_deref().unwrap_or(""));
    Ok(rows
        .iter()
        .map(|row| row.iter().map(text).collect())
        .collect())
}

/// Text from outside must not move the terminal's cursor.
fn plain(text: &str) -> String {
    let one = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(one).collect()
}

fn cell(row: &[String], at: usize) -> &str {
    row.get(at).map_or("", String::as_str)
}

fn number(row: &[String], at: usize) -> u64 {
    cell(row, at).parse().unwrap_or(0)
}

fn table(
    title: &'static str,
    headings: &[&'static str],
    rows: &Rows,
    each: impl Fn(&[String]) -> Vec<String>,
) -> Table {
    Table {
        title,
        headings: headings.to_vec(),
        rows: texts(rows).map(|rows| rows.iter().map(|row| each(row)).collect()),
    }
}

fn times(last: &Seen) -> Table {
    let headings = [
        "commits",
        "average",
        "client",
        "queue",
        "exec",
        "rows",
        "tables",
        "encode",
        "group",
        "fsync",
        "reply",
        "statement",
    ];
    table(
        "Where the last minute's commits spent their time, on average",
        &headings,
        &last.commits,
        |row| {
            let count = number(row, 1).max(1);
            let mut cells = vec![grouped(number(row, 1))];
            cells.extend((2..12).map(|at| picos(number(row, at) / count)));
            cells.push(cell(row, 0).to_owned());
            cells
        },
    )
}

fn waits(last: &Seen) -> Table {
    let headings = ["connection", "waits for", "because of"];
    table(
        "Who waits for whom",
        &headings,
        &last.waits,
        <[String]>::to_vec,
    )
}

fn transactions(last: &Seen) -> Table {
    let headings = [
        "connection",
        "age",
        "state",
        "locks",
        "changes",
        "statement, or what it does",
    ];
    let sessions = texts(&last.sessions).unwrap_or_default();
    table(
        "Open transactions, the oldest first",
        &headings,
        &last.transactions,
        |row| {
            let session = sessions
                .iter()
                .find(|session| cell(session, 0) == cell(row, 0));
            let does = session.map_or(String::new(), |session| match cell(session, 7) {
                "" => format!("nothing for {} s", cell(session, 5)),
                statement => statement.to_owned(),
            });
            let mut cells: Vec<String> = row.to_vec();
            if let Some(age) = cells.get_mut(1) {
                age.push_str(" s");
            }
            cells.push(does);
            cells
        },
    )
}

fn sessions(last: &Seen) -> Table {
    let headings = [
        "connection",
        "user",
        "host",
        "database",
        "command",
        "time",
        "state",
        "statement",
    ];
    let mut table = table("Sessions", &headings, &last.sessions, |row| {
        row.iter().take(8).cloned().collect()
    });
    if let Ok(rows) = &mut table.rows {
        // Those that do something first, and those that do it for longest.
        rows.sort_by_key(|row| (cell(row, 4) == "Sleep", std::cmp::Reverse(number(row, 5))));
    }
    table
}

fn statements(last: &Seen) -> Table {
    let headings = [
        "count",
        "total",
        "average",
        "longest",
        "examined",
        "errors",
        "statement",
    ];
    let mut table = table(
        "Kinds of statements, by total time",
        &headings,
        &last.statements,
        |row| {
            vec![
                grouped(number(row, 1)),
                picos(number(row, 2)),
                picos(number(row, 3)),
                picos(number(row, 4)),
                grouped(number(row, 5)),
                grouped(number(row, 6)),
                cell(row, 0).to_owned(),
            ]
        },
    );
    if table.rows.as_ref().is_ok_and(Vec::is_empty) {
        table.rows = Err("none: performance_schema may be off".into());
    }
    table
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in picoseconds, for people.
fn picos(picos: u64) -> String {
    match picos {
        0 => "0".to_owned(),
        1..1_000_000 => format!("{} ns", picos / 1_000),
        1_000_000..1_000_000_000 => format!("{:.1} \u{b5}s", picos as f64 / 1e6),
        1_000_000_000..1_000_000_000_000 => format!("{:.1} ms", picos as f64 / 1e9),
        _ => format!("{:.1} s", picos as f64 / 1e12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn known(flavor: Flavor) -> Known {
        Known {
            flavor,
            place: "here".into(),
            version: "9".into(),
        }
    }

    #[test]
    fn rates_are_of_a_second() {
        let begun = Instant::now();
        let later = begun + Duration::from_secs(2);
        let counters = |n: u64| {
            [
                ("Cohort_log_commits", 30 * n),
                ("Cohort_log_groups", 20 * n),
                ("Questions", 10 * n),
            ]
        };
        let seen = VecDeque::from([Seen::of(begun, &counters(1)), Seen::of(later, &counters(2))]);
        let page = page(Kind::Now, &seen, &known(Flavor::Cohort));
        assert_eq!(page.title, "Now: Cohort 9 at here");
        let told: Vec<_> = page
            .lines
            .iter()
            .map(|line| (line.name, line.now.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("statements/s", "5"),
                ("commits/s", "15"),
                ("commits in a group", "1.5")
            ]
        );
    }

    #[test]
    fn what_a_server_does_not_tell_is_said() {
        let seen = VecDeque::from([Seen::of(Instant::now(), &[("Com_commit", 3)])]);
        let page = page(Kind::Times, &seen, &known(Flavor::MySql));
        assert_eq!(page.tables[0].rows, Err("not asked".to_owned()));
    }

    #[test]
    fn sessions_that_do_something_come_first_and_move_no_cursor() {
        let row = |texts: [&str; 8]| texts.map(|text| Some(text.to_owned())).to_vec();
        let mut one = Seen::of(Instant::now(), &[]);
        one.sessions = Ok(vec![
            row(["1", "a", "h", "d", "Sleep", "900", "", ""]),
            row(["2", "a", "h", "d", "Query", "1", "", "SELECT '\u{1b}[2J'"]),
        ]);
        one.transactions = Ok(vec![
            row(["1", "5", "RUNNING", "1", "2", "", "", ""])[..5].to_vec(),
        ]);
        let seen = VecDeque::from([one]);
        let page = page(Kind::Sessions, &seen, &known(Flavor::MySql));
        let rows = page.tables[2].rows.as_ref().unwrap();
        assert_eq!(
            (rows[0][0].as_str(), rows[0][7].as_str()),
            ("2", "SELECT ' [2J'")
        );
        let rows = page.tables[1].rows.as_ref().unwrap();
        assert_eq!(
            rows[0],
            ["1", "5 s", "RUNNING", "1", "2", "nothing for 900 s"]
        );
    }
}

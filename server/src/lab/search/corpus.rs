//! The texts: the same for every server and every run.

use super::query;
use crate::{
    lab::{interrupt, random::Random, server::Server},
    progress::Progress,
};
use std::{fmt::Write, sync::atomic::Ordering, time::Instant};

/// Different words.
const WORDS: u32 = 50_000;
/// Words of a text, but for the two that are searched for.
const OF_TEXT: usize = 8;
/// Rows of one INSERT.
const AT_ONCE: u32 = 1000;

/// A row.
pub struct Doc {
    pub modified: u32,
    pub has_title: bool,
    pub has_see: bool,
    pub body: String,
}

/// A source of words as frequent as words are: the n-th in rank about 1/n.
pub struct Words(Random);

impl Words {
    /// The same words each time, for a number.
    pub fn new(seed: u64) -> Words {
        Words(Random::new(seed))
    }
    /// Appends a word.
    pub fn push(&mut self, text: &mut String) {
        // Of numbers whose logarithms are equally likely, n is as likely as 1/n.
        let rank = (f64::from(WORDS).ln() * self.0.fraction()).exp() as u32;
        let _ = write!(text, "w{rank:x}ord");
    }
    fn below(&mut self, bound: u32) -> u32 {
        self.0.below(bound)
    }
}

/// The rows, in their order.
pub fn docs(rows: u32) -> impl Iterator<Item = Doc> {
    let mut words = Words::new(7);
    (0..rows).map(move |_| {
        let modified = 1_600_000_000 + words.below(100_000_000);
        let (has_title, has_see) = (words.below(10) < 8, words.below(10) < 4);
        let mut body = String::new();
        for at in 0..OF_TEXT {
            words.push(&mut body);
            body.push(' ');
            if at == 2 && has_title {
                body.push_str("title ");
            }
            if at == 4 && has_see {
                body.push_str("see ");
            }
        }
        Doc {
            modified,
            has_title,
            has_see,
            body,
        }
    })
}

/// Sees to it that the table is there, with its index. Returns of how many rows the index was built in a
/// second, if it was.
pub fn ensure(server: &mut Server, rows: u32) -> Result<Option<f64>, String> {
    let name = server.name.clone();
    let database = server.endpoint.account.database.clone();
    let control = server.control();
    let mut run =
        |statement: &str| query(control, statement).map_err(|error| format!("{name}: {error}"));
    run(&format!("CREATE DATABASE IF NOT EXISTS `{database}`"))?;
    run(&format!("USE `{database}`"))?;
    let there = run(
        "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
                     AND TABLE_NAME = 'lab_docs' AND INDEX_TYPE = 'FULLTEXT'",
    )?;
    let first = |rows: Vec<Vec<Option<String>>>| rows.into_iter().next()?.into_iter().next()?;
    if first(there).as_deref() == Some("1") {
        let count = run("SELECT COUNT(*) FROM lab_docs")?;
        if first(count).as_deref() == Some(&rows.to_string()) {
            return Ok(None);
        }
    }
    run("DROP TABLE IF EXISTS lab_docs")?;
    run(
        "CREATE TABLE lab_docs (id INT PRIMARY KEY, modified INT NOT NULL, body VARCHAR(400) NOT NULL, \
         KEY (modified))",
    )?;
    let progress = Progress::new(format!("{name}: filling"), u64::from(rows));
    let mut docs = (1_u32..).zip(docs(rows)).peekable();
    while docs.peek().is_some() {
        let mut statement = "INSERT INTO lab_docs VALUES ".to_owned();
        for (n, (id, doc)) in docs.by_ref().take(AT_ONCE as usize).enumerate() {
            let comma = if n > 0 { "," } else { "" };
            let _ = write!(statement, "{comma}({id},{},'{}')", doc.modified, doc.body);
        }
        interrupt::check()?;
        run(&statement)?;
        progress
            .done()
            .fetch_add(u64::from(AT_ONCE), Ordering::Relaxed);
    }
    drop(progress);
    eprintln!("{name}: building the index");
    let begun = Instant::now();
    run("ALTER TABLE lab_docs ADD FULLTEXT KEY words (body)")?;
    Ok(Some(f64::from(rows) / begun.elapsed().as_secs_f64()))
}

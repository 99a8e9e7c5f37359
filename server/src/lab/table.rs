//! sysbench's table, made and filled.

use super::{
    control::{Control, Error},
    random::Random,
    workload::Draw,
};
use crate::progress::Progress;
use std::{
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// Rows of one INSERT: 200 kB, which every server takes.
const BATCH: u32 = 1000;

const CREATE: &str = "CREATE TABLE sbtest1(
  id INTEGER NOT NULL AUTO_INCREMENT,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
) ENGINE = innodb";

/// How long it took to make the table.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// Until its rows were there.
    pub rows: Duration,
    /// From then until its index was.
    pub index: Duration,
}

/// Sees to it that `sbtest1` has so many rows in the connection's database, which is made if it
/// is not there.
pub fn ensure(control: &mut Control, database: &str, name: &str, rows: u32) -> Result<(), Error> {
    open(control, database)?;
    match has(control, rows)? {
        true => Ok(()),
        false => fill(control, name, rows).map(drop),
    }
}

/// Makes `sbtest1` with so many rows, whether it is there or not.
pub fn make(control: &mut Control, database: &str, name: &str, rows: u32) -> Result<Made, Error> {
    open(control, database)?;
    fill(control, name, rows)
}

fn open(control: &mut Control, database: &str) -> Result<(), Error> {
    control.query(&format!("CREATE DATABASE IF NOT EXISTS `{database}`"))?;
    control.query(&format!("USE `{database}`")).map(drop)
}

fn fill(control: &mut Control, name: &str, rows: u32) -> Result<Made, Error> {
    control.query("DROP TABLE IF EXISTS sbtest1")?;
    control.query(CREATE)?;
    let progress = Progress::new(format!("{name}: loading {rows} rows"), rows.into());
    let begun = Instant::now();
    let mut random = Random::new(u64::from(rows));
    let mut first = 1;
    while first <= rows {
        let last = rows.min(first.saturating_add(BATCH - 1));
        control.query(&insert(first, last, rows, &mut random))?;
        progress.done().store(last.into(), Ordering::Relaxed);
        first = last + 1;
    }
    drop(progress);
    let loaded = Instant::now();
    let _progress = Progress::new(format!("{name}: creating the index on k"), 1);
    control.query("CREATE INDEX k_1 ON sbtest1(k)")?;
    Ok(Made {
        rows: loaded - begun,
        index: loaded.elapsed(),
    })
}

/// Whether the table is there and whole.
fn has(control: &mut Control, rows: u32) -> Result<bool, Error> {
    if control.value("SHOW TABLES LIKE 'sbtest1'")?.is_none() {
        return Ok(false);
    }
    let found = control.query("SELECT COUNT(*), MAX(id) FROM sbtest1")?;
    let expected = Some(rows.to_string());
    Ok(found
        .first()
        .is_some_and(|row| row.iter().all(|value| *value == expected)))
}

/// The statement for rows `first` to `last`; ids are written out, so that servers that give
/// them in steps get the same ones.
fn insert(first: u32, last: u32, rows: u32, random: &mut Random) -> String {
    let mut sql = String::with_capacity(220 * BATCH as usize);
    sql.push_str("INSERT INTO sbtest1(id, k, c, pad) VALUES");
    for id in first..=last {
        let k = 1 + random.below(rows);
        let mut draw = Draw {
            random,
            rows,
            deleted: 0,
        };
        let (c, pad) = (draw.c(), draw.pad());
        let (c, pad) = (String::from_utf8_lossy(&c), String::from_utf8_lossy(&pad));
        let comma = if id == first { "" } else { "," };
        sql.push_str(&format!("{comma}({id},{k},'{c}','{pad}')"));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_insert_has_its_rows() {
        let sql = insert(5, 7, 10, &mut Random::new(1));
        let rows: Vec<_> = sql.split("VALUES").nth(1).unwrap().split("),(").collect();
        assert_eq!(rows.len(), 3);
        assert!(rows[1].starts_with("6,"), "{}", rows[1]);
        assert!(sql.ends_with("')"));
    }
}

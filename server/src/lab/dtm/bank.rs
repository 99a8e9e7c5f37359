//! The bank: its tables, and the local transaction that is a step of a transfer.

use crate::lab::control::{Control, Error};
use crate::progress::Progress;
use std::sync::atomic::{AtomicU64, Ordering};

/// What each account begins with.
const BALANCE: u64 = 1_000_000;
/// Rows of one INSERT.
const BATCH: u32 = 1000;
/// A transaction that was in the way of another is tried so often.
const TRIES: usize = 10;

const TABLES: [&str; 5] = [
    "CREATE DATABASE IF NOT EXISTS dtm_busi",
    "CREATE DATABASE IF NOT EXISTS dtm_barrier",
    "CREATE TABLE IF NOT EXISTS dtm_busi.user_account(
        user_id INT NOT NULL PRIMARY KEY,
        balance DECIMAL(14,2) NOT NULL,
        create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
        update_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS dtm_busi.user_account_log(
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        user_id INT NOT NULL,
        delta DECIMAL(14,2) NOT NULL,
        gid VARCHAR(45) NOT NULL,
        branch_id VARCHAR(45) NOT NULL,
        op VARCHAR(45) NOT NULL,
        reason VARCHAR(45) NOT NULL,
        create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
        KEY user_id (user_id),
        KEY create_time (create_time)
    ) ENGINE = InnoDB",
    "CREATE TABLE IF NOT EXISTS dtm_barrier.barrier(
        id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
        trans_type VARCHAR(45) NOT NULL,
        gid VARCHAR(128) NOT NULL,
        branch_id VARCHAR(128) NOT NULL,
        op VARCHAR(45) NOT NULL,
        barrier_id VARCHAR(45) NOT NULL,
        reason VARCHAR(45) NOT NULL,
        create_time DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
        UNIQUE KEY (gid, branch_id, op, barrier_id)
    ) ENGINE = InnoDB",
];

/// Makes the tables with so many accounts, unless they are there.
pub fn ensure(control: &mut Control, name: &str, users: u32) -> Result<(), Error> {
    for statement in TABLES {
        control.query(statement)?;
    }
    control.query("TRUNCATE TABLE dtm_busi.user_account_log")?;
    control.query("TRUNCATE TABLE dtm_barrier.barrier")?;
    control.query("TRUNCATE TABLE dtm_busi.user_account")?;
    let progress = Progress::new(format!("{name}: loading {users} accounts"), users.into());
    let mut first = 1;
    while first <= users {
        let last = users.min(first.saturating_add(BATCH - 1));
        let rows: Vec<String> = (first..=last)
            .map(|id| format!("({id},{BALANCE})"))
            .collect();
        let rows = rows.join(",");
        control.query(&format!(
            "INSERT INTO dtm_busi.user_account(user_id, balance) VALUES{rows}"
        ))?;
        progress.done().store(last.into(), Ordering::Relaxed);
        first = last + 1;
    }
    Ok(())
}

/// Whether the money is all there and every transfer is whole; if not, what is wrong.
pub fn check(control: &mut Control, users: u32) -> Result<(), String> {
    let mut value = |sql: &str| {
        let value = control.value(sql).map_err(|error| error.to_string())?;
        Ok::<_, String>(value.unwrap_or_default())
    };
    let whole = |number: &str| number.split('.').next().unwrap_or_default().to_owned();
    let sum = whole(&value("SELECT SUM(balance) FROM dtm_busi.user_account")?);
    let expected = (u64::from(users) * BALANCE).to_string();
    if sum != expected {
        return Err(format!(
            "money was not conserved: all accounts together have {sum}, not {expected}"
        ));
    }
    let half = value(
        "SELECT COUNT(*) FROM (SELECT gid FROM dtm_busi.user_account_log GROUP BY gid \
         HAVING SUM(delta) <> 0) AS half",
    )?;
    match half.as_str() {
        "0" => Ok(()),
        _ => Err(format!("{half} transfers were half done")),
    }
}

/// One step of a transfer, as its URL says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Whose account.
    pub user: u32,
    /// What it gets; negative: loses.
    pub delta: i32,
    /// How often the log row and the update are made; 0: not even a transaction.
    pub times: u32,
    /// Whether DTM's barrier comes first.
    pub barrier: bool,
    /// The global transaction.
    pub gid: String,
    /// Its branch.
    pub branch_id: String,
    /// `action` or `compensate`.
    pub op: String,
}

impl Step {
    /// The query of its URL, without what the coordinator adds.
    pub fn query(user: u32, delta: i32, times: u32, barrier: bool) -> String {
        let barrier = u8::from(barrier);
        format!("user={user}&delta={delta}&times={times}&barrier={barrier}")
    }

    /// Reads a query; what is wrong with it.
    pub fn parse(query: &str) -> Result<Step, String> {
        let mut step = Step::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let invalid = || format!("{name}={value}?");
            // These go into the text of statements.
            let word = || match value
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            {
                true => Ok(value.to_owned()),
                false => Err(invalid()),
            };
            match name {
                "user" => step.user = value.parse().map_err(|_| invalid())?,
                "delta" => step.delta = value.parse().map_err(|_| invalid())?,
                "times" => step.times = value.parse().map_err(|_| invalid())?,
                "barrier" => step.barrier = value == "1",
                "gid" => step.gid = word()?,
                "branch_id" => step.branch_id = word()?,
                "op" => step.op = word()?,
                _ => {}
            }
        }
        Ok(step)
    }

    /// Performs it in a transaction of its own; again, if another one was in the way.
    pub fn perform(&self, control: &mut Control, done: &Counts) -> Result<(), Error> {
        let mut tries = 1;
        loop {
            control.query("BEGIN")?;
            let worked = self.work(control, done);
            let Err(error) = worked.and_then(|()| control.query("COMMIT")) else {
                done.transactions.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            };
            let is_passing =
                matches!(&error, Error::Server(error) if [1020, 1205, 1213].contains(&error.code));
            control.query("ROLLBACK")?;
            if !is_passing || tries == TRIES {
                return Err(error);
            }
            tries += 1;
        }
    }

    fn work(&self, control: &mut Control, done: &Counts) -> Result<(), Error> {
        let Step {
            user,
            delta,
            gid,
            branch_id,
            op,
            ..
        } = self;
        let mut execute = |sql: &str| {
            done.statements.fetch_add(1, Ordering::Relaxed);
            control.execute(sql)
        };
        let barrier = |origin: &str| {
            format!(
                "INSERT IGNORE INTO dtm_barrier.barrier(trans_type, gid, branch_id, op, \
                 barrier_id, reason) VALUES('saga','{gid}','{branch_id}','{origin}','01','{op}')"
            )
        };
        let undoes = op == "compensate";
        let delta = if undoes { -delta } else { *delta };
        let mut is_wanted = true;
        if self.barrier {
            let is_hollow = undoes && execute(&barrier("action"))? > 0;
            is_wanted = execute(&barrier(op))? > 0 && !is_hollow;
        }
        for _ in 0..if is_wanted { self.times } else { 0 } {
            execute(&format!(
                "INSERT INTO dtm_busi.user_account_log(user_id, delta, gid, branch_id, op, \
                 reason) VALUES({user},{delta},'{gid}','{branch_id}','{op}','')"
            ))?;
            execute(&format!(
                "UPDATE dtm_busi.user_account SET balance = balance + {delta}, \
                 update_time = NOW() WHERE user_id = {user}"
            ))?;
        }
        Ok(())
    }
}

/// What was done in the business database so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Transactions committed.
    pub transactions: AtomicU64,
    /// Statements in them and in those that had to be tried again; BEGIN and COMMIT do not count.
    pub statements: AtomicU64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_travel_in_urls() {
        let query = Step::query(7, -1, 5, true) + "&branch_id=01&gid=lab-1&op=action&trans_type=x";
        let step = Step::parse(&query).unwrap();
        assert_eq!((step.user, step.delta, step.times), (7, -1, 5));
        assert!(step.barrier);
        assert_eq!(
            (&*step.gid, &*step.branch_id, &*step.op),
            ("lab-1", "01", "action")
        );
        for query in ["user=x", "gid=a'b", "op=%27"] {
            assert!(Step::parse(query).is_err(), "{query}");
        }
    }
}

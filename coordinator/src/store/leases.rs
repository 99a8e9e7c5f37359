//! Who drives which transaction, where several coordinators share the tables.
//!
//! Each process is a row of `coordinators` under a number that it has drawn, whose beat it counts
//! up in each of its database transactions, and every few seconds if there is nothing else to
//! write. The others watch the beat: one that stands still for so many looks is declared dead, and
//! stays it. What a transaction's row has as its owner drives it, as long as that one lives.
//!
//! 1. Nobody's life depends on clocks: a look is counted by who looks, and only if its own beat went
//!    through just before, so an outage of the database kills nobody. The times in rows are by the
//!    clock of the server that has them.
//! 2. A driver's writes name it as the owner: who was declared dead, and whose transaction has
//!    another owner now, cannot write.
//! 3. Who is declared dead while it lives goes on under another number, as somebody new.
//! 4. Whatever changes a transaction or its branches writes the transaction's own row, so a
//!    cluster that certifies writes when they are committed sees every conflict.

use super::{
    connection::Connection,
    rows::{self, Row, text},
};
use crate::model::Micros;
use cohort_coordinator_core::outside::{Claimed, News, Seen};
use cohort_engine::types::Value;
use cohort_sql::SqlError;

/// Takes a transaction that nobody drives.
pub(super) fn claim(connection: &mut dyn Connection, gid: &str) -> Result<Claimed, SqlError> {
    const LOCK: &str = "SELECT owner, status FROM global_transactions WHERE gid = ? FOR UPDATE";
    const LIVES: &str = "SELECT COUNT(*) FROM coordinators WHERE id = ? AND is_dead = 0";
    const TAKE: &str = "UPDATE global_transactions SET owner = ? WHERE gid = ?";
    let Some(row) = connection.run(LOCK, &[text(gid)])?.rows.pop() else {
        return Ok(Claimed::Missing);
    };
    let mut row = Row::of(row);
    let (owner, status) = (row.number()?, row.status()?);
    let me = connection.owner();
    if owner != 0 && owner != me {
        let lives = connection.run(LIVES, &[Value::UInt(owner)])?;
        if rows::number(lives)? > Some(0) {
            return Ok(Claimed::Others(owner));
        }
    }
    if owner != me && !status.is_final() {
        connection.run(TAKE, &[Value::UInt(me), text(gid)])?;
    }
    Ok(match rows::load(connection, gid)?.map(Box::new) {
        Some(transaction) if owner != me && status.is_final() => Claimed::Ended(transaction),
        Some(transaction) if owner == me => Claimed::Kept(transaction),
        Some(transaction) => Claimed::Ours(transaction),
        None => Claimed::Missing,
    })
}

/// Takes a seat among the coordinators.
pub(super) fn register(
    connection: &mut dyn Connection,
    id: u64,
    name: &str,
) -> Result<(), SqlError> {
    const INSERT: &str = "INSERT INTO coordinators (id, beat, is_dead, name, started, seen) \
         VALUES (?, 0, 0, ?, NOW(6), NOW(6)) ON DUPLICATE KEY UPDATE name = name";
    connection.run(INSERT, &[Value::UInt(id), text(name)])?;
    Ok(())
}

/// Counts one's beat up. False: one has been declared dead, or the beat was not this.
pub(super) fn beat(connection: &mut dyn Connection, me: Seen) -> Result<bool, SqlError> {
    const BEAT: &str = "UPDATE coordinators SET beat = beat + 1, seen = NOW(6) \
         WHERE id = ? AND beat = ? AND is_dead = 0";
    let values = [Value::UInt(me.id), Value::UInt(me.beat)];
    Ok(connection.run(BEAT, &values)?.affected > 0)
}

/// Counts one's beat up by two, dead or not: a commit that would have counted it up by one can
/// never succeed after that. False: the beat was not this.
pub(super) fn overtake(connection: &mut dyn Connection, me: Seen) -> Result<bool, SqlError> {
    const OVERTAKE: &str = "UPDATE coordinators SET beat = beat + 2 WHERE id = ? AND beat = ?";
    let values = [Value::UInt(me.id), Value::UInt(me.beat)];
    Ok(connection.run(OVERTAKE, &values)?.affected > 0)
}

/// A coordinator's beat; `None`: it has no row.
pub(super) fn beat_of(connection: &mut dyn Connection, id: u64) -> Result<Option<u64>, SqlError> {
    const BEAT: &str = "SELECT beat FROM coordinators WHERE id = ?";
    rows::number(connection.run(BEAT, &[Value::UInt(id)])?)
}

/// The time by the clock of the server that has the tables.
pub(super) fn time(connection: &mut dyn Connection) -> Result<Option<Micros>, SqlError> {
    // Its sessions are at UTC.
    let row = connection.run("SELECT NOW(6)", &[])?.rows.pop();
    row.map(|row| Row::of(row).moment()).transpose()
}

/// All coordinators that were not declared dead, by number.
pub(super) fn alive(connection: &mut dyn Connection) -> Result<Vec<Seen>, SqlError> {
    const ALIVE: &str = "SELECT id, beat FROM coordinators WHERE is_dead = 0 ORDER BY id";
    let seen = |row: &mut Row| {
        Ok(Seen {
            id: row.number()?,
            beat: row.number()?,
        })
    };
    rows::read_each(connection.run(ALIVE, &[])?, seen)
}

/// A coordinator, as its row tells of it.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its number.
    pub id: u64,
    /// Where it listens.
    pub name: String,
    /// How often it has beaten.
    pub beat: u64,
    /// It was declared dead, or has left.
    pub is_dead: bool,
    /// When it came.
    pub started: String,
    /// How many seconds ago it has last shown that it lives.
    pub silent_s: u64,
}

/// All coordinators that are known, by number, those that are dead as well.
pub(super) fn members(connection: &mut dyn Connection) -> Result<Vec<Member>, SqlError> {
    const MEMBERS: &str = "SELECT id, name, beat, CAST(is_dead AS UNSIGNED), CAST(started AS CHAR), \
         CAST(GREATEST(TIMESTAMPDIFF(SECOND, seen, NOW(6)), 0) AS UNSIGNED) \
         FROM coordinators ORDER BY id";
    let member = |row: &mut Row| {
        Ok(Member {
            id: row.number()?,
            name: row.text()?,
            beat: row.number()?,
            is_dead: row.number()? != 0,
            started: row.text()?,
            silent_s: row.number()?,
        })
    };
    rows::read_each(connection.run(MEMBERS, &[])?, member)
}

/// Declares those dead whose beat is still this, and forgets who has been so for long.
pub(super) fn bury(connection: &mut dyn Connection, dead: &[Seen]) -> Result<(), SqlError> {
    const DEAD: &str = "UPDATE coordinators SET is_dead = 1 WHERE id = ? AND beat = ?";
    const NEWS: &str = "DELETE FROM news WHERE owner = ?";
    // Whoever of them should live after all needs its beat to know what it has written.
    const FORGET: &str =
        "DELETE FROM coordinators WHERE is_dead = 1 AND seen < NOW(6) - INTERVAL 1 DAY";
    for seen in dead {
        connection.run(DEAD, &[Value::UInt(seen.id), Value::UInt(seen.beat)])?;
        connection.run(NEWS, &[Value::UInt(seen.id)])?;
    }
    connection.run(FORGET, &[])?;
    Ok(())
}

/// Gives one's seat back.
pub(super) fn leave(connection: &mut dyn Connection) -> Result<(), SqlError> {
    const LEAVE: &str = "UPDATE coordinators SET is_dead = 1 WHERE id = ?";
    let me = Value::UInt(connection.owner());
    connection.run(LEAVE, &[me])?;
    Ok(())
}

/// Tells a driver something.
pub(super) fn tell(
    connection: &mut dyn Connection,
    owner: u64,
    news: &News,
) -> Result<(), SqlError> {
    const INSERT: &str = "INSERT INTO news (owner, gid, is_wanted) VALUES (?, ?, ?) \
         ON DUPLICATE KEY UPDATE is_wanted = is_wanted OR ?";
    let wanted = Value::UInt(news.is_wanted.into());
    let values = [Value::UInt(owner), text(&news.gid), wanted.clone(), wanted];
    connection.run(INSERT, &values)?;
    Ok(())
}

/// Whether there are news for this coordinator.
pub(super) fn has_news(connection: &mut dyn Connection, me: u64) -> Result<bool, SqlError> {
    const NEWS: &str = "SELECT 1 FROM news WHERE owner = ? LIMIT 1";
    Ok(!connection.run(NEWS, &[Value::UInt(me)])?.rows.is_empty())
}

/// Takes the news for this coordinator.
pub(super) fn take_news(connection: &mut dyn Connection) -> Result<Vec<News>, SqlError> {
    const NEWS: &str = "SELECT gid, is_wanted FROM news WHERE owner = ? LIMIT 1000 FOR UPDATE";
    const READ: &str = "DELETE FROM news WHERE owner = ? AND gid = ?";
    let me = Value::UInt(connection.owner());
    let mut all = Vec::new();
    for row in connection.run(NEWS, std::slice::from_ref(&me))?.rows {
        let mut row = Row::of(row);
        let (gid, is_wanted) = (row.text()?, row.number()? != 0);
        connection.run(READ, &[me.clone(), text(&gid)])?;
        all.push(News { gid, is_wanted });
    }
    Ok(all)
}

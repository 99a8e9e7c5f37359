//! Lists of transactions, and topics.

use super::{
    super::model::{Global, Micros, Pattern, Status},
    connection::Connection,
    filter::Filter,
    rows::{NO_TIME, Row, SHORT_COLUMNS, is_new, moment, read_each, read_global, text},
};
use cohort_engine::types::Value;
use cohort_sql::SqlError;

/// A subscriber of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The name.
    pub topic: String,
    /// Where its messages go.
    pub url: String,
    /// What the subscriber said about itself.
    pub remark: String,
}

/// A topic, without its subscribers.
#[derive(Clone, Debug)]
pub struct Named {
    /// The name.
    pub name: String,
    /// When the first of its subscribers came, as far as it is known.
    pub created: Micros,
    /// When the last of them came or went.
    pub updated: Micros,
    /// How often one of them came or went.
    pub version: u64,
}

/// Transactions, the newest first.
pub(crate) fn list(
    connection: &mut dyn Connection,
    filter: &Filter,
) -> Result<Vec<Global>, SqlError> {
    let (conditions, mut values) = filter.conditions();
    let list = format!(
        "SELECT gid, {} FROM global_transactions WHERE {conditions} \
         ORDER BY id DESC LIMIT ?",
        *SHORT_COLUMNS
    );
    values.push(Value::UInt(filter.limit));
    let mut listed = Vec::new();
    for row in connection.run(&list, &values)?.rows {
        let mut row = Row::of(row);
        let gid = row.text()?;
        listed.push(read_global(gid, &mut row)?);
    }
    Ok(listed)
}

/// How many transactions are unfinished, of one kind and status.
#[derive(Clone, Copy, Debug)]
pub struct Unfinished {
    /// Their kind.
    pub pattern: Pattern,
    /// Where they are.
    pub status: Status,
    /// All of them.
    pub count: u64,
    /// Those of them that are dead letters.
    pub dead: u64,
    /// Those of them that are paused.
    pub paused: u64,
}

/// Counts unfinished transactions.
pub(crate) fn unfinished(connection: &mut dyn Connection) -> Result<Vec<Unfinished>, SqlError> {
    const COUNT: &str = "SELECT trans_type, status, COUNT(*), COUNT(dead_time), \
         COUNT(pause_time) \
         FROM global_transactions WHERE next_run_us <= ? GROUP BY trans_type, status";
    let counted = |row: &mut Row| {
        Ok(Unfinished {
            pattern: row.pattern()?,
            status: row.status()?,
            count: row.number()?,
            dead: row.number()?,
            paused: row.number()?,
        })
    };
    read_each(connection.run(COUNT, &[Value::UInt(NO_TIME)])?, counted)
}

/// Who wants the messages of a topic. A row without a url is nobody's: it counts the changes, and
/// keeps a topic known that had subscribers and has none now.
pub(crate) fn subscribers(
    connection: &mut dyn Connection,
    topic: &str,
) -> Result<Vec<Topic>, SqlError> {
    const SUBSCRIBERS: &str = "SELECT topic, url, remark FROM topics WHERE topic = ? AND url <> '' \
         ORDER BY create_time, url";
    let subscriber = |row: &mut Row| {
        Ok(Topic {
            topic: row.text()?,
            url: row.text()?,
            remark: row.text()?,
        })
    };
    read_each(connection.run(SUBSCRIBERS, &[text(topic)])?, subscriber)
}

/// Topics whose names come after this one, in order.
pub(crate) fn topics(
    connection: &mut dyn Connection,
    after: &str,
    limit: u64,
) -> Result<Vec<Named>, SqlError> {
    const TOPICS: &str = "SELECT topic, MIN(create_time), MAX(create_time), MAX(version) FROM topics \
         WHERE topic > ? GROUP BY topic ORDER BY topic LIMIT ?";
    read_each(
        connection.run(TOPICS, &[text(after), Value::UInt(limit)])?,
        named,
    )
}

/// A topic by its name.
pub(crate) fn topic(
    connection: &mut dyn Connection,
    name: &str,
) -> Result<Option<Named>, SqlError> {
    const TOPIC: &str = "SELECT topic, MIN(create_time), MAX(create_time), MAX(version) FROM topics \
         WHERE topic = ? GROUP BY topic";
    let answer = connection.run(TOPIC, &[text(name)])?;
    let mut found: Vec<Named> = read_each(answer, named)?;
    Ok(found.pop())
}

fn named(row: &mut Row) -> Result<Named, SqlError> {
    Ok(Named {
        name: row.text()?,
        created: row.moment()?,
        updated: row.moment()?,
        version: row.number()?,
    })
}

/// Counts a change of a topic.
fn count_change(connection: &mut dyn Connection, topic: &str, now: Micros) -> Result<(), SqlError> {
    const COUNT: &str = "INSERT INTO topics (topic, url, remark, create_time, version) \
         VALUES (?, '', '', ?, 1) ON DUPLICATE KEY UPDATE create_time = ?, version = version + 1";
    connection.run(COUNT, &[text(topic), moment(now), moment(now)])?;
    Ok(())
}

/// Adds a subscriber. False: it is one.
pub(crate) fn subscribe(
    connection: &mut dyn Connection,
    topic: &Topic,
    now: Micros,
) -> Result<bool, SqlError> {
    const INSERT: &str = "INSERT INTO topics (topic, url, remark, create_time) VALUES (?, ?, ?, ?)";
    let values = [
        text(&topic.topic),
        text(&topic.url),
        text(&topic.remark),
        moment(now),
    ];
    let is_new = is_new(connection.run(INSERT, &values).map(drop))?;
    if is_new {
        count_change(connection, &topic.topic, now)?;
    }
    Ok(is_new)
}

/// Removes a subscriber; the topic stays known. False: it is none.
pub(crate) fn unsubscribe(
    connection: &mut dyn Connection,
    topic: &str,
    url: &str,
    now: Micros,
) -> Result<bool, SqlError> {
    const DELETE: &str = "DELETE FROM topics WHERE topic = ? AND url = ?";
    let answer = connection.run(DELETE, &[text(topic), text(url)])?;
    if answer.affected > 0 {
        count_change(connection, topic, now)?;
    }
    Ok(answer.affected > 0)
}

/// Removes a topic. False: there is none.
pub(crate) fn delete_topic(connection: &mut dyn Connection, topic: &str) -> Result<bool, SqlError> {
    const DELETE: &str = "DELETE FROM topics WHERE topic = ?";
    Ok(connection.run(DELETE, &[text(topic)])?.affected > 0)
}

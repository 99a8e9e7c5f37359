//! Lists of transactions, and topics.

use super::{
    super::model::{Global, Micros, Pattern, Status},
    connection::Connection,
    rows::{NO_TIME, Row, is_new, moment, read_global, text},
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

/// Which transactions a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this one.
    pub gid: Option<String>,
    /// Only of this status.
    pub status: Option<String>,
    /// Only of this kind.
    pub pattern: Option<String>,
    /// Created at or after.
    pub from: Option<Micros>,
    /// Created before or at.
    pub to: Option<Micros>,
    /// Only those that have not ended.
    pub unfinished: bool,
    /// Only dead letters.
    pub dead: bool,
    /// With an id below this.
    pub below: Option<u64>,
    /// So many at most.
    pub limit: u64,
}

impl Filter {
    /// Whether it leaves nothing out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        let words = [&self.gid, &self.status, &self.pattern];
        let times = [self.from, self.to];
        words.iter().all(|word| word.is_none())
            && times.iter().all(Option::is_none)
            && !self.unfinished
            && !self.dead
    }
}

/// Transactions, the newest first.
pub(crate) fn list(
    connection: &mut dyn Connection,
    filter: &Filter,
) -> Result<Vec<Global>, SqlError> {
    // One statement for all filters: what is not asked for is NULL, and true.
    const LIST: &str = "SELECT gid, trans_type, status, query_prepared, protocol, steps, \
         custom_data, options, rollback_reason, result, retry_count, query_interval_us, \
         next_run_us, create_time, update_time, finish_time, rollback_time, dead_time, id \
         FROM global_transactions WHERE id < ? AND (? IS NULL OR gid = ?) AND (? IS NULL OR status = ?) \
         AND (? IS NULL OR trans_type = ?) AND (? IS NULL OR create_time >= ?) \
         AND (? IS NULL OR create_time <= ?) \
         AND (? = 0 OR status NOT IN ('succeed', 'failed')) \
         AND (? = 0 OR dead_time IS NOT NULL) ORDER BY id DESC LIMIT ?";
    let words = [&filter.gid, &filter.status, &filter.pattern];
    let words = words.map(|word| word.as_deref().map_or(Value::Null, text));
    let times = [filter.from, filter.to].map(|time| time.map_or(Value::Null, moment));
    let mut values = vec![Value::UInt(filter.below.unwrap_or(u64::MAX))];
    for value in words.into_iter().chain(times) {
        values.extend([value.clone(), value]);
    }
    let flags = [filter.unfinished, filter.dead];
    values.extend(flags.map(|flag| Value::UInt(flag.into())));
    values.push(Value::UInt(filter.limit));
    let mut listed = Vec::new();
    for row in connection.run(LIST, &values)?.rows {
        let mut row = Row(row.into_iter());
        let gid = row.text();
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
}

/// Counts unfinished transactions.
pub(crate) fn unfinished(connection: &mut dyn Connection) -> Result<Vec<Unfinished>, SqlError> {
    const COUNT: &str = "SELECT trans_type, status, COUNT(*), COUNT(dead_time) \
         FROM global_transactions WHERE next_run_us <= ? GROUP BY trans_type, status";
    let counted = |row: Vec<Value>| {
        let mut row = Row(row.into_iter());
        Some(Unfinished {
            pattern: Pattern::parse(&row.text())?,
            status: Status::parse(&row.text())?,
            count: row.number(),
            dead: row.number(),
        })
    };
    let answer = connection.run(COUNT, &[Value::UInt(NO_TIME)])?;
    Ok(answer.rows.into_iter().filter_map(counted).collect())
}

/// Who wants the messages of a topic. A row without a url is nobody's: it counts the changes, and
/// keeps a topic known that had subscribers and has none now.
pub(crate) fn subscribers(
    connection: &mut dyn Connection,
    topic: &str,
) -> Result<Vec<Topic>, SqlError> {
    const SUBSCRIBERS: &str = "SELECT topic, url, remark FROM topics WHERE topic = ? AND url <> '' \
         ORDER BY create_time, url";
    let subscriber = |row: Vec<Value>| {
        let mut row = Row(row.into_iter());
        Topic {
            topic: row.text(),
            url: row.text(),
            remark: row.text(),
        }
    };
    let answer = connection.run(SUBSCRIBERS, &[text(topic)])?;
    Ok(answer.rows.into_iter().map(subscriber).collect())
}

/// Topics whose names come after this one, in order.
pub(crate) fn topics(
    connection: &mut dyn Connection,
    after: &str,
    limit: u64,
) -> Result<Vec<Named>, SqlError> {
    const TOPICS: &str = "SELECT topic, MIN(create_time), MAX(create_time), MAX(version) FROM topics \
         WHERE topic > ? GROUP BY topic ORDER BY topic LIMIT ?";
    let answer = connection.run(TOPICS, &[text(after), Value::UInt(limit)])?;
    Ok(answer.rows.into_iter().map(named).collect())
}

/// A topic by its name.
pub(crate) fn topic(
    connection: &mut dyn Connection,
    name: &str,
) -> Result<Option<Named>, SqlError> {
    const TOPIC: &str = "SELECT topic, MIN(create_time), MAX(create_time), MAX(version) FROM topics \
         WHERE topic = ? GROUP BY topic";
    let mut rows = connection.run(TOPIC, &[text(name)])?.rows;
    Ok(rows.pop().map(named))
}

fn named(row: Vec<Value>) -> Named {
    let mut row = Row(row.into_iter());
    Named {
        name: row.text(),
        created: row.moment().unwrap_or(0),
        updated: row.moment().unwrap_or(0),
        version: row.number(),
    }
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

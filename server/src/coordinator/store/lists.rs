//! Lists of transactions, and topics.

use super::{
    super::model::{Global, Micros},
    connection::Connection,
    rows::{Row, moment, read_global, text},
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
    /// When the first of its subscribers came.
    pub created: Micros,
    /// When the last of them came.
    pub updated: Micros,
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

/// A transaction in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its number.
    pub id: u64,
    /// Itself.
    pub global: Global,
}

/// Transactions, the newest first.
pub(in crate::coordinator) fn list(
    connection: &mut dyn Connection,
    filter: &Filter,
) -> Result<Vec<Listed>, SqlError> {
    // One statement for all filters: what is not asked for is NULL, and true.
    const LIST: &str = "SELECT id, gid, trans_type, status, query_prepared, protocol, steps, \
         custom_data, options, rollback_reason, result, retry_count, query_interval_us, \
         next_run_us, create_time, finish_time, rollback_time, dead_time FROM global_transactions \
         WHERE id < ? AND (? IS NULL OR gid = ?) AND (? IS NULL OR status = ?) \
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
        let (id, gid) = (row.number(), row.text());
        let global = read_global(gid, &mut row)?;
        listed.push(Listed { id, global });
    }
    Ok(listed)
}

/// Who wants the messages of a topic.
pub(in crate::coordinator) fn subscribers(
    connection: &mut dyn Connection,
    topic: &str,
) -> Result<Vec<Topic>, SqlError> {
    const SUBSCRIBERS: &str =
        "SELECT topic, url, remark FROM topics WHERE topic = ? ORDER BY create_time, url";
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
pub(in crate::coordinator) fn topics(
    connection: &mut dyn Connection,
    after: &str,
    limit: u64,
) -> Result<Vec<Named>, SqlError> {
    const TOPICS: &str = "SELECT topic, MIN(create_time), MAX(create_time) FROM topics \
         WHERE topic > ? GROUP BY topic ORDER BY topic LIMIT ?";
    let answer = connection.run(TOPICS, &[text(after), Value::UInt(limit)])?;
    Ok(answer.rows.into_iter().map(named).collect())
}

/// A topic by its name.
pub(in crate::coordinator) fn topic(
    connection: &mut dyn Connection,
    name: &str,
) -> Result<Option<Named>, SqlError> {
    const TOPIC: &str = "SELECT topic, MIN(create_time), MAX(create_time) FROM topics \
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
    }
}

/// Adds a subscriber. False: it is one.
pub(in crate::coordinator) fn subscribe(
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
    match connection.run(INSERT, &values) {
        Ok(_) => Ok(true),
        Err(error) if error.code == 1062 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a subscriber. False: it is none.
pub(in crate::coordinator) fn unsubscribe(
    connection: &mut dyn Connection,
    topic: &str,
    url: &str,
) -> Result<bool, SqlError> {
    const DELETE: &str = "DELETE FROM topics WHERE topic = ? AND url = ?";
    let answer = connection.run(DELETE, &[text(topic), text(url)])?;
    Ok(answer.affected > 0)
}

/// Removes a topic. False: there is none.
pub(in crate::coordinator) fn delete_topic(
    connection: &mut dyn Connection,
    topic: &str,
) -> Result<bool, SqlError> {
    const DELETE: &str = "DELETE FROM topics WHERE topic = ?";
    Ok(connection.run(DELETE, &[text(topic)])?.affected > 0)
}

//! What transactions wait for.
//!
//! Their names are found first, by whatever index leads to few rows, then what each waits for, so
//! many at once: no request for each, and never more than a part of the rows in memory. What a
//! transaction waits for is what `decide` would call next. Branches that are being called, and
//! whose rows know of no failure, may be further than their rows say.

use super::{
    super::{
        call,
        decide::{Moment, Operation, Transaction, Waiting},
        model::{Global, Micros, Pattern, Status},
        plan,
    },
    connection::Connection,
    filter::Filter,
    rows::{
        BRANCH_COLUMNS, Placed, Row, SHORT_COLUMNS, apply_calls, corrupt, place, read_each,
        read_global, read_placed, text,
    },
};
use cohort_engine::types::Value;
use cohort_sql::SqlError;
use std::{cmp::Reverse, collections::HashMap};

/// No more transactions are looked at for one list.
pub const LOOKED_AT_MAX: usize = 100_000;
/// So many are looked into at once.
pub const CHUNK: usize = 50;
/// Of branches that are waited for at once so many are told.
const AWAITED_MAX: usize = 16;

/// Transactions that a filter finds.
#[derive(Debug, Default)]
pub struct Found {
    /// Their names, the newest first.
    pub gids: Vec<String>,
    /// There are more.
    pub has_more: bool,
}

/// A transaction without what it sends, and what it waits for.
#[derive(Clone, Debug)]
pub struct Summary {
    /// What it is.
    pub global: Global,
    /// Branches, or the client, whose answers it waits for.
    pub awaited: Vec<Awaited>,
    /// Nothing is done before then.
    pub until: Option<Micros>,
}

impl Summary {
    /// What a transaction waits for; `question_error` is why the last question to its client was
    /// not answered.
    #[must_use]
    pub fn of(transaction: &Transaction, question_error: String, moment: Moment) -> Summary {
        let global = &transaction.global;
        let (mut awaited, mut until) = (Vec::new(), None);
        match transaction.waits_for(moment) {
            Waiting::Branches(places) => awaited = awaited_branches(transaction, places),
            Waiting::Question => awaited.push(Awaited {
                branch_id: "00".to_owned(),
                op: "query_prepared".to_owned(),
                url: global.query_prepared.clone(),
                attempts: global.retry_count,
                last_error: question_error,
                next_call: global.next_run,
            }),
            Waiting::Time(time) => until = Some(time),
            Waiting::Nothing => {}
        }
        Summary {
            global: (**global).clone(),
            awaited,
            until,
        }
    }
}

/// Whose answer is waited for.
#[derive(Clone, Debug)]
pub struct Awaited {
    /// The branch; `00`: the client.
    pub branch_id: String,
    /// Its operation.
    pub op: String,
    /// Where it is called.
    pub url: String,
    /// Calls so far.
    pub attempts: u64,
    /// Why the last one did not succeed.
    pub last_error: String,
    /// When it is called again.
    pub next_call: Micros,
}

impl Awaited {
    /// Which host is to answer.
    #[must_use]
    pub fn host(&self) -> &str {
        call::host_of(&self.url)
    }
}

/// Names of those that a filter finds, as far as SQL can tell.
pub(super) fn find(connection: &mut dyn Connection, filter: &Filter) -> Result<Found, SqlError> {
    let (conditions, mut values) = filter.conditions();
    // Of few there are, an index of their own leads to them, and the order comes later.
    let order = match filter.is_of_unfinished() || filter.gid.is_some() || filter.prefix.is_some() {
        true => "",
        false => "ORDER BY id DESC",
    };
    let find =
        format!("SELECT gid, id FROM global_transactions WHERE {conditions} {order} LIMIT ?");
    values.push(Value::UInt(LOOKED_AT_MAX as u64 + 1));
    let mut found = Vec::new();
    for row in connection.run(&find, &values)?.rows {
        let mut row = Row::of(row);
        let gid = row.text()?;
        found.push((row.number()?, gid));
    }
    found.sort_unstable_by(|a, b| b.cmp(a));
    let has_more = found.len() > LOOKED_AT_MAX;
    found.truncate(LOOKED_AT_MAX);
    let gids = found.into_iter().map(|(_, gid)| gid).collect();
    Ok(Found { gids, has_more })
}

/// What these wait for, [`CHUNK`] of them at most. Left out is what is gone meanwhile, and what
/// the filter does not mean.
pub(super) fn look_into(
    connection: &mut dyn Connection,
    gids: &[String],
    filter: &Filter,
    moment: Moment,
) -> Result<Vec<Summary>, SqlError> {
    let transactions = read_all(connection, gids)?;
    let is_asked = |transaction: &&Transaction| {
        transaction.global.retry_count > 0 && transaction.waits_for(moment) == Waiting::Question
    };
    let asked = transactions.iter().filter(is_asked);
    let asked: Vec<String> = asked.map(|asked| asked.global.gid.clone()).collect();
    let mut errors = match asked.is_empty() {
        true => HashMap::new(),
        false => questions_errors(connection, &asked)?,
    };
    let summaries = transactions.into_iter().map(|transaction| {
        let error = errors.remove(&transaction.global.gid).unwrap_or_default();
        (Summary::of(&transaction, error, moment), transaction)
    });
    let meant = summaries.filter(|(summary, transaction)| is_meant(filter, summary, transaction));
    Ok(meant.map(|(summary, _)| summary).collect())
}

/// What a change would come to.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Which transaction.
    pub gid: String,
    /// Its kind.
    pub pattern: Pattern,
    /// Its status before the change.
    pub status: Status,
    /// Why it would be refused, if it would.
    pub outcome: Result<(), String>,
}

/// What an operation would come to with each of these that the filter means, [`CHUNK`] of them at
/// most.
pub(super) fn try_out(
    connection: &mut dyn Connection,
    gids: &[String],
    filter: &Filter,
    operation: &Operation,
    moment: Moment,
) -> Result<Vec<Tried>, SqlError> {
    let mut all = Vec::new();
    for mut transaction in read_all(connection, gids)? {
        if !is_meant(
            filter,
            &Summary::of(&transaction, String::new(), moment),
            &transaction,
        ) {
            continue;
        }
        let (pattern, status) = (transaction.global.pattern, transaction.global.status);
        all.push(Tried {
            gid: transaction.global.gid.clone(),
            pattern,
            status,
            outcome: transaction.operate(operation, "", moment.now),
        });
    }
    Ok(all)
}

/// These transactions without what they send, the newest first.
fn read_all(
    connection: &mut dyn Connection,
    gids: &[String],
) -> Result<Vec<Transaction>, SqlError> {
    let select = of_each(
        "SELECT gid, payloads <> '', calls, {} FROM global_transactions WHERE gid IN ()",
        &SHORT_COLUMNS,
    );
    let mut branches = branches(connection, gids)?;
    let mut transactions = Vec::new();
    for row in connection.run(&select, &names(gids))?.rows {
        let mut row = Row::of(row);
        let gid = row.text()?;
        let branches = branches.remove(&gid).unwrap_or_default();
        transactions.push(read(gid, &mut row, branches)?);
    }
    transactions.sort_unstable_by_key(|transaction| Reverse(transaction.global.id));
    Ok(transactions)
}

/// A statement about `CHUNK` names, with these columns.
pub(super) fn of_each(statement: &str, columns: &str) -> String {
    let list = format!("IN ({})", vec!["?"; CHUNK].join(", "));
    statement.replace("{}", columns).replace("IN ()", &list)
}

/// `CHUNK` names, of which the last may be there more than once.
pub(super) fn names(gids: &[impl AsRef<str>]) -> Vec<Value> {
    let last = gids.last().into_iter().cycle();
    gids.iter()
        .chain(last)
        .take(CHUNK)
        .map(|gid| text(gid.as_ref()))
        .collect()
}

/// The rows of their branches, without what is sent to them.
fn branches(
    connection: &mut dyn Connection,
    gids: &[String],
) -> Result<HashMap<String, Vec<Placed>>, SqlError> {
    let columns = BRANCH_COLUMNS.replace("body", "''");
    let select = of_each(
        "SELECT gid, {} FROM branches WHERE gid IN () ORDER BY gid, position",
        &columns,
    );
    let mut found: HashMap<String, Vec<Placed>> = HashMap::new();
    for row in connection.run(&select, &names(gids))?.rows {
        let mut row = Row::of(row);
        let gid = row.text()?;
        found.entry(gid).or_default().push(read_placed(&mut row)?);
    }
    Ok(found)
}

/// A transaction from its row and its branches', without what is sent to them.
fn read(gid: String, row: &mut Row, rows: Vec<Placed>) -> Result<Transaction, SqlError> {
    let (is_planned, calls) = (row.number()? != 0, row.text_or_null()?);
    let mut global = read_global(gid, row)?;
    let mut branches = Vec::new();
    if is_planned {
        let steps = serde_json::from_str::<Vec<_>>(&global.steps).ok();
        let planned = steps.and_then(|steps| plan::branches(global.pattern, &steps, &[]));
        branches = planned.ok_or_else(|| corrupt("steps"))?;
        apply_calls(calls.as_deref(), &mut branches)?;
    }
    place(is_planned, &mut branches, rows)?;
    global.steps.clear();
    Ok(Transaction::read_back(global, branches))
}

/// Why the last question to each client was not answered.
fn questions_errors(
    connection: &mut dyn Connection,
    gids: &[String],
) -> Result<HashMap<String, String>, SqlError> {
    let select = of_each(
        "SELECT a.gid, a.error FROM attempts a JOIN (SELECT gid, MAX(started) AS last \
         FROM attempts WHERE branch_id = '00' AND gid IN () GROUP BY gid) b \
         ON a.gid = b.gid AND a.started = b.last WHERE a.branch_id = '00'",
        "",
    );
    let error = |row: &mut Row| Ok((row.text()?, row.text()?));
    read_each(connection.run(&select, &names(gids))?, error)
}

/// Whether a filter means it, as far as its branches tell.
fn is_meant(filter: &Filter, summary: &Summary, transaction: &Transaction) -> bool {
    let waits_for = |host: &String| {
        let mut awaited = summary.awaited.iter();
        awaited.any(|awaited| awaited.host() == host)
    };
    let calls = |part: &String| {
        let mut urls = transaction.branches.iter().map(|branch| &branch.url);
        let asks = transaction.global.query_prepared.contains(part);
        asks || urls.any(|url| url.contains(part))
    };
    filter.host.as_ref().is_none_or(waits_for) && filter.url.as_ref().is_none_or(calls)
}

/// Those that failed first: they say more than others beside them.
fn awaited_branches(transaction: &Transaction, mut places: Vec<usize>) -> Vec<Awaited> {
    let branch = |place: usize| transaction.branches.get(place);
    places.sort_by_key(|&place| branch(place).is_none_or(|branch| branch.last_error.is_empty()));
    let branches = places.into_iter().filter_map(branch).take(AWAITED_MAX);
    let awaited = branches.map(|branch| Awaited {
        branch_id: branch.branch_id.clone(),
        op: branch.op.clone(),
        url: branch.url.clone(),
        attempts: branch.attempts,
        last_error: branch.last_error.clone(),
        next_call: transaction.next_call(branch),
    });
    awaited.collect()
}

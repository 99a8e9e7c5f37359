//! Reading and writing the rows.

use super::{
    super::{
        decide::Transaction,
        model::{
            Branch, BranchStatus, CLOCKS_APART, CopyOnWrite, Global, Micros, Note, Pattern, Status,
            Timing,
        },
        plan,
    },
    connection::{Answer, Connection},
    webhooks,
};
use cohort_coordinator_core::outside::{Attempt, By, Due, Saved};
use cohort_engine::types::{DateTime, Value};
use cohort_sql::SqlError;
use std::sync::LazyLock;

/// `next_run_us` of what has ended.
const NEVER: u64 = u64::MAX;
/// And of what is unfinished, and waits for somebody: it counts among the unfinished.
pub(super) const NO_TIME: u64 = NEVER - 1;
/// The largest that is a time.
pub const LAST_TIME: Micros = NO_TIME - 1;
/// A unique key's value is there already.
const DUPLICATE: u16 = 1062;

/// Which unfinished transactions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those whose time has come.
    Due,
    /// Those that a clock has written that was ahead; see [`Transaction::rebase`].
    Ahead,
}

/// What registering a branch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It is durable.
    Yes,
    /// It is there already.
    Duplicate,
    /// No such transaction is prepared.
    NoTransaction,
    /// The transaction is of this kind.
    OtherKind(Pattern),
}

pub(super) fn text(value: &str) -> Value {
    Value::Bytes(value.as_bytes().to_vec())
}

pub(super) fn moment(micros: Micros) -> Value {
    /// The end of the year 9999: what is later is as good as then.
    const LAST: Micros = 253_402_300_799_999_999;
    let micros = i64::try_from(micros.min(LAST)).unwrap_or(i64::MAX);
    DateTime::from_unix_micros(micros).map_or(Value::Null, Value::DateTime)
}

pub(super) fn moment_or_null(micros: Option<Micros>) -> Value {
    micros.map_or(Value::Null, moment)
}

/// Takes a row's values one after another. What is not what the tables' columns have is an error.
pub(super) struct Row {
    values: std::vec::IntoIter<Value>,
    /// How many were taken.
    taken: usize,
}

impl Row {
    pub fn of(row: Vec<Value>) -> Self {
        let values = row.into_iter();
        Self { values, taken: 0 }
    }

    fn next(&mut self) -> Result<Value, SqlError> {
        self.taken += 1;
        self.values.next().ok_or_else(|| self.other("there"))
    }

    /// The value that was just taken is not that.
    fn other(&self, expected: &str) -> SqlError {
        let columns = self.taken + self.values.len();
        corrupt(&format!(
            "column {} of {columns} that were read is not {expected}",
            self.taken
        ))
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, SqlError> {
        match self.next()? {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(self.other("text")),
        }
    }

    pub fn text(&mut self) -> Result<String, SqlError> {
        String::from_utf8(self.bytes()?).map_err(|_| self.other("text in UTF-8"))
    }

    pub fn text_or_null(&mut self) -> Result<Option<String>, SqlError> {
        self.or_null(Self::text)
    }

    pub fn number(&mut self) -> Result<u64, SqlError> {
        match self.next()? {
            Value::UInt(number) => Ok(number),
            Value::Int(number) => u64::try_from(number).map_err(|_| self.other("a count")),
            _ => Err(self.other("a number")),
        }
    }

    pub fn number_or_null(&mut self) -> Result<Option<u64>, SqlError> {
        self.or_null(Self::number)
    }

    /// A branch's place among those of its transaction.
    pub fn position(&mut self) -> Result<usize, SqlError> {
        usize::try_from(self.number()?).map_err(|_| self.other("a position"))
    }

    pub fn moment(&mut self) -> Result<Micros, SqlError> {
        match self.next()? {
            Value::DateTime(at) => {
                u64::try_from(at.unix_micros()).map_err(|_| self.other("after 1970"))
            }
            _ => Err(self.other("a time")),
        }
    }

    pub fn moment_or_null(&mut self) -> Result<Option<Micros>, SqlError> {
        self.or_null(Self::moment)
    }

    pub fn pattern(&mut self) -> Result<Pattern, SqlError> {
        Pattern::parse(&self.text()?).ok_or_else(|| self.other("a kind of transaction"))
    }

    pub fn status(&mut self) -> Result<Status, SqlError> {
        Status::parse(&self.text()?).ok_or_else(|| self.other("a status"))
    }

    fn or_null<T>(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<Option<T>, SqlError> {
        if let [Value::Null, ..] = self.values.as_slice() {
            self.next()?;
            return Ok(None);
        }
        take(self).map(Some)
    }
}

/// All rows of an answer, each read like this.
pub(super) fn read_each<T, All: FromIterator<T>>(
    answer: Answer,
    mut read: impl FnMut(&mut Row) -> Result<T, SqlError>,
) -> Result<All, SqlError> {
    let rows = answer.rows.into_iter();
    rows.map(|row| read(&mut Row::of(row))).collect()
}

/// The number that was asked for, if there is a row.
pub(super) fn number(mut answer: Answer) -> Result<Option<u64>, SqlError> {
    let row = answer.rows.pop().map(Row::of);
    row.map(|mut row| row.number()).transpose()
}

pub(super) fn corrupt(what: &str) -> SqlError {
    SqlError::unknown_error(format_args!("the coordinator's tables: {what}"))
}

/// Whether a row was inserted. False: its key is there already, which is an answer like any other
/// and costs those nothing who share the transaction, since an error takes back its statement only.
pub(super) fn is_new(inserted: Result<(), SqlError>) -> Result<bool, SqlError> {
    match inserted {
        Ok(()) => Ok(true),
        Err(error) if error.code == DUPLICATE => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a new transaction known, which this coordinator drives from the beginning or nobody does.
/// False: there is one of this name.
pub(crate) fn insert(
    connection: &mut dyn Connection,
    transaction: &Transaction,
    is_driven: bool,
) -> Result<bool, SqlError> {
    const INSERT: &str = "INSERT INTO global_transactions (gid, trans_type, status, \
         query_prepared, protocol, steps, custom_data, options, rollback_reason, result, \
         retry_count, query_interval_us, next_run_us, create_time, update_time, finish_time, \
         rollback_time, dead_time, owner, payloads, is_exact) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let global = &transaction.global;
    let options = serde_json::to_string(&global.options).unwrap_or_default();
    let values = [
        text(&global.gid),
        text(global.pattern.name()),
        text(global.status.name()),
        text(&global.query_prepared),
        text(&global.protocol),
        text(&global.steps),
        text(&global.custom_data),
        text(&options),
        text(&global.rollback_reason),
        text(&global.result),
        Value::UInt(global.retry_count),
        Value::UInt(global.query_interval),
        Value::UInt(next_run(global)),
        moment(global.created),
        moment(global.created),
        moment_or_null(global.finished),
        moment_or_null(global.rolled_back),
        moment_or_null(global.dead_since),
        Value::UInt(if is_driven { connection.owner() } else { 0 }),
        text(&global.payloads),
        // Nothing is called before it is read again.
        Value::UInt(u64::from(!is_driven)),
    ];
    if !is_new(connection.run(INSERT, &values).map(drop))? {
        return Ok(false);
    }
    if !global.is_planned() {
        let branches = (0..).zip(&transaction.branches);
        insert_branches(connection, (NEW, global.created), &global.gid, branches)?;
    }
    insert_notes(connection, &global.gid, &transaction.notes)?;
    Ok(true)
}

/// Ends of statements that insert rows: one that is there already is an error, or stays as it is.
/// INSERT IGNORE would hide other errors, too.
const NEW: &str = "";
const UNLESS_THERE: &str = " ON DUPLICATE KEY UPDATE gid = gid";

/// Adds branches at these positions.
fn insert_branches<'a>(
    connection: &mut dyn Connection,
    (end, now): (&str, Micros),
    gid: &str,
    branches: impl Iterator<Item = (u64, &'a CopyOnWrite<Branch>)>,
) -> Result<(), SqlError> {
    const INSERT: &str = "INSERT INTO branches (gid, position, branch_id, op, url, body, \
         status, attempts, errors, last_error, not_before_us, interval_us, answer, create_time, \
         update_time, end_time, called_time, duration_us, failing_time) VALUES ";
    const ROW: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let rows = branches.map(|(position, branch)| {
        let [called, duration] = only_call(branch);
        [
            text(gid),
            Value::UInt(position),
            text(&branch.branch_id),
            text(&branch.op),
            text(&branch.url),
            Value::Bytes(branch.body.clone()),
            text(branch.status.name()),
            Value::UInt(branch.attempts),
            Value::UInt(branch.errors),
            text(&branch.last_error),
            Value::UInt(branch.not_before),
            Value::UInt(branch.interval),
            text(&branch.answer),
            moment(now),
            moment(now),
            moment_or_null(branch.ended),
            called,
            duration,
            moment_or_null(branch.failing_since),
        ]
    });
    insert_rows(connection, (INSERT, ROW, end), rows)
}

/// `called_time` and `duration_us` of a branch.
fn only_call(branch: &Branch) -> [Value; 2] {
    branch.only_call.map_or([Value::Null, Value::Null], |call| {
        [moment(call.started), Value::UInt(call.duration_us)]
    })
}

/// Inserts rows, several with each statement.
fn insert_rows<const N: usize>(
    connection: &mut dyn Connection,
    (insert, row, end): (&str, &str, &str),
    rows: impl Iterator<Item = [Value; N]>,
) -> Result<(), SqlError> {
    /// So there are that many statements to prepare at most.
    const ROWS_MAX: usize = 8;
    /// What is larger is inserted by itself: packets have a limit.
    const BYTES_MAX: usize = 128 << 10;
    let mut rows = rows.peekable();
    while let Some(first) = rows.next() {
        let mut bytes = bytes_of(&first);
        let mut values = Vec::from(first);
        while values.len() < ROWS_MAX * N
            && let Some(next) = rows.next_if(|next| bytes + bytes_of(next) <= BYTES_MAX)
        {
            bytes += bytes_of(&next);
            values.extend(next);
        }
        let rows = vec![row; values.len() / N].join(", ");
        connection.run(&format!("{insert}{rows}{end}"), &values)?;
    }
    Ok(())
}

/// How large the texts of a row are.
fn bytes_of(row: &[Value]) -> usize {
    let bytes = row.iter().map(|value| match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    });
    bytes.sum()
}

fn next_run(global: &Global) -> u64 {
    if global.status.is_final() {
        NEVER
    } else {
        global.next_run.min(NO_TIME)
    }
}

/// Writes what has changed since `before`, if the status is still that one's, and if whoever
/// claims to drive it still does.
pub(crate) fn save(
    connection: &mut dyn Connection,
    by: By,
    before: &Transaction,
    transaction: &Transaction,
    attempts: &[Attempt],
    now: Micros,
) -> Result<Saved, SqlError> {
    // Somebody else may know less of a branch than its row: then the row is right.
    const BRANCH: &str = "UPDATE branches SET status = ?, attempts = ?, errors = ?, \
         last_error = ?, not_before_us = ?, interval_us = ?, answer = ?, update_time = ?, \
         end_time = ?, called_time = ?, duration_us = ?, failing_time = ? \
         WHERE gid = ? AND branch_id = ? AND op = ? AND attempts = ?";
    // A clock that was set back may make one look like a call already recorded.
    const ATTEMPT: &str = "INSERT INTO attempts (gid, started, branch_id, op, \
         duration_us, result, error) VALUES ";
    let global = &transaction.global;
    if !save_global(connection, by, before, transaction, now)? {
        return Ok(Saved::TooLate);
    }
    let is_there = |branch: &Branch| is_in_global(global, branch);
    let is_fresh = |before: &Branch| is_only_planned(global, before);
    let changed = changed_rows(before, transaction);
    let fresh = changed.clone().filter(|(_, (_, then))| is_fresh(then));
    let fresh = fresh.map(|(position, (now, _))| (position, now));
    // What more happens to one that only the transaction's row knows of is written into its own.
    let known = changed.clone().filter(|(_, (_, then))| is_there(then));
    let known = known.map(|(position, (_, then))| (position, then));
    insert_branches(
        connection,
        (UNLESS_THERE, now),
        &global.gid,
        fresh.chain(known),
    )?;
    for (_, (branch, before)) in changed.filter(|(_, (_, then))| !is_fresh(then)) {
        let [called, duration] = only_call(branch);
        let values = [
            text(branch.status.name()),
            Value::UInt(branch.attempts),
            Value::UInt(branch.errors),
            text(&branch.last_error),
            Value::UInt(branch.not_before),
            Value::UInt(branch.interval),
            text(&branch.answer),
            moment(now),
            moment_or_null(branch.ended),
            called,
            duration,
            moment_or_null(branch.failing_since),
            text(&global.gid),
            text(&branch.branch_id),
            text(&branch.op),
            Value::UInt(before.attempts),
        ];
        connection.run(BRANCH, &values)?;
    }
    let rows = attempts.iter().map(|attempt| {
        [
            text(&global.gid),
            moment(attempt.timing.started),
            text(&attempt.branch_id),
            text(&attempt.op),
            Value::UInt(attempt.timing.duration_us),
            text(&attempt.result),
            text(&attempt.error),
        ]
    });
    let attempt = (ATTEMPT, "(?, ?, ?, ?, ?, ?, ?)", UNLESS_THERE);
    insert_rows(connection, attempt, rows)?;
    insert_notes(connection, &global.gid, &transaction.notes)?;
    if webhooks::is_end(before.global.status, transaction) {
        webhooks::insert(connection, global, now)?;
    }
    Ok(Saved::Yes)
}

/// Whether all that is known of a branch is in the transaction's row, unless it is a branch's own row
/// that knows of it.
fn is_in_global(global: &Global, branch: &Branch) -> bool {
    global.is_planned() && branch.only_success().is_some()
}

/// Whether a branch has no row yet. The first change of what was only planned makes its row, unless it
/// is there after all.
fn is_only_planned(global: &Global, branch: &Branch) -> bool {
    global.is_planned() && branch.is_untouched()
}

/// The branches of which their own rows are to know more, with their positions.
fn changed_rows<'a>(
    before: &'a Transaction,
    after: &'a Transaction,
) -> impl Iterator<Item = (u64, (&'a CopyOnWrite<Branch>, &'a CopyOnWrite<Branch>))> + Clone {
    let global = &after.global;
    let pairs = after.branches.iter().zip(&before.branches);
    let changed = (0..).zip(pairs).filter(|(_, (now, then))| now != then);
    changed.filter(|(_, (now, then))| !(is_in_global(global, now) && is_only_planned(global, then)))
}

/// Whether a save makes rows.
pub(crate) fn makes_rows(before: &Transaction, after: &Transaction, attempts: &[Attempt]) -> bool {
    let global = &after.global;
    let has_row = |then: &Branch| !is_only_planned(global, then) && !is_in_global(global, then);
    let is_told = !global.options.end_webhook.is_empty();
    !attempts.is_empty()
        || !after.notes.is_empty()
        || is_told && webhooks::is_end(before.global.status, after)
        || changed_rows(before, after).any(|(_, (_, then))| !has_row(then))
}

/// Writes the unusual things that happened.
pub(super) fn insert_notes(
    connection: &mut dyn Connection,
    gid: &str,
    notes: &[Note],
) -> Result<(), SqlError> {
    const NOTE: &str = "INSERT INTO changes (gid, time, cause, status_before, status_after, \
         reason) VALUES ";
    const REASON_CHARACTERS_MAX: usize = 1_000;
    let rows = notes.iter().map(|note| {
        let reason: String = note.reason.chars().take(REASON_CHARACTERS_MAX).collect();
        [
            text(gid),
            moment(note.time),
            text(note.cause.name()),
            text(note.from.name()),
            text(note.to.name()),
            text(&reason),
        ]
    });
    insert_rows(connection, (NOTE, "(?, ?, ?, ?, ?, ?)", NEW), rows)
}

/// Writes a transaction without its branches, unless somebody was faster. One that has ended has
/// no owner.
fn save_global(
    connection: &mut dyn Connection,
    by: By,
    before: &Transaction,
    transaction: &Transaction,
    now: Micros,
) -> Result<bool, SqlError> {
    macro_rules! update {
        ([$($more:literal),*], $only:literal) => {
            concat!(
                "UPDATE global_transactions SET status = ?, rollback_reason = ?, result = ?, \
                 next_run_us = ?, create_time = ?, update_time = ?, finish_time = ?, \
                 rollback_time = ?, submit_time = ?, is_exact = is_exact OR ?, \
                 calls = COALESCE(?, calls)",
                $($more,)*
                " WHERE gid = ? AND status = ?",
                $only
            )
        };
    }
    macro_rules! update_all {
        ($more:literal, $only:literal) => {
            update!(
                [
                    ", retry_count = ?, query_interval_us = ?, dead_time = ?, failing_time = ?",
                    $more
                ],
                $only
            )
        };
    }
    let global = &transaction.global;
    let owner = connection.owner();
    let is_own = owner != 0 && by.is_owner();
    let statement = match by {
        _ if is_own => update_all!(", owner = ?", " AND owner = ?"),
        By::Client => update!([], ""),
        By::Driver | By::Leaver | By::Operator => update_all!("", ""),
    };
    let mut values = vec![
        text(global.status.name()),
        text(&global.rollback_reason),
        text(&global.result),
        Value::UInt(next_run(global)),
        // Only a clock that was ahead changes it.
        moment(global.created),
        moment(now),
        moment_or_null(global.finished),
        moment_or_null(global.rolled_back),
        moment_or_null(global.submitted),
        Value::UInt(global.is_exact.into()),
        new_calls(before, transaction).map_or(Value::Null, Value::Bytes),
    ];
    if by != By::Client {
        values.extend([
            Value::UInt(global.retry_count),
            Value::UInt(global.query_interval),
            moment_or_null(global.dead_since),
            moment_or_null(global.failing_since),
        ]);
    }
    if is_own {
        let stays = by == By::Driver && !global.status.is_final();
        values.push(Value::UInt(if stays { owner } else { 0 }));
    }
    values.extend([text(&global.gid), text(before.global.status.name())]);
    if is_own {
        values.push(Value::UInt(owner));
    }
    Ok(connection.run(statement, &values)?.affected > 0)
}

/// What the transaction's row has to be told of calls that succeeded. `None`: nothing new; what
/// others have written there meanwhile stays.
fn new_calls(before: &Transaction, transaction: &Transaction) -> Option<Vec<u8>> {
    let mut pairs = transaction.branches.iter().zip(&before.branches);
    let is_new = pairs.any(|(now, then)| now.only_success() != then.only_success());
    let is_told = transaction.global.is_planned() && is_new;
    is_told.then(|| plan::calls(&transaction.branches).into_bytes())
}

/// A transaction by its name.
pub(crate) fn load(
    connection: &mut dyn Connection,
    gid: &str,
) -> Result<Option<Transaction>, SqlError> {
    static GLOBAL: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT payloads, calls, {COLUMNS} FROM global_transactions WHERE gid = ?")
    });
    static BRANCHES: LazyLock<String> = LazyLock::new(|| {
        format!("SELECT {BRANCH_COLUMNS} FROM branches WHERE gid = ? ORDER BY position")
    });
    let Some(row) = connection.run(&GLOBAL, &[text(gid)])?.rows.pop() else {
        return Ok(None);
    };
    let mut row = Row::of(row);
    let (payloads, calls) = (row.text()?, row.text_or_null()?);
    let mut global = read_global(gid.to_owned(), &mut row)?;
    global.payloads = payloads;
    let mut branches = Vec::new();
    if global.is_planned() {
        branches = plan::read(global.pattern, &global.steps, &global.payloads)
            .ok_or_else(|| corrupt("steps or payloads"))?;
        apply_calls(calls.as_deref(), &mut branches)?;
    }
    let rows = read_each(connection.run(&BRANCHES, &[text(gid)])?, read_placed)?;
    place(global.is_planned(), &mut branches, rows)?;
    Ok(Some(Transaction::read_back(global, branches)))
}

/// The same, unless it is larger than this: `None`.
pub(super) fn load_up_to(
    connection: &mut dyn Connection,
    gid: &str,
    bytes: u64,
) -> Result<Option<Option<Transaction>>, SqlError> {
    match size(connection, gid)? <= bytes {
        true => load(connection, gid).map(Some),
        false => Ok(None),
    }
}

/// How large a transaction is about, in bytes; 0 if there is none.
pub(super) fn size(connection: &mut dyn Connection, gid: &str) -> Result<u64, SqlError> {
    // What a branch has besides is less than a kilobyte. No calls are NULL.
    const SIZE: &str = "SELECT LENGTH(payloads) + LENGTH(steps) + COALESCE(LENGTH(calls), 0) + \
         LENGTH(custom_data) + LENGTH(result) + LENGTH(rollback_reason) + LENGTH(options) + (SELECT CAST(COALESCE(SUM(\
         1000 + LENGTH(body) + LENGTH(answer)), 0) AS UNSIGNED) FROM branches b WHERE b.gid = g.gid) \
         FROM global_transactions g WHERE gid = ?";
    let Some(row) = connection.run(SIZE, &[text(gid)])?.rows.pop() else {
        return Ok(0);
    };
    Row::of(row).number()
}

/// A branch and its place among those of its transaction.
pub(super) type Placed = (usize, Branch);

/// Puts the branches that have rows among those that are planned; all have, if none are.
pub(super) fn place(
    is_planned: bool,
    branches: &mut Vec<Branch>,
    rows: Vec<Placed>,
) -> Result<(), SqlError> {
    for (position, branch) in rows {
        if is_planned {
            let planned = branches.get_mut(position);
            *planned.ok_or_else(|| corrupt("a branch beyond those that are planned"))? = branch;
        } else {
            branches.push(branch);
        }
    }
    Ok(())
}

/// Makes branches what the calls that their transaction's row tells of, if any, made of them.
pub(super) fn apply_calls(calls: Option<&str>, branches: &mut [Branch]) -> Result<(), SqlError> {
    plan::read_calls(calls.unwrap_or_default())
        .and_then(|calls| plan::apply(calls, branches))
        .ok_or_else(|| corrupt("calls"))
}

/// What [`read_global`] reads.
pub(super) const COLUMNS: &str = "trans_type, status, query_prepared, protocol, steps, \
     custom_data, options, rollback_reason, result, retry_count, query_interval_us, \
     next_run_us, create_time, update_time, finish_time, rollback_time, dead_time, submit_time, \
     failing_time, pause_time, paused_us, is_exact, id";
/// The same for lists, which have no room for all that may be large.
pub(super) static SHORT_COLUMNS: LazyLock<String> = LazyLock::new(|| {
    const SHORT: &str = "LEFT(rollback_reason, 4096), LEFT(result, 4096)";
    assert!(COLUMNS.contains("rollback_reason, result"));
    COLUMNS.replace("rollback_reason, result", SHORT)
});
/// A branch's position, and what [`read_branch`] reads.
pub(super) const BRANCH_COLUMNS: &str = "position, branch_id, op, url, body, status, attempts, \
     errors, last_error, not_before_us, interval_us, answer, end_time, called_time, duration_us, \
     failing_time";

/// A transaction from its [`COLUMNS`].
pub(super) fn read_global(gid: String, row: &mut Row) -> Result<Global, SqlError> {
    Ok(Global {
        gid,
        pattern: row.pattern()?,
        status: row.status()?,
        query_prepared: row.text()?,
        protocol: row.text()?,
        steps: row.text()?,
        payloads: String::new(),
        custom_data: row.text()?,
        options: serde_json::from_slice(&row.bytes()?).map_err(|_| corrupt("options"))?,
        rollback_reason: row.text()?,
        result: row.text()?,
        retry_count: row.number()?,
        query_interval: row.number()?,
        next_run: Some(row.number()?)
            .filter(|&at| at <= LAST_TIME)
            .unwrap_or(Micros::MAX),
        created: row.moment()?,
        updated: row.moment()?,
        finished: row.moment_or_null()?,
        rolled_back: row.moment_or_null()?,
        dead_since: row.moment_or_null()?,
        submitted: row.moment_or_null()?,
        failing_since: row.moment_or_null()?,
        paused_since: row.moment_or_null()?,
        paused_us: row.number()?,
        is_exact: row.number()? != 0,
        id: row.number()?,
    })
}

/// A branch from its [`BRANCH_COLUMNS`].
pub(super) fn read_placed(row: &mut Row) -> Result<Placed, SqlError> {
    Ok((row.position()?, read_branch(row)?))
}

fn read_branch(row: &mut Row) -> Result<Branch, SqlError> {
    Ok(Branch {
        branch_id: row.text()?,
        op: row.text()?,
        url: row.text()?,
        body: row.bytes()?,
        status: BranchStatus::parse(&row.text()?).ok_or_else(|| corrupt("a branch"))?,
        attempts: row.number()?,
        errors: row.number()?,
        last_error: row.text()?,
        not_before: row.number()?,
        interval: row.number()?,
        answer: row.text()?,
        ended: row.moment_or_null()?,
        only_call: read_only_call(row)?,
        failing_since: row.moment_or_null()?,
    })
}

/// When its only call was made, if there was just one.
fn read_only_call(row: &mut Row) -> Result<Option<Timing>, SqlError> {
    let call = (row.moment_or_null()?, row.number_or_null()?);
    match call {
        (None, None) => Ok(None),
        (Some(started), Some(duration_us)) => Ok(Some(Timing {
            started,
            duration_us,
        })),
        _ => Err(corrupt("called_time without duration_us, or the reverse")),
    }
}

/// Adds branches to a prepared transaction.
pub(crate) fn register(
    connection: &mut dyn Connection,
    gid: &str,
    pattern: Pattern,
    branches: &[CopyOnWrite<Branch>],
    now: Micros,
) -> Result<Registered, SqlError> {
    // Whatever it is counted for, nobody else counts meanwhile.
    const LOCK: &str = "SELECT trans_type, branch_count FROM global_transactions \
         WHERE gid = ? AND status = 'prepared' FOR UPDATE";
    const COUNT: &str = "SELECT COUNT(*) FROM branches WHERE gid = ?";
    // A cluster knows conflicts of writes only, since locks end at the node: this is one.
    const COUNTED: &str = "UPDATE global_transactions SET branch_count = ? WHERE gid = ?";
    let Some(row) = connection.run(LOCK, &[text(gid)])?.rows.pop() else {
        return Ok(Registered::NoTransaction);
    };
    let mut row = Row::of(row);
    let known = row.pattern()?;
    if known != pattern {
        return Ok(Registered::OtherKind(known));
    }
    let first = match row.number_or_null()? {
        Some(counted) => counted,
        None => number(connection.run(COUNT, &[text(gid)])?)?
            .ok_or_else(|| corrupt("no count of branches"))?,
    };
    // So few that one statement inserts them.
    let inserted = insert_branches(connection, (NEW, now), gid, (first..).zip(branches));
    if !is_new(inserted)? {
        return Ok(Registered::Duplicate);
    }
    let count = Value::UInt(first + branches.len() as u64);
    connection.run(COUNTED, &[count, text(gid)])?;
    Ok(Registered::Yes)
}

/// Unfinished transactions after this one in order: those whose time has come, or those whose time
/// is still to come and that were written by a clock that was ahead.
pub(crate) fn due(
    connection: &mut dyn Connection,
    which: Wanted,
    now: Micros,
    after: &(Micros, String),
    limit: u64,
) -> Result<Vec<Due>, SqlError> {
    const DUE: &str = "SELECT next_run_us, gid, owner FROM global_transactions \
         WHERE next_run_us BETWEEN ? AND ? AND (next_run_us > ? OR gid > ?) \
         ORDER BY next_run_us, gid LIMIT ?";
    const AHEAD: &str = "SELECT next_run_us, gid, owner FROM global_transactions \
         WHERE next_run_us BETWEEN ? AND ? AND (next_run_us > ? OR gid > ?) \
         AND (update_time > ? OR create_time > ?) ORDER BY next_run_us, gid LIMIT ?";
    let (from, gid) = after;
    let (statement, from, until) = match which {
        Wanted::Due => (DUE, *from, now),
        Wanted::Ahead => (AHEAD, now.max(*from), LAST_TIME),
    };
    let from = Value::UInt(from);
    let mut values = vec![from.clone(), Value::UInt(until), from, text(gid)];
    if which == Wanted::Ahead {
        let later = moment(now.saturating_add(CLOCKS_APART));
        values.extend([later.clone(), later]);
    }
    values.push(Value::UInt(limit));
    let one = |row: &mut Row| {
        Ok(Due {
            next_run: row.number()?,
            gid: row.text()?,
            owner: row.number()?,
        })
    };
    read_each(connection.run(statement, &values)?, one)
}

#[cfg(test)]
mod tests {
    use super::super::hasten::hasten;
    use super::{super::schema, *};
    use crate::model::SECOND;

    fn saga() -> Transaction {
        let steps = r#"[{"action":"a","compensate":"b"},{"action":"c","compensate":"d"}]"#;
        let payloads = r#"["{}","{}"]"#;
        let branches = plan::read(Pattern::Saga, steps, payloads).expect("branches");
        let global = Global {
            steps: steps.into(),
            payloads: payloads.into(),
            ..Global::new("g", Pattern::Saga, Status::Submitted, SECOND)
        };
        Transaction::read_back(global, branches)
    }

    fn succeed(branch: &mut Branch) {
        branch.status = BranchStatus::Succeed;
        branch.attempts = 1;
        branch.ended = Some(3 * SECOND);
        branch.only_call = Some(Timing {
            started: 2 * SECOND,
            duration_us: 7,
        });
    }

    #[test]
    fn what_is_not_as_the_tables_have_it_is_an_error() {
        let date = |micros| Value::DateTime(DateTime::from_unix_micros(micros).expect("a date"));
        let row = |value: Value| Row::of(vec![value, Value::UInt(7)]);
        let message = |error: SqlError| error.message;
        let wrong = "the coordinator's tables: column 1 of 2 that were read is not";
        for value in [Value::Null, Value::UInt(1), date(1)] {
            let error = message(row(value).text().expect_err("no text"));
            assert_eq!(error, format!("{wrong} text"));
        }
        for value in [Value::Null, Value::Bytes(b"1".to_vec()), date(1)] {
            let error = message(row(value).number().expect_err("no number"));
            assert_eq!(error, format!("{wrong} a number"));
        }
        for value in [Value::Null, Value::Bytes(b"1".to_vec()), Value::UInt(1)] {
            let error = message(row(value).moment().expect_err("no time"));
            assert_eq!(error, format!("{wrong} a time"));
        }
        assert!(row(Value::Int(-1)).number().is_err());
        assert!(row(date(-1)).moment().is_err());
        assert!(row(Value::Bytes(vec![0xff])).text().is_err());
        assert!(row(text("running")).status().is_err());
        assert!(row(text("sagas")).pattern().is_err());
        assert!(
            row(Value::UInt(1))
                .number_or_null()
                .is_ok_and(|number| number == Some(1))
        );
        let mut nulls = Row::of(vec![Value::Null, Value::Null, Value::Null]);
        assert_eq!(nulls.number_or_null(), Ok(None));
        assert_eq!(nulls.text_or_null(), Ok(None));
        assert_eq!(nulls.moment_or_null(), Ok(None));
        assert!(nulls.moment_or_null().is_err(), "there is no fourth");
    }

    #[test]
    fn all_that_may_be_large_counts_for_the_size() {
        const LARGE: usize = 100_000;
        let mut connection = schema::tests::connection();
        schema::create(&mut connection, false).expect("tables");
        assert_eq!(size(&mut connection, "g").expect("none"), 0);
        let mut new = saga();
        new.global.custom_data = "x".repeat(LARGE);
        assert!(insert(&mut connection, &new, true).expect("inserted"));
        let bytes = size(&mut connection, "g").expect("a size");
        assert!(bytes >= LARGE as u64, "{bytes}");
        for column in [
            "calls",
            "result",
            "payloads",
            "steps",
            "custom_data",
            "rollback_reason",
            "options",
        ] {
            let change = format!(
                "UPDATE global_transactions SET {column} = CONCAT({column}, REPEAT('x', ?))"
            );
            let change = change.replace("CONCAT(calls,", "CONCAT(COALESCE(calls, ''),");
            let before = size(&mut connection, "g").expect("a size");
            connection
                .run(&change, &[Value::UInt(LARGE as u64)])
                .expect("changed");
            let after = size(&mut connection, "g").expect("a size");
            assert!(
                after > before + LARGE as u64 / 2,
                "{column}: {before} {after}"
            );
        }
    }

    #[test]
    fn what_more_happens_to_a_branch_is_in_a_row_of_its_own() {
        let mut connection = schema::tests::connection();
        schema::create(&mut connection, false).expect("tables");
        let new = saga();
        assert!(insert(&mut connection, &new, true).expect("inserted"));
        let count = |connection: &mut dyn Connection| {
            let rows = connection.run("SELECT COUNT(*) FROM branches", &[]);
            number(rows.expect("a count")).expect("a number")
        };
        let keep = |connection: &mut dyn Connection, from: &Transaction, to: &Transaction| {
            let saved = save(connection, By::Driver, from, to, &[], SECOND);
            assert_eq!(saved.expect("saved"), Saved::Yes);
            let read = load(connection, "g").expect("read").expect("a saga");
            assert_eq!(read.branches, to.branches);
        };
        let mut first = new.clone();
        succeed(&mut first.branches[1]);
        keep(&mut connection, &new, &first);
        let mut second = first.clone();
        succeed(&mut second.branches[3]);
        keep(&mut connection, &first, &second);
        assert_eq!(count(&mut connection), Some(0));
        let mut third = second.clone();
        third.branches[1].attempts = 2;
        third.branches[1].last_error = "again".into();
        keep(&mut connection, &second, &third);
        assert_eq!(count(&mut connection), Some(1));
        // Who changes something else, and knows less, takes nothing back.
        let mut other = new.clone();
        other.global.result = "other".into();
        let saved = save(&mut connection, By::Client, &new, &other, &[], SECOND);
        assert_eq!(saved.expect("saved"), Saved::Yes);
        let read = load(&mut connection, "g").expect("read").expect("a saga");
        assert_eq!(read.branches, third.branches);
    }

    #[test]
    fn long_answers_are_read_back_whole() {
        let mut connection = schema::tests::connection();
        schema::create(&mut connection, false).expect("tables");
        let new = saga();
        assert!(insert(&mut connection, &new, true).expect("inserted"));
        let mut keep = |from: &Transaction, to: &Transaction| {
            let saved = save(&mut connection, By::Driver, from, to, &[], SECOND);
            assert_eq!(saved.expect("saved"), Saved::Yes);
            let read = load(&mut connection, "g").expect("read").expect("a saga");
            assert_eq!(read.branches, to.branches);
        };
        // The first makes its row, the other changes one.
        let mut first = new.clone();
        succeed(&mut first.branches[1]);
        first.branches[1].answer = "a".repeat(70_000);
        first.branches[3].attempts = 1;
        keep(&new, &first);
        let mut second = first.clone();
        second.branches[3].answer = "b".repeat(4 << 20);
        keep(&first, &second);
    }

    #[test]
    fn what_does_not_fit_is_an_error_whatever_the_servers_mode_is() {
        let mut connection = schema::tests::lenient_connection();
        schema::create(&mut connection, false).expect("tables");
        let new = saga();
        assert!(insert(&mut connection, &new, true).expect("inserted"));
        let mut failing = new.clone();
        failing.branches[1].attempts = 1;
        failing.branches[1].last_error = "e".repeat(70_000);
        let saved = save(&mut connection, By::Driver, &new, &failing, &[], SECOND);
        assert_eq!(saved.expect_err("too long").code, 1406);
    }

    /// However often somebody asks, a branch is called no sooner than a pause after its last call.
    #[test]
    fn who_hastens_again_and_again_gains_nothing() {
        let mut connection = schema::tests::connection();
        schema::create(&mut connection, false).expect("tables");
        let new = saga();
        assert!(insert(&mut connection, &new, true).expect("inserted"));
        let mut failing = new.clone();
        failing.branches[1].attempts = 4;
        failing.branches[1].not_before = 90 * SECOND;
        let failed = save(
            &mut connection,
            By::Driver,
            &new,
            &failing,
            &[],
            10 * SECOND,
        );
        assert_eq!(failed.expect("saved"), Saved::Yes);
        for (pause, now, wanted) in [(10, 12, 20), (10, 13, 20), (10, 25, 20), (0, 14, 14)] {
            let done = hasten(&mut connection, "g", pause * SECOND, now * SECOND);
            done.expect("written");
            let read = load(&mut connection, "g").expect("read").expect("a saga");
            assert_eq!(read.branches[1].not_before, wanted * SECOND, "at {now}");
            // Nor is it later, or written at another time, by whose clock ever.
            let (next, written) = (new.global.next_run, read.global.updated);
            assert_eq!((read.global.next_run, written), (next, 10 * SECOND));
        }
    }
}

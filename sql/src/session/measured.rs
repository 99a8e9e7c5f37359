//! What a statement took, measured from its beginning to its reply.

use super::{
    Session,
    masked::{SECRET, is_about_passwords, shown_text},
};
use crate::{
    error::SqlError,
    lexer::{Kind as TokenKind, Lexer, Mode},
    plan::Plan,
    state::State,
    statements::{
        Commit, Counts, Digest, Kind, LateNote, LogKind, Note, Running, Slow, Span, Under, literal,
    },
    status::{COUNTERS, Counter},
};
use cohort_engine::{
    txn::{CommitTimes, Placed},
    types::Value,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The kinds of so many texts that no plan belongs to, COMMIT and its like, are remembered.
const TEXTS_MAX: usize = 16;
/// Longer texts are not.
const TEXT_MAX: usize = 128;
/// Statements that log_slow_admin_statements is about.
const ADMIN: [&str; 7] = [
    "alter_table",
    "analyze",
    "check",
    "create_index",
    "drop_index",
    "optimize",
    "repair",
];

/// What a session knows of the statement that runs, and of the one that has just ended.
#[derive(Default)]
pub(super) struct Measured {
    running: Running,
    /// Somebody wants to know how long the statement takes: performance_schema, or the slow log.
    is_timed: bool,
    /// The one before may have been written to the slow log.
    may_be_slow: bool,
    /// The text that is to be kept in the place of what the client sent: EXECUTE's.
    text: Option<Arc<str>>,
    /// The kind of the statement that runs, once it has a plan.
    kind: Option<Arc<Kind>>,
    /// That of the plan that ran last.
    kind_before: Option<Arc<Kind>>,
    /// Its command, as the counters name it.
    command: Option<&'static str>,
    /// The statement that has ended, until its reply has left; before and after that it is free.
    note: Option<Box<Note>>,
    free: Option<Box<Note>>,
    /// The transaction that is open, and for how long the session had queued for slots before that.
    under: Under,
    queued_ns: u64,
    /// The statement that runs has waited until what it has committed was durable.
    settled: Option<CommitTimes>,
    /// The kinds of texts without plans, in one database and one way to read them.
    texts: (Arc<str>, Mode, FxHashMap<Arc<str>, Arc<Kind>>),
}

impl Measured {
    /// When the statement that runs began, in microseconds since 1970; 0 if none runs.
    pub(super) fn begun_us(&self) -> u64 {
        self.running.begun_us
    }
    /// FLUSH STATUS, the statement that runs, has begun the session's counters anew.
    pub(super) fn counters_begin_anew(&mut self) {
        self.running.counts = Counts::default();
    }
    /// None runs any more.
    pub(super) fn over(&mut self) {
        self.running.begun_us = 0;
    }

    /// What was committed by the statement that has ended at this moment, if anything was. `placed`: it
    /// is not durable yet.
    fn commit(
        &mut self,
        state: &State,
        (kind, text): (&Arc<Kind>, &Arc<str>),
        ended_ns: u64,
        placed: Option<CommitTimes>,
        commit: &mut Option<Commit>,
    ) {
        let (running, owner) = (&self.running, &state.owner);
        let queued_ns = owner.queued_ns();
        let queued_before = std::mem::replace(&mut self.queued_ns, queued_ns);
        let committed = placed.or(self.settled.take());
        if committed.is_none() && !state.in_transaction {
            // Most statements: a query alone.
            self.under.forget();
            return;
        }
        let span = Span {
            begun_ns: running.clock_ns,
            ended_ns,
            queued_ns: queued_ns - queued_before,
            locks_ns: owner.locks_ns().saturating_sub(running.locks_ns),
            tables_ns: owner.tables_ns().saturating_sub(running.tables_ns),
        };
        self.under.add(running.begun_us, &span);
        let has_changed = state.row_count > 0;
        let Some(times) = committed else {
            if has_changed {
                self.under.changes(kind, text);
            }
            return;
        };
        if has_changed {
            // It speaks for its transaction itself.
            self.under.speaks_for_itself();
        }
        *commit = Some(self.under.committed(&span, times, placed.is_none()));
    }

    /// What was committed is durable: the statement runs still, or has left it to the end of a text.
    pub(super) fn settled(&mut self, times: CommitTimes) {
        match &mut self.note {
            Some(note) => note.commit_known(Some(times), 0),
            // Of a statement that nobody measures it would be the next one's.
            None => self.settled = self.is_timed.then_some(times),
        }
    }
}

impl Session {
    /// A statement begins.
    pub(super) fn measure(&mut self, begun_us: u64) {
        self.tell_ended();
        let state = &mut self.state;
        state.rows_sent = 0;
        let measured = &mut self.measured;
        if std::mem::take(&mut measured.may_be_slow) {
            let slow = state.entry.recent.lock().take_slow();
            state.counters().add(Counter::SlowQueries, slow);
        }
        measured.kind = None;
        measured.command = None;
        measured.text = None;
        let instance = &state.instance;
        measured.is_timed = instance.measures() || instance.query_logs.is_on(LogKind::Slow);
        if !measured.is_timed {
            measured.running = Running {
                begun_us,
                ..Running::default()
            };
            return;
        }
        let running = &mut measured.running;
        running.begun_us = begun_us;
        running.clock_ns = instance.env().monotonic_nanos();
        running.locks_ns = state.owner.locks_ns();
        running.tables_ns = state.owner.tables_ns();
        running.counts = Counts::of(state.counters());
    }

    fn is_logged(&self) -> bool {
        let state = &self.state;
        let is_on = state.instance.query_logs.is_on(LogKind::General);
        is_on && !state.internal && !state.settings().log_off
    }

    /// The general log gets a statement, without its passwords.
    pub(super) fn log_text(&self, command: &str, statement: &[u8]) {
        if self.is_logged() {
            let text = shown_text(statement, self.state.settings().lexer);
            self.log_command(command, &text);
        }
    }

    /// The general log gets what the client says.
    pub fn log_command(&self, command: &str, argument: &str) {
        let state = &self.state;
        let logs = &state.instance.query_logs;
        if self.is_logged() {
            let now = state.instance.env().wall_micros();
            logs.general(&state.logged, now, command, argument);
        }
    }

    /// The statement is one of this command.
    pub(super) fn measure_command(&mut self, command: &'static str) {
        self.measured.command.get_or_insert(command);
    }

    /// The statement runs this plan, which knows of which kind it is.
    pub(super) fn measure_plan(&mut self, plan: &Plan, text: &Arc<str>) {
        let state = &self.state;
        if state.internal || !state.instance.measures() {
            return;
        }
        let digest = plan.digest.get_or_init(|| {
            let digests = &state.instance.digests;
            digests.find(&state.database, text.as_bytes(), state.settings().lexer)
        });
        // Most sessions repeat one statement, or a few.
        let same = |kind: &&Arc<Kind>| Arc::ptr_eq(&kind.0, digest);
        let measured = &mut self.measured;
        if measured.kind_before.as_ref().filter(same).is_none() {
            measured.kind_before = Some(state.entry.recent.lock().kind(digest));
        }
        measured.kind.clone_from(&measured.kind_before);
    }

    /// EXECUTE and COM_STMT_EXECUTE: what is kept has the values in the places of the parameters. The
    /// text is only made if somebody is to read it.
    pub(super) fn measure_values(&mut self, text: &Arc<str>, params: &[Value]) {
        let instance = &self.state.instance;
        let logs = &instance.query_logs;
        let is_read = LogKind::ALL.iter().any(|kind| logs.is_on(*kind)) || instance.audit.is_on();
        if is_read {
            let mode = self.state.settings().lexer;
            self.measured.text = Some(match params.is_empty() {
                true => Arc::clone(text),
                false => with_values(text, params, mode),
            });
        }
    }

    /// The text that the logs have for the statement that runs.
    pub(super) fn measured_text(&self) -> Option<&Arc<str>> {
        self.measured.text.as_ref()
    }

    /// The statement has ended, but for its reply.
    pub(super) fn measure_end(&mut self, text: Option<Arc<str>>, error: Option<&SqlError>) {
        let state = &self.state;
        let measured = &mut self.measured;
        let is_wanted = measured.is_timed || state.instance.audit.is_on();
        let Some(text) = text.filter(|_| is_wanted && !state.internal) else {
            return;
        };
        let measures = state.instance.measures();
        let kind = match measured.kind.take() {
            None if measures => Some(kind_of(&mut measured.texts, &self.state, &text)),
            kind => kind,
        };
        let (begun_us, clock_ns) = (measured.running.begun_us, measured.running.clock_ns);
        let locks_before = measured.running.locks_ns;
        let clock = match measured.is_timed {
            true => state.instance.env().monotonic_nanos(),
            false => 0,
        };
        let placed = self.placed.as_ref().map(Placed::times);
        let free = measured.free.take();
        let free = free.or_else(|| state.entry.recent.lock().take_free());
        let mut note = free.unwrap_or_default();
        if let Some(kind) = &kind {
            measured.commit(state, (kind, &text), clock, placed, &mut note.commit);
        }
        let command = match (measured.command, error) {
            (Some(command), _) => command,
            (None, Some(error)) if error.code != SqlError::SYNTAX => first_word(&text),
            (None, _) => "error",
        };
        let logs = &state.instance.query_logs;
        let settings = state.settings();
        // A log that this statement has turned on does not know when it began.
        let slow = (measured.is_timed && logs.is_on(LogKind::Slow)).then(|| Slow {
            logs: Arc::clone(logs),
            who: Arc::clone(&state.logged),
            least_ns: settings.slow_ns,
            examined_min: settings.slow_examined_min,
            killed: state.entry.is_closing(),
            is_admin: ADMIN.contains(&command),
        });
        measured.may_be_slow |= slow.is_some();
        note.kind = kind;
        note.slow = slow;
        // All of it but for what is counted when the reply has left.
        let ended = &mut *note.ended;
        ended.error = error.map(|error| without_secret(error, &text));
        ended.text = measured.text.take().unwrap_or(text);
        if !Arc::ptr_eq(&ended.database, &state.database) {
            ended.database.clone_from(&state.database);
        }
        ended.command = command;
        ended.begun_us = begun_us;
        ended.timestamp = state.now_micros / 1_000_000;
        ended.took_ns = clock.saturating_sub(clock_ns);
        ended.locks_ns = state.owner.locks_ns().saturating_sub(locks_before);
        ended.warnings = state.warnings.count();
        ended.rows_sent = state.rows_sent;
        ended.rows_affected = u64::try_from(state.row_count).unwrap_or(0);
        ended.last_insert_id = state.last_insert_id;
        ended.insert_id = state.insert_id;
        if state.instance.audit.is_on() {
            self.audit_after(&note.ended);
        }
        self.measured.note = Some(note);
    }

    /// The statement that has ended, for whoever holds its reply back.
    pub fn take_note(&mut self) -> Option<LateNote> {
        let note = self.ended_note()?;
        Some(LateNote::new(note, &self.state.entry.recent))
    }

    /// The reply has left: the statement is over.
    pub fn tell_ended(&mut self) {
        if let Some(mut note) = self.ended_note() {
            note.finish(&self.state.entry.recent);
            self.measured.free = Some(note);
        }
    }

    /// The statement that has ended, with all that it took until now.
    fn ended_note(&mut self) -> Option<Box<Note>> {
        let mut note = self.measured.note.take()?;
        let before = &self.measured.running.counts;
        note.count(before, self.state.counters());
        Some(note)
    }
}

/// The kind of a text that has no plan.
fn kind_of(
    texts: &mut (Arc<str>, Mode, FxHashMap<Arc<str>, Arc<Kind>>),
    state: &State,
    text: &Arc<str>,
) -> Arc<Kind> {
    let mode = state.settings().lexer;
    let (database, known_mode, known) = texts;
    if !Arc::ptr_eq(database, &state.database) || *known_mode != mode {
        known.clear();
        database.clone_from(&state.database);
        *known_mode = mode;
    }
    if let Some(kind) = known.get(text) {
        return Arc::clone(kind);
    }
    let digests = &state.instance.digests;
    let digest: Arc<Digest> = digests.find(&state.database, text.as_bytes(), mode);
    let kind = state.entry.recent.lock().kind(&digest);
    if text.len() <= TEXT_MAX {
        if known.len() >= TEXTS_MAX {
            known.clear();
        }
        known.insert(Arc::clone(text), Arc::clone(&kind));
    }
    kind
}

/// An error as logs and tables may have it: that of a text that is no statement shows a part of it, in
/// which a password may be.
fn without_secret(error: &SqlError, text: &str) -> SqlError {
    let mut error = error.clone();
    let may_have_one = text.contains(SECRET) || is_about_passwords(text.as_bytes());
    if error.code == SqlError::SYNTAX && may_have_one {
        let end = error.message.find(" near ").unwrap_or(error.message.len());
        error.message.truncate(end);
    }
    error
}

/// The command of a query that could not be compiled.
fn first_word(text: &str) -> &'static str {
    let text = text.as_bytes();
    let word = Lexer::new(text, Mode::default()).next_token();
    let all = ["insert", "update", "delete", "replace", "load"];
    let found = all.into_iter().find(|command| word.is_word(text, command));
    match found {
        Some(command) => command,
        None if super::query::is_query(text) => "select",
        None => "error",
    }
}

/// What MySQL's events call the statements of a counter: `select` of Com_select.
pub(super) fn name_of(counter: Counter) -> &'static str {
    let named = COUNTERS.get(counter as usize);
    named
        .and_then(|(_, name)| name.strip_prefix("Com_"))
        .unwrap_or("error")
}

/// A statement with values in the places of its parameters.
fn with_values(text: &str, params: &[Value], mode: Mode) -> Arc<str> {
    let bytes = text.as_bytes();
    let mut shown = Vec::with_capacity(bytes.len() + 16 * params.len());
    let (mut kept, mut params) = (0, params.iter());
    for token in Lexer::tokens(bytes, mode) {
        if token.kind == TokenKind::Placeholder
            && let Some(value) = params.next()
        {
            shown.extend_from_slice(bytes.get(kept..token.start).unwrap_or_default());
            literal(value, &mut shown);
            kept = token.end;
        }
    }
    shown.extend_from_slice(bytes.get(kept..).unwrap_or_default());
    Arc::from(String::from_utf8_lossy(&shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_parameters_were() {
        let values = [
            Value::Int(1),
            Value::Bytes(b"it's".to_vec()),
            Value::Null,
            Value::Bytes(vec![0xff, 0]),
        ];
        let shown = with_values("SELECT ?, '?', ? /* ? */, ?, ?", &values, Mode::default());
        assert_eq!(&*shown, "SELECT 1, '?', 'it\\'s' /* ? */, NULL, 0xFF00");
    }

    #[test]
    fn counters_name_commands() {
        assert_eq!(name_of(Counter::ComSelect), "select");
        assert_eq!(name_of(Counter::SortRows), "error");
    }
}

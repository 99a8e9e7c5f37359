//! Queries and DML: what the planner compiles and the executor runs.

use super::{
    Session, bound::Bound, client_gone, measured::name_of, schema::OWN_SCHEMA, withheld::Withheld,
};
use crate::{
    catalog,
    error::SqlError,
    exec::{self, ExecContext, Handler, Outcome, Stop, VirtualRows},
    expr::{EvalContext, for_variable},
    interrupt,
    lexer::{Lifted, ValueKind},
    output::{ColumnMeta, Done, Output},
    parse,
    plan::{self, Body, CompileContext, Demands, Filling, InsertRows, Plan, Relations},
    state::{Changes, State},
    status::{Counter, Counters},
};
use cohort_engine::{
    txn::{Isolation, LockMode, OnConflict, Read, Txn},
    types::{Collation, ColumnType, Value},
};
use parking_lot::Mutex;
use std::sync::Arc;

/// Prepared texts of more bytes are not worth a place in the cache of plans.
const PREPARED_CACHED_MAX: usize = 16 * 1024;

/// How often a statement is compiled again because a table changed under it. Each time a change of a
/// definition has come between, which takes longer.
pub(super) const ATTEMPTS_MAX: usize = 1000;

/// A prepared query or DML statement. It is compiled when it is prepared, and again when the kinds
/// of its parameters, the types of its user variables, or a table are others than before.
pub(super) struct Query {
    source: Box<[u8]>,
    /// The default database when it was prepared: names keep meaning the same.
    database: Arc<str>,
    /// What it was compiled for last.
    latest: Mutex<Latest>,
}

/// A plan, and what its parameters were thought to be.
struct Latest {
    kinds: Arc<[ValueKind]>,
    plan: Arc<Plan>,
}

impl Query {
    /// How many `?` it has; 1390 if they are more than the protocol can number.
    pub fn parameters(&self) -> Result<u16, SqlError> {
        let parameters = self.latest.lock().plan.parameters;
        u16::try_from(parameters).map_err(|_| SqlError::too_many_parameters())
    }
    /// The columns of its result.
    pub fn columns(&self) -> Arc<[ColumnMeta]> {
        Arc::clone(&self.latest.lock().plan.columns)
    }
    /// Whether its plan does such a thing.
    pub fn is(&self, what: impl FnOnce(&Body) -> bool) -> bool {
        what(&self.latest.lock().plan.body)
    }
    /// Keeps a plan that was made for these kinds.
    fn keep(&self, plan: &Arc<Plan>, kinds: &Arc<[ValueKind]>) {
        let mut latest = self.latest.lock();
        if !Arc::ptr_eq(&latest.plan, plan) {
            *latest = Latest {
                kinds: Arc::clone(kinds),
                plan: Arc::clone(plan),
            };
        }
    }
}

/// What a key of the cache of plans is made of.
#[derive(Clone, Copy)]
enum PlanSource {
    /// A text with its literals lifted out.
    Text,
    /// A prepared statement.
    Prepared,
}

/// Where the values of a text's parameters are, when it is compiled.
#[derive(Clone, Copy)]
enum Params<'a> {
    /// They are its literals.
    Lifted(&'a Lifted),
    /// Those of its `?`; none if they are not known yet.
    Bound(&'a Bound<'a>),
    /// It may have none.
    None,
}

/// Whether a text begins as one of the statements that are the planner's. Comments in front are
/// left to the slow way, which ends with the planner, too.
pub(super) fn is_query(sql: &[u8]) -> bool {
    let start = sql
        .iter()
        .position(|byte| !byte.is_ascii_whitespace())
        .unwrap_or(sql.len());
    let Some(word) = sql.get(start..) else {
        return false;
    };
    let is = |keyword: &[u8]| {
        word.get(..keyword.len())
            .is_some_and(|text| text.eq_ignore_ascii_case(keyword))
            && !word
                .get(keyword.len())
                .is_some_and(|&byte| crate::lexer::is_name_byte(byte))
    };
    match word.first().map(u8::to_ascii_uppercase) {
        Some(b'S') => is(b"SELECT"),
        Some(b'I') => is(b"INSERT"),
        Some(b'U') => is(b"UPDATE"),
        Some(b'D') => is(b"DELETE"),
        Some(b'R') => is(b"REPLACE"),
        Some(b'W') => is(b"WITH"),
        Some(b'V') => is(b"VALUES"),
        Some(b'T') => is(b"TABLE"),
        Some(b'(') => true,
        _ => false,
    }
}

/// Keeps rows for those who want the values.
#[derive(Default)]
pub(super) struct Kept {
    pub rows: Vec<Vec<Value>>,
}

impl Output for Kept {
    fn columns(&mut self, _: &[ColumnMeta]) -> std::io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &[Value]) -> std::io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
    fn end(&mut self, _: &Done) -> std::io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Compiles a query that is not kept, with the values of its parameters.
    pub(super) fn plan_query<'v>(
        &self,
        sql: &[u8],
        database: &str,
        params: &'v [Value],
    ) -> Result<(Arc<Plan>, Bound<'v>), SqlError> {
        let compile = |bound: &Bound<'_>| self.plan(sql, database, Params::Bound(bound));
        let unknown = Bound::unknown();
        self.bind((compile(&unknown)?, unknown.kinds), params, &compile)
    }

    /// The same as what fills the table.
    pub(super) fn plan_filling(
        &self,
        sql: &[u8],
        database: &str,
        params: &Bound<'_>,
        filling: &Filling,
    ) -> Result<Arc<Plan>, SqlError> {
        self.plan_into(sql, database, Params::Bound(params), Some(filling))
    }

    /// Compiles a text for the kinds that its parameters have.
    fn plan(&self, sql: &[u8], database: &str, params: Params<'_>) -> Result<Arc<Plan>, SqlError> {
        self.plan_into(sql, database, params, None)
    }

    fn plan_into(
        &self,
        sql: &[u8],
        database: &str,
        params: Params<'_>,
        filling: Option<&Filling>,
    ) -> Result<Arc<Plan>, SqlError> {
        let (lifted, parameters, kinds) = match params {
            Params::Lifted(lifted) => (Some(lifted), lifted.parameters(), None),
            Params::Bound(bound) => (None, &*bound.values, Some(&*bound.kinds)),
            Params::None => (None, [].as_slice(), None),
        };
        let state = &self.state;
        let plan = state.with_compile_context(database, |context| {
            let context = CompileContext {
                locked: self.locked.tables.is_some(),
                who: Some(state.who_asks()),
                parameters,
                kinds,
                ..*context
            };
            interrupt::by(Some(Arc::clone(&state.owner)), || {
                parse::parse(sql, state.settings().lexer, lifted, |parsed| {
                    if matches!(params, Params::None) {
                        parsed.text.refuse_placeholders()?;
                    }
                    plan::compile(parsed, &context, lifted.is_some(), filling)
                })
            })
        })?;
        Ok(Arc::new(plan))
    }

    /// Has `work` compile a text.
    pub(super) fn compile_text<R>(
        &self,
        sql: &[u8],
        database: &str,
        work: impl FnOnce(&parse::Parsed<'_>, &CompileContext<'_>) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let state = &self.state;
        state.with_compile_context(database, |context| {
            let context = CompileContext {
                locked: self.locked.tables.is_some(),
                who: Some(state.who_asks()),
                ..*context
            };
            interrupt::by(Some(Arc::clone(&state.owner)), || {
                parse::parse(sql, state.settings().lexer, None, |parsed| {
                    work(parsed, &context)
                })
            })
        })
    }

    /// Compiles a query.
    pub(super) fn compile_query(&mut self, sql: &[u8]) -> Result<Query, SqlError> {
        let database = Arc::clone(&self.state.database);
        let unknown = Bound::unknown();
        let plan = self.prepared_plan(sql, &database, &unknown)?;
        let kinds = unknown.kinds;
        self.check_locked(&plan)?;
        self.check_privileges(&plan)?;
        Ok(Query {
            source: sql.into(),
            database,
            latest: Mutex::new(Latest { kinds, plan }),
        })
    }

    /// The plan of a prepared statement for these kinds, from the cache if it has one.
    fn prepared_plan(
        &self,
        sql: &[u8],
        database: &str,
        params: &Bound<'_>,
    ) -> Result<Arc<Plan>, SqlError> {
        let version = self.state.dictionary_version();
        let plans = &self.state.instance.plans;
        let key = self.prepared_key(sql, database, &params.kinds);
        if let Some(plan) = key.and_then(|key| plans.get(&key, version, &params.values)) {
            self.state.counters().count(Counter::PlanCacheHits);
            return Ok(plan);
        }
        self.new_prepared_plan(sql, database, params)
    }

    /// The same, compiled anew, and kept in the cache.
    fn new_prepared_plan(
        &self,
        sql: &[u8],
        database: &str,
        params: &Bound<'_>,
    ) -> Result<Arc<Plan>, SqlError> {
        let plan = self.plan(sql, database, Params::Bound(params))?;
        if plan.is_load() || plan.is_explanation() {
            // A file is read once, and whether it may be is looked at when that is compiled. How something is
            // explained depends on settings that are in no key.
            return Ok(plan);
        }
        if let Some(key) = self.prepared_key(sql, database, &params.kinds) {
            self.state.counters().count(Counter::PlanCacheMisses);
            self.state.instance.plans.put(&key, Arc::clone(&plan));
        }
        Ok(plan)
    }

    /// The key of a prepared statement in the cache of plans; `None` if it has no place there:
    /// the types of user variables, and what system variables are, do not stand in the text.
    fn prepared_key(&self, sql: &[u8], database: &str, kinds: &[ValueKind]) -> Option<Vec<u8>> {
        if sql.len() > PREPARED_CACHED_MAX || sql.contains(&b'@') {
            return None;
        }
        let mut key = Vec::with_capacity(sql.len() + 64);
        self.begin_key(&mut key, database, PlanSource::Prepared);
        for kind in kinds {
            kind.mark(&mut key);
        }
        key.push(0);
        key.extend_from_slice(sql);
        Some(key)
    }

    /// Runs a query that came as text, through the cache of plans.
    pub(super) fn run_text(
        &mut self,
        sql: &[u8],
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let mut lifted = std::mem::take(&mut self.lifted);
        self.begin_key(&mut lifted.key, &self.state.database, PlanSource::Text);
        let result = if lifted.lift(sql, self.state.settings().lexer) {
            self.run_lifted(sql, &lifted, text, out)
        } else {
            let database = Arc::clone(&self.state.database);
            let compile = |session: &Session| session.plan(sql, &database, Params::None);
            compile(self).and_then(|plan| self.run_plan(plan, &compile, text, &[], out))
        };
        self.lifted = lifted;
        result
    }

    /// Begins a key of the cache of plans with what else than its text a statement's meaning
    /// depends on.
    fn begin_key(&self, key: &mut Vec<u8>, database: &str, source: PlanSource) {
        key.clear();
        key.push(source as u8);
        self.state.plan_settings(database).mark(key);
    }

    fn run_lifted(
        &mut self,
        sql: &[u8],
        lifted: &Lifted,
        text: &Arc<str>,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let instance = Arc::clone(&self.state.instance);
        let version = self.state.dictionary_version();
        if let Some(plan) = instance
            .plans
            .get(&lifted.key, version, lifted.parameters())
        {
            self.state.counters().count(Counter::PlanCacheHits);
            let compile = |session: &Session| session.plan_lifted(sql, lifted);
            return self.run_plan(plan, &compile, text, &lifted.values, out);
        }
        self.state.counters().count(Counter::PlanCacheMisses);
        match self.plan_lifted(sql, lifted) {
            Ok(plan) => {
                let compile = |session: &Session| session.plan_lifted(sql, lifted);
                self.run_plan(plan, &compile, text, &lifted.values, out)
            }
            // Some statements need their literals where they are, if only for the error.
            Err(_) => {
                let database = Arc::clone(&self.state.database);
                let compile = |session: &Session| session.plan(sql, &database, Params::None);
                let plan = compile(self)?;
                self.run_plan(plan, &compile, text, &[], out)
            }
        }
    }

    fn plan_lifted(&self, sql: &[u8], lifted: &Lifted) -> Result<Arc<Plan>, SqlError> {
        let plan = self.plan(sql, &self.state.database, Params::Lifted(lifted))?;
        self.state
            .instance
            .plans
            .put(&lifted.key, Arc::clone(&plan));
        Ok(plan)
    }

    /// Runs a compiled query.
    pub(super) fn run_query(
        &mut self,
        query: &Query,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let version = self.state.dictionary_version();
        let (latest, kinds) = {
            let latest = query.latest.lock();
            (Arc::clone(&latest.plan), Arc::clone(&latest.kinds))
        };
        let prepared = |bound: &Bound<'_>| {
            let plan = self.prepared_plan(&query.source, &query.database, bound)?;
            query.keep(&plan, &bound.kinds);
            Ok(plan)
        };
        let first = if latest.dictionary == version {
            latest
        } else {
            self.state.counters().count(Counter::ComStmtReprepare);
            let values = params.into();
            let kinds = Arc::clone(&kinds);
            prepared(&Bound { values, kinds })?
        };
        let (plan, bound) = self.bind((first, kinds), params, &prepared)?;
        let compile = |session: &Session| {
            let plan = session.new_prepared_plan(&query.source, &query.database, &bound)?;
            query.keep(&plan, &bound.kinds);
            Ok(plan)
        };
        self.run_plan(plan, &compile, text, &bound.values, out)
    }

    /// The values of expressions (with commas between them), as SELECT computes them and
    /// variables keep them.
    pub(super) fn evaluate(
        &mut self,
        expressions: &str,
        params: &[Value],
    ) -> Result<Vec<Value>, SqlError> {
        let values = self.evaluate_texts(expressions, params)?;
        Ok(values.into_iter().map(|(value, _)| value).collect())
    }

    /// The same, with the collations that values have where they are texts.
    pub(super) fn evaluate_texts(
        &mut self,
        expressions: &str,
        params: &[Value],
    ) -> Result<Vec<(Value, Collation)>, SqlError> {
        let collation = self.state.settings().collation;
        let sql = format!("SELECT {expressions}");
        let database = Arc::clone(&self.state.database);
        let (plan, bound) = self.plan_query(sql.as_bytes(), &database, params)?;
        let compile =
            |session: &Session| session.plan(sql.as_bytes(), &database, Params::Bound(&bound));
        let mut kept = Kept::default();
        let text = Arc::from(sql.as_str());
        let columns = Arc::clone(&plan.columns);
        self.run_in_transaction(plan, &compile, &text, &bound.values, &mut kept)?;
        match (kept.rows.pop(), kept.rows.is_empty()) {
            (Some(row), true) => {
                let typed = row.into_iter().zip(columns.iter());
                Ok(typed
                    .map(|(value, column)| {
                        let is_text = column.ty.is_some_and(ColumnType::has_collation);
                        let own = if is_text { column.collation } else { collation };
                        (for_variable(value, column.decimals), own)
                    })
                    .collect())
            }
            (Some(_), false) => Err(SqlError::subquery_rows()),
            (None, _) => Ok(vec![(Value::Null, collation)]),
        }
    }

    /// Runs a plan as a statement of its own and ends its result.
    fn run_plan(
        &mut self,
        plan: Arc<Plan>,
        compile: &dyn Fn(&Session) -> Result<Arc<Plan>, SqlError>,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let counter = command_of(&plan);
        self.state.counters().count(counter);
        let command = name_of(counter);
        self.measure_command(command);
        self.admit(command, plan.changes_listed())?;
        self.measure_plan(&plan, text);
        let returns_rows = plan.returns_rows();
        let writes_file = plan.file_use() == Some(plan::FileUse::Write);
        let outcome = self.run_in_transaction(plan, compile, text, params, out)?;
        let state = &mut self.state;
        if returns_rows {
            state.row_count = -1;
            state.found_rows = outcome.rows;
            state.rows_sent = outcome.rows;
        } else {
            state.row_count = i64::try_from(outcome.affected_rows).unwrap_or(i64::MAX);
            if writes_file {
                state.found_rows = outcome.rows;
            }
        }
        let done = Done {
            affected_rows: outcome.affected_rows,
            last_insert_id: outcome.insert_id,
            info: outcome.info,
            ..Done::default()
        };
        self.end(done, out)
    }

    /// Runs a plan, where there is room for it, in the session's transaction, or in one of its own,
    /// which ends with it.
    pub(super) fn run_in_transaction(
        &mut self,
        plan: Arc<Plan>,
        compile: &dyn Fn(&Session) -> Result<Arc<Plan>, SqlError>,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<Outcome, SqlError> {
        crate::room::with_room(plan.levels, || {
            self.run_in_transaction_here(plan, compile, text, params, out)
        })
    }

    fn run_in_transaction_here(
        &mut self,
        mut plan: Arc<Plan>,
        compile: &dyn Fn(&Session) -> Result<Arc<Plan>, SqlError>,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<Outcome, SqlError> {
        if plan.changes_listed() || plan.locks_exclusively() {
            self.check_server_writable()?;
        }
        self.check_temporary(&plan)?;
        self.check_privileges(&plan)?;
        self.check_files(&plan)?;
        if plan.is_outdated(&self.state.instance.engine) {
            plan = compile(self)?;
        }
        if let Some(max) = self.state.settings().join_rows_max
            && plan.rows_examined(&self.state.instance.engine) > max
        {
            return Err(SqlError::too_big_select());
        }
        for _ in 0..ATTEMPTS_MAX {
            self.check_locked(&plan)?;
            let attempted = self.attempt(&plan, text, params, out);
            if !matches!(attempted, Ok(None)) {
                self.note(&plan, text);
            }
            match attempted? {
                Some(outcome) => return Ok(outcome),
                None => plan = compile(self)?,
            }
        }
        Err(SqlError::table_definition_changed())
    }

    /// 4091 for temporary tables in a distributed transaction.
    fn check_temporary(&self, plan: &Plan) -> Result<(), SqlError> {
        let mut tables = plan.tables.iter();
        if self.transaction.branch.is_some() && tables.any(|used| used.table.is_temporary()) {
            return Err(SqlError::temporary_in_xa());
        }
        Ok(())
    }

    /// 1099 and 1100 for tables that are not locked as LOCK TABLES demands.
    pub(super) fn check_locked(&self, plan: &Plan) -> Result<(), SqlError> {
        match &self.locked.tables {
            Some(locked) => locked.check(&plan.tables, &plan.views),
            None => Ok(()),
        }
    }

    /// One attempt to run a plan. `None`: a table has changed since it was compiled.
    fn attempt(
        &mut self,
        plan: &Plan,
        text: &Arc<str>,
        params: &[Value],
        out: &mut dyn Output,
    ) -> Result<Option<Outcome>, SqlError> {
        let tells_rows = plan.tells_rows();
        let (characteristics, alone) = if plan.tables.is_empty() {
            self.peek()
        } else {
            self.xa_takes_work()?;
            self.enter()?
        };
        let changes = plan.changes_listed() || plan.locks_exclusively();
        if changes && self.applying.creation.is_some() {
            // The rows of the new table come from a log, and nothing else belongs to it.
            let what = "other changes after CREATE TABLE ... START TRANSACTION";
            return Err(SqlError::not_supported(what));
        }
        if characteristics.read_only && changes {
            return Err(SqlError::read_only_transaction());
        }
        let engine = self.transaction.engine.take();
        let mut txn = engine.unwrap_or_else(|| self.begin_engine(characteristics));
        let settings = self.state.settings();
        txn.set_lock_wait_ms(settings.row_lock_wait_ms, settings.table_lock_wait_ms);
        txn.start_statement(text);
        match exec::use_tables(plan, &self.state.instance.engine, &mut txn) {
            Ok(true) => {}
            result => {
                self.leave(txn, alone, result.as_ref().err());
                return result.map(|_| None);
            }
        }
        // Nobody's reads lock the server's own tables.
        let may_lock = || {
            let mut tables = plan.tables.iter().map(|used| &used.table);
            self.state.internal || tables.all(|table| table.database != OWN_SCHEMA)
        };
        let locks = characteristics.isolation == Isolation::Serializable && !alone && may_lock();
        // The rows may be of commits that are not durable yet.
        let withhold = tells_rows && (plan.writes || locks || txn.may_read_newer());
        let mut withheld = None;
        let target: &mut dyn Output = if withhold {
            withheld.insert(Withheld::new(&self.state, out))
        } else {
            out
        };
        let plain_read = if locks {
            Read::Locking(LockMode::Shared, OnConflict::Wait)
        } else {
            Read::Plain
        };
        let unlock = matches!(
            characteristics.isolation,
            Isolation::ReadCommitted | Isolation::ReadUncommitted
        );
        let result = self.execute_plan(plan, &mut txn, params, (plain_read, unlock), target);
        // Errors and warnings may tell of what the statement has met.
        if result.is_err() || self.state.warnings.count() > 0 {
            txn.regard_reads();
        }
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(stop) => {
                let error = match (stop, withheld.and_then(Withheld::into_error)) {
                    (_, Some(error)) | (Stop::Error(error), None) => error,
                    (Stop::Gone(error), None) => client_gone(error),
                };
                self.leave(txn, alone, Some(&error));
                return Err(error);
            }
        };
        if alone && (plan.writes || locks) {
            self.commit_engine(txn)?;
            if withheld.is_some() {
                // RETURNING tells of the changes that were committed.
                self.settle()?;
            }
        } else {
            self.leave(txn, alone, None);
        }
        if let Some(mut withheld) = withheld
            && let Err(error) = withheld.release()
        {
            return Err(withheld.into_error().unwrap_or_else(|| client_gone(error)));
        }
        Ok(Some(outcome))
    }

    pub(super) fn execute_plan(
        &mut self,
        plan: &Plan,
        txn: &mut Txn,
        params: &[Value],
        (plain_read, unlock): (Read, bool),
        out: &mut dyn Output,
    ) -> Result<Outcome, Stop> {
        let (user_variables, mut warnings) = self.state.release();
        let state = &self.state;
        let virtual_rows: Vec<VirtualRows> = plan
            .virtual_tables
            .iter()
            .map(|table| catalog::virtual_rows(state, table))
            .collect();
        let facts = state.facts();
        let mut changes = Changes::new(state, user_variables);
        if plan.is_limited() {
            let settings = state.settings();
            let limit = plan.execution_ms_max.unwrap_or(settings.execution_ms_max);
            changes.limit_time(limit);
            if limit > 0 {
                let rows = settings.row_lock_wait_ms.min(limit);
                txn.set_lock_wait_ms(rows, settings.table_lock_wait_ms);
            }
        }
        let checks = state.settings().foreign_key_checks;
        if !checks && plan.changes_rows() {
            txn.note_foreign_keys_done();
        }
        let mut context = context_of(
            state,
            Running {
                txn,
                eval: EvalContext::new(params, &facts, &mut changes, &mut warnings),
                virtual_rows: &virtual_rows,
                plain_read,
                unlock,
                relations: checks.then_some(&plan.relations),
                demands: &plan.demands,
                ignore: plan.ignores(),
            },
        );
        let mut result = exec::run(plan, &mut context, out);
        // What it waited for was not the lock's limit.
        if let Err(Stop::Error(error)) = &mut result
            && error.code == SqlError::LOCK_WAIT_TIMEOUT
            && let Some(interruption) = context.eval.environment.interruption()
        {
            *error = interruption;
        }
        count_rows(&context.handler, state.counters());
        plan.note_examined(context.handler.examined);
        let (generated, insert_id) = (context.generated_id, context.insert_id);
        let changed = changes.changed;
        if let (Ok(outcome), Some(id)) = (&mut result, changed.last_insert_id()) {
            tell_id(plan, outcome, generated, id);
        }
        self.state.restore(changed, warnings);
        self.state.insert_id = insert_id;
        if generated > 0 {
            self.state.last_insert_id = generated;
        }
        result
    }
}

/// What is special about a statement that runs.
pub(super) struct Running<'a> {
    pub txn: &'a mut Txn,
    pub eval: EvalContext<'a>,
    pub virtual_rows: &'a [VirtualRows],
    pub plain_read: Read,
    pub unlock: bool,
    pub relations: Option<&'a Relations>,
    pub demands: &'a Demands,
    pub ignore: bool,
}

/// What the executor needs, with what it is told of the session.
pub(super) fn context_of<'a>(state: &'a State, running: Running<'a>) -> ExecContext<'a> {
    let settings = state.settings();
    let memory_bytes = settings.memory_bytes.min(state.memory_bytes_max);
    ExecContext {
        txn: running.txn,
        engine: &state.instance.engine,
        owner: &state.owner,
        eval: running.eval,
        virtual_rows: running.virtual_rows,
        plain_read: running.plain_read,
        unlock: running.unlock,
        rereads: false,
        locks_ahead: false,
        found_rows: state.client_found_rows,
        memory_bytes,
        table_bytes: memory_bytes,
        select_limit: settings.select_limit,
        insert_id: state.insert_id,
        generated_id: 0,
        auto_increment: settings.auto_increment,
        io: &state.entry.io,
        relations: running.relations,
        demands: running.demands,
        ignore: running.ignore,
        safe_updates: settings.safe_updates,
        threads: settings.read_threads,
        lent: None,
        handler: Handler::default(),
        tables: exec::Tables::default(),
        rows_counted: None,
        patience: exec::Patience::default(),
        searches: exec::Searches::default(),
        measures: None,
    }
}

/// The reply of a statement that called LAST_INSERT_ID(id) carries it, unless it generated one.
fn tell_id(plan: &Plan, outcome: &mut Outcome, generated: u64, id: u64) {
    match &plan.body {
        Body::Update(_) | Body::UpdateJoined(_) => outcome.insert_id = id,
        Body::Insert(_) if generated == 0 => outcome.insert_id = id,
        Body::Insert(_)
        | Body::Delete(_)
        | Body::DeleteJoined(_)
        | Body::Select(_)
        | Body::SelectInto(..)
        | Body::SelectIntoFile(_)
        | Body::Explain(_) => {}
    }
}

/// The counter of a statement.
fn command_of(plan: &Plan) -> Counter {
    match &plan.body {
        Body::Select(_) | Body::SelectInto(..) | Body::SelectIntoFile(_) => Counter::ComSelect,
        Body::Explain(_) => Counter::ComExplainOther,
        Body::Update(_) => Counter::ComUpdate,
        Body::Delete(_) => Counter::ComDelete,
        Body::UpdateJoined(_) => Counter::ComUpdateMulti,
        Body::DeleteJoined(_) => Counter::ComDeleteMulti,
        Body::Insert(_) if plan.is_load() => Counter::ComLoad,
        Body::Insert(insert) => {
            match (insert.replace, matches!(insert.rows, InsertRows::Query(_))) {
                (false, false) => Counter::ComInsert,
                (false, true) => Counter::ComInsertSelect,
                (true, false) => Counter::ComReplace,
                (true, true) => Counter::ComReplaceSelect,
            }
        }
    }
}

/// Adds a statement's reads and writes of rows to the session's counters.
pub(super) fn count_rows(handler: &Handler, counters: &Counters) {
    let counts = [
        (Counter::HandlerReadKey, handler.read_key),
        (Counter::HandlerReadNext, handler.read_next),
        (Counter::HandlerReadPrev, handler.read_prev),
        (Counter::HandlerReadFirst, handler.read_first),
        (Counter::HandlerReadLast, handler.read_last),
        (Counter::HandlerReadRndNext, handler.read_rnd_next),
        (Counter::HandlerWrite, handler.write),
        (Counter::HandlerUpdate, handler.update),
        (Counter::HandlerDelete, handler.delete),
        (Counter::SortRows, handler.sort_rows),
        (Counter::SortMergePasses, handler.sort_merge_passes),
        (Counter::CreatedTmpTables, handler.tmp_tables),
        (Counter::CreatedTmpDiskTables, handler.tmp_disk_tables),
        (Counter::CreatedTmpFiles, handler.tmp_files),
        (Counter::SelectScan, handler.select_scan),
        (Counter::SelectRange, handler.select_range),
        (Counter::SelectFullJoin, handler.select_full_join),
        (Counter::SortScan, handler.sort_scan),
        (Counter::SortRange, handler.sort_range),
        (Counter::RowsExamined, handler.examined),
        (Counter::ScansUnindexed, handler.unindexed),
    ];
    for (counter, count) in counts {
        if count > 0 {
            counters.add(counter, count);
        }
    }
}

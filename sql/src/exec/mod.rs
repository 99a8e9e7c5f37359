//! The executor: runs a plan with parameters in a transaction.
//!
//! Rows are pushed: reading a table calls, for each row that passes its conditions, the reading
//! of the next table, and the last one the block's later stages (grouping and HAVING; window
//! functions; DISTINCT, ORDER BY and LIMIT) and then the output. A row is one array of slots per block; reading a table fills the
//! slots of its columns, and only of those that are wanted.

mod aggregate;
mod apart;
mod apply;
mod block;
mod change;
mod check;
mod compared;
mod derived;
mod distinct;
mod duplicate;
mod export;
mod foreign_key;
mod generated;
mod hash_index;
mod insert;
mod joined;
mod json_table;
mod key;
mod key_set;
mod load;
mod measure;
pub(crate) mod memory;
mod named;
mod needed;
mod parallel;
mod patience;
mod reader;
mod remembered;
mod returning;
mod rollup;
mod row_store;
mod scan;
mod search;
mod set_operation;
mod sort;
mod subquery;
mod tail;
mod temporary;
mod ways;
mod window;
mod write;

pub(crate) use apply::{Target, apply};
pub(crate) use check::check_values;
pub use derived::Tables;
pub(crate) use duplicate::duplicate_error;
pub(crate) use generated::fill_values;
pub(crate) use insert::{cut_to, zero};
pub use measure::Measures;
use named::{in_block, named};
pub use patience::Patience;
use returning::Returning;
pub use search::Searches;

use crate::{
    error::SqlError,
    expr::{EvalContext, eval, for_variable},
    files::Files,
    output::Output,
    plan::{
        Body, Demands, Explanation, Insert, InsertRows, Naming, Plan, Query, Relations,
        TableRelations, TableUse,
    },
    statements::TableIo,
};
use cohort_engine::{
    invariant::Broken,
    txn::{Engine, Lent, LockMode, OnConflict, Owner, Read, Spacing, Txn, TxnError},
    types::{Table, Value, row::Malformed},
};
use std::sync::Arc;

/// How often reads and writes of rows happened: MySQL's Handler_* counters; and sorts and
/// temporary files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handler {
    /// Lookups by key.
    pub read_key: u64,
    /// Rows after that in the order of the key.
    pub read_next: u64,
    /// Rows after that in the opposite order.
    pub read_prev: u64,
    /// Scans of an index from its start.
    pub read_first: u64,
    /// Scans of an index from its end.
    pub read_last: u64,
    /// Rows of scans of whole tables.
    pub read_rnd_next: u64,
    /// Rows inserted.
    pub write: u64,
    /// Rows updated.
    pub update: u64,
    /// Rows deleted.
    pub delete: u64,
    /// Rows handed on in order by sorts.
    pub sort_rows: u64,
    /// Passes over runs that sorts had to write to files.
    pub sort_merge_passes: u64,
    /// What was made to compute results.
    pub tmp_tables: u64,
    /// Sets and groups that went to files.
    pub tmp_disk_tables: u64,
    /// Temporary files.
    pub tmp_files: u64,
    /// Blocks whose first table is read whole.
    pub select_scan: u64,
    /// Blocks whose first table is read in ranges of an index.
    pub select_range: u64,
    /// Blocks that read a further table whole.
    pub select_full_join: u64,
    /// Tables that were read whole, and not by an index that has all that is wanted.
    pub unindexed: u64,
    /// Sorts of a table that is read whole.
    pub sort_scan: u64,
    /// Sorts of what ranges of an index give.
    pub sort_range: u64,
    /// Rows that conditions were looked at for.
    pub examined: u64,
}

impl Handler {
    /// Adds what another thread has counted.
    fn add(&mut self, other: &Handler) {
        let Handler {
            read_key,
            read_next,
            read_prev,
            read_first,
            read_last,
            read_rnd_next,
            write,
            update,
            delete,
            sort_rows,
            sort_merge_passes,
            tmp_tables,
            tmp_disk_tables,
            tmp_files,
            select_scan,
            select_range,
            select_full_join,
            unindexed,
            sort_scan,
            sort_range,
            examined,
        } = other;
        for (own, more) in [
            (&mut self.read_key, read_key),
            (&mut self.read_next, read_next),
            (&mut self.read_prev, read_prev),
            (&mut self.read_first, read_first),
            (&mut self.read_last, read_last),
            (&mut self.read_rnd_next, read_rnd_next),
            (&mut self.write, write),
            (&mut self.update, update),
            (&mut self.delete, delete),
            (&mut self.sort_rows, sort_rows),
            (&mut self.sort_merge_passes, sort_merge_passes),
            (&mut self.tmp_tables, tmp_tables),
            (&mut self.tmp_disk_tables, tmp_disk_tables),
            (&mut self.tmp_files, tmp_files),
            (&mut self.select_scan, select_scan),
            (&mut self.select_range, select_range),
            (&mut self.select_full_join, select_full_join),
            (&mut self.unindexed, unindexed),
            (&mut self.sort_scan, sort_scan),
            (&mut self.sort_range, sort_range),
            (&mut self.examined, examined),
        ] {
            *own += more;
        }
    }
}

/// What the execution of a statement needs and changes.
pub struct ExecContext<'a> {
    /// The transaction.
    pub txn: &'a mut Txn,
    /// The engine, for AUTO_INCREMENT.
    pub engine: &'a Engine,
    /// The session, for KILL.
    pub owner: &'a Owner,
    /// The parameters and facts for expressions. The parameters of a folded INSERT: those of all
    /// rows, then the others.
    pub eval: EvalContext<'a>,
    /// The rows of the plan's virtual tables, in their order.
    pub virtual_rows: &'a [VirtualRows],
    /// How plain SELECTs read: `Plain`, or shared locks under SERIALIZABLE in a transaction.
    pub plain_read: Read,
    /// READ COMMITTED and below: rows that the condition refuses are unlocked.
    pub unlock: bool,
    /// An UPDATE under READ COMMITTED or below whose conditions may be evaluated again: a scan looks at what is committed, and locks only
    /// the rows that its condition wants then.
    pub rereads: bool,
    /// Locking scans may lock many rows at a time: all of them will be looked at, and nothing changes
    /// them meanwhile.
    pub locks_ahead: bool,
    /// CLIENT_FOUND_ROWS: affected rows of UPDATE are those found.
    pub found_rows: bool,
    /// What a sort or a set may keep in memory, in bytes, before it goes to a temporary file.
    pub memory_bytes: usize,
    /// The same, not divided among the threads that read for the statement.
    pub table_bytes: usize,
    /// sql_select_limit.
    pub select_limit: u64,
    /// SET INSERT_ID: the next AUTO_INCREMENT value; 0 for none.
    pub insert_id: u64,
    /// The first AUTO_INCREMENT value that it has generated; 0 for none. LAST_INSERT_ID() is that then,
    /// even if it fails later.
    pub generated_id: u64,
    /// auto_increment_increment and auto_increment_offset.
    pub auto_increment: Spacing,
    /// What it does to the rows of tables.
    pub io: &'a TableIo,
    /// The foreign keys that it meets; `None`: foreign_key_checks is off.
    pub relations: Option<&'a Relations>,
    /// What the tables whose rows it changes demand of them.
    pub demands: &'a Demands,
    /// IGNORE: a row that breaks a constraint is left out, with a warning.
    pub ignore: bool,
    /// sql_safe_updates: rows are changed only where a key finds them, or up to a LIMIT.
    pub safe_updates: bool,
    /// innodb_parallel_read_threads: so many threads may read for it.
    pub threads: usize,
    /// Of a thread that helps: its slot.
    pub lent: Option<&'a dyn Lent>,
    /// Counted while running.
    pub handler: Handler,
    /// The tables that queries compute.
    pub tables: Tables,
    /// SQL_CALC_FOUND_ROWS: the rows so far, had there been no LIMIT.
    pub rows_counted: Option<u64>,
    /// When to look next whether it must stop.
    pub patience: Patience,
    /// What MATCH has found.
    pub searches: Searches,
    /// EXPLAIN ANALYZE: what was measured so far.
    pub measures: Option<Box<Measures>>,
}

/// A virtual table and its rows, values of the columns' types.
pub type VirtualRows = (Arc<Table>, Vec<Vec<Value>>);

/// How a statement ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// ROW_COUNT() and the affected rows of the reply.
    pub affected_rows: u64,
    /// The id of the reply: the first AUTO_INCREMENT value generated, else the last one given.
    pub insert_id: u64,
    /// "Records: 3  Duplicates: 0  Warnings: 0" and the like.
    pub info: String,
    /// FOUND_ROWS(): the rows of the result.
    pub rows: u64,
}

/// Why an execution stopped.
pub enum Stop {
    /// The statement failed.
    Error(SqlError),
    /// The client is gone.
    Gone(std::io::Error),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Error(error)
    }
}

impl From<TxnError> for Stop {
    fn from(error: TxnError) -> Stop {
        Stop::Error(error.into())
    }
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Error(broken.into())
    }
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Stop {
        Stop::Error(SqlError::internal("a stored row does not fit its table"))
    }
}

/// Whether the source of rows should go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Continue,
    Stop,
}

type Flowing = Result<Flow, Stop>;

impl<'a> ExecContext<'a> {
    /// Where files of the server may be.
    pub(crate) fn files(&self) -> Files<'_> {
        let environment = &*self.eval.environment;
        Files::new(self.engine.env(), self.engine.dir(), environment)
    }

    /// The foreign keys of a table, if it has some that the statement must look after.
    fn relations_of(&self, table: &Table) -> Option<&'a TableRelations> {
        self.relations?.of_table(table.id)
    }

    /// To be called for every row: now and then lets others go first, and notices KILL and
    /// max_execution_time.
    #[inline]
    fn tick(&mut self) -> Result<(), Stop> {
        if self.patience.is_over() || self.eval.slept {
            self.look()
        } else {
            Ok(())
        }
    }

    /// Lets others go first, and notices KILL and max_execution_time.
    fn look(&mut self) -> Result<(), Stop> {
        self.eval.slept = false;
        let environment = &mut self.eval.environment;
        self.patience.renew(|| environment.clock_micros());
        self.owner.waiting.offer(self.txn.holds_locks());
        match self.eval.environment.interruption() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Evaluates something that will be, or was, evaluated for good: what it warns of is nobody's,
    /// and `None` is an evaluation that failed or had something to say.
    fn on_trial<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Option<T> {
        let apart = self.eval.warnings.apart();
        let heard = std::mem::replace(self.eval.warnings, apart);
        let before = std::mem::replace(&mut self.eval.on_trial, true);
        let result = work(self);
        self.eval.on_trial = before;
        let trial = std::mem::replace(self.eval.warnings, heard);
        result.ok().filter(|_| trial.is_silent())
    }

    /// The same with other parameters.
    fn with_params<'b>(&'b mut self, params: &'b [Value]) -> ExecContext<'b> {
        let mut eval = EvalContext::new(
            params,
            self.eval.statement,
            &mut *self.eval.environment,
            &mut *self.eval.warnings,
        );
        eval.ignore = self.eval.ignore;
        eval.inserts = self.eval.inserts;
        eval.storing = self.eval.storing;
        eval.row_number = self.eval.row_number;
        eval.on_trial = self.eval.on_trial;
        ExecContext {
            txn: &mut *self.txn,
            engine: self.engine,
            owner: self.owner,
            eval,
            virtual_rows: self.virtual_rows,
            plain_read: self.plain_read,
            unlock: self.unlock,
            rereads: self.rereads,
            locks_ahead: self.locks_ahead,
            found_rows: self.found_rows,
            memory_bytes: self.memory_bytes,
            table_bytes: self.table_bytes,
            select_limit: self.select_limit,
            insert_id: self.insert_id,
            generated_id: self.generated_id,
            auto_increment: self.auto_increment,
            io: self.io,
            relations: self.relations,
            demands: self.demands,
            ignore: self.ignore,
            safe_updates: self.safe_updates,
            threads: self.threads,
            lent: self.lent,
            handler: self.handler,
            tables: self.tables.clone(),
            rows_counted: None,
            patience: self.patience,
            searches: self.searches.clone(),
            measures: None,
        }
    }
}

/// Whether a table is still what it was when something was compiled for it: an index that a plan reads may be
/// gone, a constraint may have come.
pub(crate) fn is_same(known: &Arc<Table>, current: &Arc<Table>) -> bool {
    Arc::ptr_eq(known, current) || known == current
}

/// Takes the metadata locks of a plan's tables. `false`: a table was changed since, and the
/// statement must be compiled again.
pub fn use_tables(plan: &Plan, engine: &Engine, txn: &mut Txn) -> Result<bool, SqlError> {
    // By number, as changes of definitions do: so they do not wait for each other in a circle.
    let mut uses: Vec<&TableUse> = plan.tables.iter().collect();
    uses.sort_by_key(|used| (used.table.id, !used.writes));
    for TableUse { table, writes, .. } in uses {
        match txn.use_table(table, *writes)? {
            Some(current) if is_same(table, &current) => {}
            _ => return Ok(false),
        }
    }
    if !plan.changes_rows() {
        return Ok(true);
    }
    // Foreign keys of others are no part of a table's definition. From now on they stay.
    let same = engine.dictionary_version() == plan.dictionary;
    Ok(same || plan.relations.hold_in(&engine.dictionary())?)
}

/// Runs a plan. Rows go to `out`, without its `end`. A statement that fails leaves no changes.
pub fn run(plan: &Plan, context: &mut ExecContext, out: &mut dyn Output) -> Result<Outcome, Stop> {
    for warning in &plan.warnings {
        context.eval.warnings.warn(warning.clone());
    }
    if !matches!(plan.body, Body::Insert(_)) {
        convert_constants(plan, context)?;
    }
    match &plan.body {
        Body::Select(query) => {
            out.columns(&plan.columns).map_err(Stop::Gone)?;
            let mut rows = 0;
            let limit = query.limit_of_rows(context.select_limit);
            if limit == 0 {
                return Ok(Outcome::default());
            }
            context.locks_ahead = query.reads_to_the_end() && limit == u64::MAX && !context.unlock;
            subquery::run_query(query, context, &[], &mut |_, row| {
                out.row(row).map_err(Stop::Gone)?;
                rows += 1;
                Ok(if rows >= limit {
                    Flow::Stop
                } else {
                    Flow::Continue
                })
            })?;
            Ok(Outcome {
                rows: context.rows_counted.unwrap_or(rows),
                ..Outcome::default()
            })
        }
        Body::SelectInto(query, variables) => select_into(query, variables, context),
        Body::SelectIntoFile(export) => export::export(export, context),
        Body::Explain(explanation) => explain(explanation, plan, context, out),
        Body::Insert(insert) => {
            let naming = |_: &[Value]| Naming::in_insert(&insert.table);
            let run = |context: &mut ExecContext| match &insert.rows {
                InsertRows::File(load) => load::load(insert, load, context, out),
                InsertRows::Values(_) | InsertRows::Query(_) => {
                    run_insert(insert, plan, context, out)
                }
            };
            named(context, naming, |context| atomically(context, run))
        }
        Body::Update(update) => in_block(&update.block, context, |context| {
            atomically(context, |context| write::update(update, context))
        }),
        Body::Delete(delete) => in_block(&delete.block, context, |context| {
            atomically(context, |context| {
                let returning = Returning::begin(plan, delete.returning.as_deref(), out)?;
                write::delete(delete, returning, context)
            })
        }),
        Body::UpdateJoined(plan) => in_block(&plan.block, context, |context| {
            atomically(context, |context| joined::update(plan, context))
        }),
        Body::DeleteJoined(plan) => in_block(&plan.block, context, |context| {
            atomically(context, |context| joined::delete(plan, context))
        }),
    }
}

/// EXPLAIN; with ANALYZE the query runs first, and its rows go nowhere.
fn explain(
    explanation: &Explanation,
    plan: &Plan,
    context: &mut ExecContext,
    out: &mut dyn Output,
) -> Result<Outcome, Stop> {
    let measured;
    let rows = match explanation {
        Explanation::Known(rows) => rows,
        Explanation::Analyze(analysis) => {
            let measures = measure::run(&analysis.query, context)?;
            measured = vec![vec![analysis.text(&|point| measures.figures(point))]];
            &measured
        }
    };
    out.columns(&plan.columns).map_err(Stop::Gone)?;
    for row in rows {
        out.row(row).map_err(Stop::Gone)?;
    }
    Ok(Outcome {
        rows: rows.len() as u64,
        ..Outcome::default()
    })
}

/// 3854, and 3988 for a parameter, if a character set lacks a constant.
fn convert_constants(plan: &Plan, context: &mut ExecContext) -> Result<(), SqlError> {
    const MISSING: [u16; 2] = [3854, 3988];
    for conversion in &plan.conversions {
        let apart = context.eval.warnings.apart();
        let heard = std::mem::replace(context.eval.warnings, apart);
        let result = eval(conversion, &[], &mut context.eval);
        *context.eval.warnings = heard;
        // Whatever else is wrong is told where the value is needed.
        if let Err(error) = result
            && MISSING.contains(&error.code)
        {
            return Err(error);
        }
    }
    Ok(())
}

/// SELECT … INTO: one row, 1172 if there are more, a warning if there is none.
fn select_into(
    query: &Query,
    variables: &[String],
    context: &mut ExecContext,
) -> Result<Outcome, Stop> {
    let mut found: Option<Vec<Value>> = None;
    subquery::run_query(query, context, &[], &mut |_, row| {
        if found.is_some() {
            return Err(SqlError::too_many_rows().into());
        }
        found = Some(std::mem::take(row));
        Ok(Flow::Continue)
    })?;
    let Some(row) = found else {
        context.eval.warnings.warn(SqlError::no_data());
        return Ok(Outcome::default());
    };
    for ((name, value), ty) in variables.iter().zip(row).zip(&query.types) {
        let environment = &mut context.eval.environment;
        let value = for_variable(value, ty.decimals);
        environment.set_user_variable(name, value, ty.collation);
    }
    Ok(Outcome {
        affected_rows: 1,
        ..Outcome::default()
    })
}

/// Undoes what a failed statement has changed.
pub(crate) fn atomically<T>(
    context: &mut ExecContext,
    statement: impl FnOnce(&mut ExecContext) -> Result<T, Stop>,
) -> Result<T, Stop> {
    // What a changing statement reads must still be so when it commits: its subqueries and the
    // query of INSERT … SELECT lock what they read, from REPEATABLE READ up.
    if !context.unlock {
        context.plain_read = Read::Locking(LockMode::Shared, OnConflict::Wait);
    }
    context.eval.storing = true;
    let mark = context.txn.savepoint();
    let mut result = statement(context);
    if result.is_ok()
        && let Err(error) = context.txn.settle_entries()
    {
        result = Err(error.into());
    }
    // What an expression has lost came before the error of the column that it was meant for.
    if !matches!(&result, Err(Stop::Error(error)) if error.ended_transaction()) {
        let lost = context.eval.check_losses();
        result = lost.map_err(Stop::from).and(result);
    }
    // With the transaction, everything has been rolled back already.
    if let Err(Stop::Error(error)) = &result
        && !error.ended_transaction()
    {
        context.txn.rollback_to(&mark);
    }
    result
}

/// Gives each row of a folded INSERT the parameters that follow the rows.
fn run_insert(
    insert: &Insert,
    plan: &Plan,
    context: &mut ExecContext,
    out: &mut dyn Output,
) -> Result<Outcome, Stop> {
    let returning = Returning::begin(plan, insert.returning.as_deref(), out)?;
    let per_row = insert.per_row as usize;
    let rest = (plan.parameters as usize).saturating_sub(per_row);
    let given = context.eval.params.len();
    if per_row == 0 || given <= plan.parameters as usize {
        convert_constants(plan, context)?;
        return insert::insert(insert, returning, context, (1, given));
    }
    let rows = (given - rest) / per_row;
    let (values, tail) = context.eval.params.split_at(rows * per_row);
    if !plan.conversions.is_empty() {
        // Values that stand for themselves are assigned, and so are not among these.
        let of_one = [values.get(..per_row).unwrap_or_default(), tail].concat();
        convert_constants(plan, &mut context.with_params(&of_one))?;
    }
    if rest == 0 {
        return insert::insert(insert, returning, context, (rows, per_row));
    }
    let mut expanded = Vec::with_capacity(rows * (per_row + rest));
    for row in values.chunks_exact(per_row) {
        expanded.extend_from_slice(row);
        expanded.extend_from_slice(tail);
    }
    let mut inner = context.with_params(&expanded);
    let result = insert::insert(insert, returning, &mut inner, (rows, per_row + rest));
    let (handler, ids) = (inner.handler, (inner.insert_id, inner.generated_id));
    context.handler = handler;
    (context.insert_id, context.generated_id) = ids;
    result
}

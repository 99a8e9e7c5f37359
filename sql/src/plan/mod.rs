//! Plans: how a statement is executed, independent of its parameters.
//!
//! A query is one or several blocks (UNION). A block evaluates everything on one row of slots:
//! the columns of its tables, values of the enclosing query that it refers to, and aggregates
//! each have a slot of their own. Its tables are read in order, each for every row of those
//! before it, as nested loops; an access path looks up what it needs with the values that are
//! already in the row. So a lookup by a constant, by a column of a table before and by a column
//! of the enclosing query are one thing, and so are a point lookup and a join.
//!
//! Plans are immutable, shared between sessions, and valid for one version of the dictionary.

mod access;
mod aggregate;
mod cache;
mod columns;
mod dml;
mod explain;
mod from;
mod grouping;
mod place;
mod query;
mod scope;
mod union;
mod walk;

pub use cache::PlanCache;

use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, SqlMode, VariableScope},
    lexer::{Lifted, Mode},
    output::ColumnMeta,
    parse::{self, Parsed, Text},
};
use cohort_engine::{
    txn::{Dictionary, Engine, LockMode, OnConflict},
    types::{Collation, Table, Value},
};
use sqlparser::ast;
use std::sync::Arc;

/// The tables that are computed when they are read (information_schema and the like).
pub trait VirtualTables: Sync {
    /// The definition of a virtual table; its trees are not used.
    fn table(&self, database: &str, name: &str) -> Option<Arc<Table>>;
    /// Whether a database holds virtual tables only.
    fn is_virtual(&self, database: &str) -> bool;
}

/// What compiling depends on.
#[derive(Clone, Copy)]
pub struct CompileContext<'a> {
    /// The engine, for estimates.
    pub engine: &'a Engine,
    /// The dictionary that the plan will be valid for.
    pub dictionary: &'a Dictionary,
    /// The default database; empty for none.
    pub database: &'a str,
    /// The virtual tables.
    pub virtual_tables: &'a dyn VirtualTables,
    /// The value of a system variable now, for its type; 1193 if there is none.
    pub variable: &'a (dyn Fn(VariableScope, &str) -> Result<Value, SqlError> + Sync),
    /// The literals that were lifted out of the text, for their types.
    pub literals: &'a [Value],
    /// @@sql_mode
    pub sql_mode: SqlMode,
    /// @@collation_connection
    pub collation: Collation,
}

impl CompileContext<'_> {
    /// What sql_mode says about tokens.
    #[must_use]
    pub fn lexer_mode(&self) -> Mode {
        Mode {
            ansi_quotes: self.sql_mode.has(SqlMode::ANSI_QUOTES),
            no_backslash_escapes: self.sql_mode.has(SqlMode::NO_BACKSLASH_ESCAPES),
            pipes_as_concat: self.sql_mode.has(SqlMode::PIPES_AS_CONCAT),
            high_not_precedence: self.sql_mode.has(SqlMode::HIGH_NOT_PRECEDENCE),
        }
    }
}

/// A compiled statement.
#[derive(Debug)]
pub struct Plan {
    /// What to do.
    pub body: Body,
    /// How many parameters it has; of a folded INSERT, those of one row and of what follows.
    pub parameters: u32,
    /// The columns of its result; empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
    /// The version of the dictionary it is valid for.
    pub dictionary: u64,
    /// The tables it uses, each once.
    pub tables: Vec<Arc<Table>>,
    /// The virtual tables it reads: their rows are computed before it runs.
    pub virtual_tables: Vec<Arc<Table>>,
    /// Warnings of the compilation, which every execution gives.
    pub warnings: Vec<SqlError>,
    /// Whether it writes or locks.
    pub writes: bool,
}

/// What a plan does.
#[derive(Debug)]
pub enum Body {
    /// SELECT.
    Select(Query),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// EXPLAIN: the rows are known already.
    Explain(Vec<Vec<Value>>),
}

/// A query expression.
#[derive(Debug)]
pub struct Query {
    /// One block, or those of a UNION.
    pub blocks: Vec<Block>,
    /// Of a UNION: the rows of the first `distinct` blocks are made distinct.
    pub distinct: usize,
    /// ORDER BY of a UNION, on its result rows. (A single block sorts for itself.)
    pub order: Vec<SortKey>,
    /// LIMIT of a UNION.
    pub limit: Option<Limit>,
    /// The types of the result.
    pub types: Vec<ExprType>,
    /// Whether it refers to the row of the enclosing query.
    pub correlated: bool,
}

/// SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT.
#[derive(Debug, Default)]
pub struct Block {
    /// How many slots its row has.
    pub slots: usize,
    /// Which values of the enclosing row go to which of its slots: (from, to).
    pub outer: Vec<(usize, usize)>,
    /// Its tables in the order they are read.
    pub sources: Vec<Source>,
    /// Conditions that need no table.
    pub constant: Vec<Condition>,
    /// GROUP BY and aggregates.
    pub grouping: Option<Grouping>,
    /// HAVING.
    pub having: Option<Condition>,
    /// The select list.
    pub output: Vec<Computed>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// The access path of the first source gives that order, if all its bounds can be used with
    /// the values they have.
    pub presorted: bool,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// The subqueries of its expressions, by number.
    pub subqueries: Vec<Subquery>,
    /// Those that are run before the first table is read, because its access path needs them.
    pub early: Vec<usize>,
    /// Slots that are filled after WHERE or before: what a group keeps of its first row.
    pub row_slots: Vec<usize>,
}

/// An expression that may contain subqueries.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The expression.
    pub expr: Expr,
    /// The subqueries whose slots it reads: they are run first.
    pub subqueries: Vec<usize>,
}

/// A subquery of an expression: before the expression is evaluated, its result is put in a slot.
#[derive(Debug)]
pub struct Subquery {
    /// The query.
    pub query: Query,
    /// What of its result is wanted.
    pub usage: Usage,
    /// Where that goes.
    pub slot: usize,
}

/// What is wanted of a subquery's result.
#[derive(Debug)]
pub enum Usage {
    /// Its one value.
    Scalar,
    /// Whether there are rows.
    Exists,
    /// Whether these are among its rows; compared with these collations.
    In(Vec<(Computed, Collation)>),
    /// Whether the comparison holds for any row.
    Any(Box<Computed>, BinaryOp, Collation),
    /// Whether the comparison holds for all rows.
    All(Box<Computed>, BinaryOp, Collation),
}

/// A condition: a conjunct of WHERE, ON or HAVING.
pub type Condition = Computed;

/// A table of a block.
#[derive(Debug)]
pub struct Source {
    /// What is read.
    pub input: Input,
    /// How it is called.
    pub alias: String,
    /// The slot of its first column.
    pub first_slot: usize,
    /// How many columns it has.
    pub columns: usize,
    /// The columns that are needed, ascending.
    pub wanted: Vec<u16>,
    /// Conditions to check as soon as its row is there.
    pub filter: Vec<Condition>,
    /// It is the first of the inner tables of an outer join: where they end, and the conditions
    /// (of WHERE) to check once it is known whether there was a match.
    pub outer_join: Option<(usize, Vec<Condition>)>,
    /// Its rows are looked up in a hash table, by these expressions of the rows before and of
    /// its own.
    pub hash: Vec<(Expr, Expr)>,
    /// How its rows are locked.
    pub lock: Option<(LockMode, OnConflict)>,
    /// About how many rows are read each time, for EXPLAIN.
    pub estimate: u64,
}

/// Where rows come from.
#[derive(Debug)]
pub enum Input {
    /// A stored table.
    Table(Arc<Table>, Access),
    /// A table that is computed.
    Virtual(Arc<Table>),
    /// A subquery in FROM, computed once.
    Derived(Box<Query>),
}

/// How a stored table is read.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The index: `None` for the tree of the rows (the primary key, if there is one), else the
    /// position among the secondary indexes.
    pub index: Option<usize>,
    /// What is known of the first parts of the key. Empty: everything is read.
    pub bounds: Vec<Bound>,
    /// Backwards.
    pub reverse: bool,
    /// The index holds all that is needed: the row is not read.
    pub covering: bool,
    /// All parts of a unique key are known: at most one row.
    pub point: bool,
}

/// What is known of a part of a key.
#[derive(Debug, Clone)]
pub enum Bound {
    /// It equals a value.
    Equal(Expr),
    /// It equals a value, or both are NULL.
    NullSafe(Expr),
    /// It is NULL.
    IsNull,
    /// It is one of these.
    In(Vec<Expr>),
    /// It lies between values, inclusive or not.
    Range {
        /// The least value and whether it is included.
        low: Option<(Expr, bool)>,
        /// The greatest value and whether it is included.
        high: Option<(Expr, bool)>,
    },
    /// It begins as a LIKE pattern does, with its escape character.
    Like(Expr, Option<Expr>),
}

/// GROUP BY and aggregates.
#[derive(Debug)]
pub struct Grouping {
    /// The expressions of GROUP BY. Empty: all rows are one group, which is there even if there
    /// are no rows.
    pub keys: Vec<Computed>,
    /// Whether there was a GROUP BY.
    pub explicit: bool,
    /// What is computed for each group.
    pub aggregates: Vec<Aggregate>,
}

/// An aggregate function.
#[derive(Debug)]
pub struct Aggregate {
    /// Which.
    pub function: AggregateFunction,
    /// Its arguments; none for COUNT(*).
    pub args: Vec<Computed>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY of GROUP_CONCAT.
    pub order: Vec<SortKey>,
    /// Where its result goes.
    pub slot: usize,
    /// The type of its result.
    pub ty: ExprType,
}

/// The aggregate functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AggregateFunction {
    /// COUNT(*)
    CountRows,
    /// COUNT(x)
    Count,
    /// SUM
    Sum,
    /// AVG
    Avg,
    /// MIN
    Min,
    /// MAX
    Max,
    /// ANY_VALUE
    AnyValue,
    /// GROUP_CONCAT with its separator.
    GroupConcat(Vec<u8>),
    /// BIT_AND
    BitAnd,
    /// BIT_OR
    BitOr,
    /// BIT_XOR
    BitXor,
    /// VAR_POP, VAR_SAMP (`sample`), and their square roots (`root`).
    Variance {
        /// Divided by n - 1.
        sample: bool,
        /// The standard deviation.
        root: bool,
    },
}

/// A key of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// What is compared.
    pub value: Computed,
    /// DESC.
    pub desc: bool,
}

/// LIMIT.
#[derive(Debug, Clone)]
pub struct Limit {
    /// How many rows.
    pub count: Option<Expr>,
    /// How many are skipped first.
    pub offset: Option<Expr>,
}

/// INSERT and REPLACE.
#[derive(Debug)]
pub struct Insert {
    /// Into which table.
    pub table: Arc<Table>,
    /// The columns that are given, in the order of the values.
    pub columns: Vec<usize>,
    /// Where the values come from.
    pub rows: InsertRows,
    /// INSERT IGNORE.
    pub ignore: bool,
    /// REPLACE.
    pub replace: bool,
    /// ON DUPLICATE KEY UPDATE: column and value, on a row of the existing row's columns
    /// followed by those of the new row.
    pub on_duplicate: Option<Vec<(usize, Assigned)>>,
    /// What the columns get that are not given, by position.
    pub defaults: Vec<Default_>,
    /// How many parameters a row has, if the literals of several rows may be given at once.
    pub per_row: u32,
    /// The subqueries of its expressions.
    pub subqueries: Vec<Subquery>,
}

/// Where the rows of an INSERT come from.
#[derive(Debug)]
pub enum InsertRows {
    /// VALUES, on a row of the new row's columns (those before are set).
    Values(Vec<Vec<Assigned>>),
    /// SELECT.
    Query(Query),
}

/// A value to assign.
#[derive(Debug, Clone)]
pub enum Assigned {
    /// An expression.
    Value(Computed),
    /// DEFAULT.
    Default,
}

/// What a column gets if no value is given.
#[derive(Debug, Clone)]
pub enum Default_ {
    /// A value that is already of the column's type.
    Constant(Value),
    /// The statement's time.
    Now,
    /// An expression on the new row.
    Expression(Expr),
    /// There is none: 1364 in strict mode, else the type's own.
    None,
}

/// UPDATE of one table.
#[derive(Debug)]
pub struct Update {
    /// How its rows are found: one source, WHERE, ORDER BY, LIMIT.
    pub block: Block,
    /// The table.
    pub table: Arc<Table>,
    /// Column and value, in order; later ones see the values of those before.
    pub assignments: Vec<(usize, Assigned)>,
    /// What the columns get for `= DEFAULT`.
    pub defaults: Vec<Default_>,
    /// The rows must be found before the first one is changed, because the change could move
    /// a row to where it is found again.
    pub collect: bool,
    /// UPDATE IGNORE.
    pub ignore: bool,
}

/// DELETE from one table.
#[derive(Debug)]
pub struct Delete {
    /// How its rows are found.
    pub block: Block,
    /// The table.
    pub table: Arc<Table>,
    /// DELETE IGNORE.
    pub ignore: bool,
}

/// Compiles a query or DML statement. Run it under `parse::with_stack`. `template`: the
/// statement's literals were lifted, and a VALUES row stands for many.
pub fn compile(
    parsed: &Parsed,
    context: &CompileContext,
    template: bool,
) -> Result<Plan, SqlError> {
    let mut planner = Planner {
        context,
        text: &parsed.text,
        tables: Vec::new(),
        virtual_tables: Vec::new(),
        warnings: Vec::new(),
        parameters: parsed.parameters,
        stack: Vec::new(),
    };
    let mut writes = true;
    let (body, columns) = match &parsed.statement {
        ast::Statement::Query(query) => {
            let (query, columns) = planner.top_query(query)?;
            writes = query
                .blocks
                .iter()
                .any(|b| b.sources.iter().any(|s| s.lock.is_some()));
            (Body::Select(query), columns)
        }
        ast::Statement::Insert(insert) => (
            Body::Insert(Box::new(planner.insert(insert, template)?)),
            Vec::new(),
        ),
        ast::Statement::Update(update) => (
            Body::Update(Box::new(planner.update(update, parsed.ignore)?)),
            Vec::new(),
        ),
        ast::Statement::Delete(delete) => (
            Body::Delete(Box::new(planner.delete(delete, parsed.ignore)?)),
            Vec::new(),
        ),
        ast::Statement::Explain {
            statement,
            analyze,
            format,
            ..
        } => {
            use ast::{AnalyzeFormat, AnalyzeFormatKind};
            let tabular = matches!(
                format,
                None | Some(
                    AnalyzeFormatKind::Keyword(AnalyzeFormat::TRADITIONAL)
                        | AnalyzeFormatKind::Assignment(AnalyzeFormat::TRADITIONAL)
                )
            );
            if *analyze || !tabular {
                return Err(SqlError::not_supported("EXPLAIN ANALYZE and FORMAT"));
            }
            writes = false;
            let rows = planner.explain(statement)?;
            (Body::Explain(rows), explain::columns())
        }
        _ => return Err(SqlError::not_supported("this statement")),
    };
    Ok(Plan {
        body,
        parameters: parsed.parameters,
        columns: columns.into(),
        dictionary: context.dictionary.version(),
        tables: planner.tables,
        virtual_tables: planner.virtual_tables,
        warnings: planner.warnings,
        writes,
    })
}

/// Parses and compiles a statement, where the stack suffices for it. `lifted`: its literals are
/// parameters.
pub fn compile_statement(
    source: &[u8],
    lifted: Option<&Lifted>,
    context: &CompileContext,
) -> Result<Plan, SqlError> {
    let mode = context.lexer_mode();
    parse::with_stack(source, mode, || {
        let parsed = parse::parse(source, mode, lifted)?;
        let context = CompileContext {
            literals: lifted.map_or(&[], |l| &l.values),
            ..*context
        };
        compile(&parsed, &context, lifted.is_some())
    })
}

/// The plan of a statement that came as text, from the cache if possible. Its parameters are
/// then `lifted.values`, which are none if it was compiled as it stands.
pub fn plan_text(
    cache: &PlanCache,
    source: &[u8],
    lifted: &mut Lifted,
    context: &CompileContext,
) -> Result<Arc<Plan>, SqlError> {
    lifted.key.clear();
    lifted.key.extend_from_slice(context.database.as_bytes());
    lifted.key.push(0);
    lifted
        .key
        .extend_from_slice(&context.sql_mode.0.to_le_bytes());
    lifted
        .key
        .extend_from_slice(&context.collation.id().to_le_bytes());
    if lifted.lift(source, context.lexer_mode()) {
        if let Some(plan) = cache.get(&lifted.key, context.dictionary.version()) {
            return Ok(plan);
        }
        if let Ok(plan) = compile_statement(source, Some(lifted), context) {
            let plan = Arc::new(plan);
            cache.put(&lifted.key, Arc::clone(&plan));
            return Ok(plan);
        }
        // Errors are to be in the words of the text as it stands.
    }
    lifted.values.clear();
    Ok(Arc::new(compile_statement(source, None, context)?))
}

/// What the compilation of one statement has in hand.
struct Planner<'a> {
    context: &'a CompileContext<'a>,
    text: &'a Text<'a>,
    tables: Vec<Arc<Table>>,
    virtual_tables: Vec<Arc<Table>>,
    warnings: Vec<SqlError>,
    parameters: u32,
    /// The blocks being compiled, innermost last.
    stack: Vec<scope::Names>,
}

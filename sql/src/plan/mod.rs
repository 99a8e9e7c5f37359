//! Plans: how a statement is executed, independent of its parameters.
//!
//! A query is one or several blocks (UNION). A block evaluates everything on one row of slots:
//! the columns of its tables, values of the enclosing query that it refers to, aggregates and
//! window functions each have a slot of their own. Its tables are read in order, each for every row of those
//! before it, as nested loops; an access path looks up what it needs with the values that are
//! already in the row. So a lookup by a constant, by a column of a table before and by a column
//! of the enclosing query are one thing, and so are a point lookup and a join.
//!
//! Plans are immutable, shared between sessions, and valid for one version of the dictionary and
//! as long as no table they read grows or shrinks tenfold. They serve all values of their parameters, but
//! are chosen by those of the first execution. If one has read many rows, the next execution
//! chooses by its own values: to compile takes less than that.

mod access;
mod aggregate;
mod apart;
mod cache;
mod columns;
mod compared;
mod created;
mod cte;
mod define;
mod demands;
mod disjunction;
mod dml;
mod ends;
mod explain;
mod figures;
mod files;
mod from;
mod grouping;
mod hints;
mod implied;
mod in_turn;
mod join_order;
mod joined;
mod json_table;
mod known;
mod loose;
mod meaning;
mod merge;
mod named;
mod nature;
mod needs;
mod origins;
mod place;
mod push;
mod query;
mod relations;
mod returning;
mod rollup;
mod scope;
mod search;
mod selective;
mod substitute;
mod tree;
mod union;
mod view;
mod view_target;
mod walk;
mod window;

pub(crate) use access::index_of;
pub use cache::PlanCache;
pub use created::{ColumnOrigin, Filling, SelectedColumn};
pub use define::{NamedBy, ViewDraft, define_view, read_view};
pub use demands::{Demands, TableDemands};
pub use explain::{Explanation, Figures, Naming, Place as ExplainedPlace, Point as ExplainedPoint};
pub(crate) use figures::NoSession;
pub use files::{Export, FileUse};
pub use json_table::{JsonRows, JsonTable, JsonValue, Otherwise};
pub use needs::{Need, Part as NeededPart};
pub use relations::{Parent, Reference, Relations, TableRelations};
pub use rollup::Rollup;
pub use search::Rank;
pub(crate) use selective::{Branching, has_slot};
pub use substitute::KnownLiteral;
pub use tree::*;
pub use window::{FrameBound, Window, WindowCall, WindowFunction, WindowInput, Windowing};

use hints::{BlockHints, Unmerged};

use crate::{
    error::SqlError,
    expr::{Expr, ExprType, SqlMode, Statement, Taken, VariableScope},
    expr_text::Meanings,
    lexer::ValueKind,
    parse::{JsonTableSyntax, LoadSyntax, Parsed, Text},
    rights::Rights,
    row_expr::Settings,
    statements::Who,
};
use cohort_engine::{
    txn::{Dictionary, Engine},
    types::{Collation, Table, TableId, Value, View},
};
use rustc_hash::FxHashSet;
use sqlparser::ast;
use std::{
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
};

/// The tables that are computed when they are read (information_schema and the like).
pub trait VirtualTables: Sync {
    /// The definition of a virtual table; its trees are not used.
    fn table(&self, database: &str, name: &str) -> Option<Arc<Table>>;
    /// Whether a database holds virtual tables only.
    fn is_virtual(&self, database: &str) -> bool;
    /// The view of this name that is the server's own.
    fn view(&self, database: &str, name: &str) -> Option<Arc<View>>;
}

/// The settings of a session that a plan depends on: a part of its key in the cache.
#[derive(Clone, Copy)]
pub struct PlanSettings<'a> {
    /// The default database; empty for none.
    pub database: &'a str,
    /// @@sql_mode
    pub sql_mode: SqlMode,
    /// @@collation_connection
    pub collation: Collation,
    /// @@div_precision_increment
    pub div_precision_increment: u8,
    /// The version of the dictionary with the session's temporary tables; 0: it has none. So what
    /// is compiled with them is for this session only, until they are others.
    pub temporary: u64,
}

impl<'a> PlanSettings<'a> {
    /// Those on which expressions of definitions depend.
    #[must_use]
    pub fn of_rows(&self) -> Settings<'a> {
        Settings {
            collation: self.collation,
            sql_mode: self.sql_mode,
            div_precision_increment: self.div_precision_increment,
            database: Some(self.database).filter(|name| !name.is_empty()),
        }
    }
    /// Appends all of them to a key. A setting that is added above does not compile until it
    /// stands here, too.
    pub fn mark(&self, key: &mut Vec<u8>) {
        let PlanSettings {
            database,
            sql_mode,
            collation,
            div_precision_increment,
            temporary,
        } = *self;
        key.extend_from_slice(database.as_bytes());
        key.push(0);
        key.extend_from_slice(&sql_mode.0.to_le_bytes());
        key.extend_from_slice(&collation.id().to_le_bytes());
        key.push(div_precision_increment);
        key.extend_from_slice(&temporary.to_le_bytes());
    }
}

/// Who has a statement compiled.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// What they may do.
    pub rights: &'a Rights,
    /// Who that is.
    pub who: &'a Who,
}

/// What compiling depends on.
#[derive(Clone, Copy)]
pub struct CompileContext<'a> {
    /// The engine, for estimates.
    pub engine: &'a Engine,
    /// The dictionary that the plan will be valid for: with the session's temporary tables.
    pub dictionary: &'a Dictionary,
    /// That without them, in which foreign keys find each other.
    pub stored: &'a Dictionary,
    /// The session's settings.
    pub settings: PlanSettings<'a>,
    /// The virtual tables.
    pub virtual_tables: &'a dyn VirtualTables,
    /// Who asks, if what is not allowed is to be refused at once: whoever may not read a table
    /// does not learn whether it is there.
    pub who: Option<Asker<'a>>,
    /// The session has locked tables: others are not there for it.
    pub locked: bool,
    /// Whether files may be used so: 1045, 1227 and 3948 if they may not.
    pub files: &'a (dyn Fn(FileUse) -> Result<(), SqlError> + Sync),
    /// The value of a system variable now, for its type; 1193 if there is none.
    pub variable: &'a (dyn Fn(VariableScope, &str) -> Result<Value, SqlError> + Sync),
    /// The type of a user variable's value now.
    pub user_variable: &'a (dyn Fn(&str) -> ExprType + Sync),
    /// The facts of the statement.
    pub facts: &'a Statement<'a>,
    /// What its parameters are now; fewer if they are not known.
    pub parameters: &'a [Value],
    /// The kinds that they are taken to have, if these are not those of the values: see
    /// `session::bound`.
    pub kinds: Option<&'a [ValueKind]>,
}

/// Compiles a query or DML statement. Run it under `parse::with_stack`. `template`: the
/// statement's literals were lifted, and a VALUES row stands for many. `filling`: the table that is
/// made for the rows of a query.
pub fn compile(
    parsed: &Parsed,
    context: &CompileContext,
    template: bool,
    filling: Option<&Filling>,
) -> Result<Plan, SqlError> {
    // Before names are looked up.
    FileUse::of(parsed).map_or(Ok(()), context.files)?;
    // Fields of a file are texts, whatever the variables are now that they go to.
    let load = parsed.load.as_ref();
    let fields = load.map(LoadSyntax::variables).unwrap_or_default();
    let user_variable = |name: &str| match fields.contains(&name) {
        true => files::type_of_field(context.settings.collation),
        false => (context.user_variable)(name),
    };
    let context = &CompileContext {
        user_variable: &user_variable,
        ..*context
    };
    let mut planner = Planner::new(parsed, context, template);
    let mut writes = true;
    let statement = planner.behind_with(&parsed.statement)?;
    let (body, columns) = match statement {
        ast::Statement::Query(query) if let Some(filling) = filling => {
            let insert = planner.fill(query, filling)?;
            (Body::Insert(Box::new(insert)), Vec::new())
        }
        ast::Statement::Query(query) => {
            let (query, columns) = planner.top_query(query)?;
            writes = false;
            query.each_source(&mut |source| writes |= source.lock.is_some());
            files::into(query, columns, &parsed.into)?
        }
        ast::Statement::Insert(insert) if let Some(load) = load => {
            let insert = planner.load(insert, load)?;
            (Body::Insert(Box::new(insert)), Vec::new())
        }
        ast::Statement::Insert(insert) => {
            let (insert, columns) = planner.insert(insert, template)?;
            (Body::Insert(Box::new(insert)), columns)
        }
        ast::Statement::Update(update) => (planner.any_update(update, parsed.ignore)?, Vec::new()),
        ast::Statement::Delete(delete) => {
            if dml::deletes_from_several(delete) {
                let joined = planner.delete_joined(delete, parsed.ignore)?;
                (Body::DeleteJoined(Box::new(joined)), Vec::new())
            } else {
                let (delete, columns) = planner.delete(delete, parsed.ignore)?;
                (Body::Delete(Box::new(delete)), columns)
            }
        }
        ast::Statement::Explain { .. } => {
            let (explanation, columns, locks) = planner.explain(parsed)?;
            writes = locks;
            (Body::Explain(explanation), columns)
        }
        _ => return Err(SqlError::not_supported("this statement")),
    };
    let needs = planner.needs();
    let relations = Relations::of(&body, context.stored)?;
    planner.tables.extend(relations.table_uses());
    let mut demands = Demands::of(&relations, &context.settings)?;
    for (table, demand) in planner.view_demands {
        demands.add(table, demand);
    }
    Ok(Plan {
        levels: levels(planner.nested.max(1), planner.deepest)?,
        body,
        parameters: parsed.parameters,
        columns: columns.into(),
        dictionary: context.dictionary.version(),
        tables: planner.tables,
        needs,
        passed: AtomicU64::new(0),
        digest: std::sync::OnceLock::new(),
        relations,
        demands,
        sizes: planner.sizes,
        weighed: planner.weighed,
        was_long: AtomicBool::new(false),
        virtual_tables: planner.virtual_tables,
        views: planner.views,
        warnings: planner.warnings,
        conversions: planner.conversions,
        writes,
        execution_ms_max: planner.hints.execution_ms_max,
        user_variables: without(planner.user_variables, &fields),
        literals: planner.literals,
        taken: planner.taken,
    })
}

/// The user variables whose types count: not those that the statement itself makes texts.
fn without(mut variables: Vec<(String, ExprType)>, fields: &[&str]) -> Vec<(String, ExprType)> {
    variables.retain(|(name, _)| !fields.contains(&name.as_str()));
    variables
}

impl<'a> Planner<'a> {
    /// For a text.
    fn new(parsed: &'a Parsed<'_>, context: &'a CompileContext<'a>, template: bool) -> Planner<'a> {
        let mut warnings = parsed.warnings.clone();
        let hints = BlockHints::of(&parsed.text, &mut warnings);
        Planner {
            context,
            text: &parsed.text,
            json_tables: &parsed.json_tables,
            tables: Vec::new(),
            sizes: Vec::new(),
            weighed: false,
            exists_at: None,
            changing: 0,
            varying: 0,
            innermost_named: None,
            virtual_tables: Vec::new(),
            views: Vec::new(),
            view_demands: Vec::new(),
            noted: Vec::new(),
            standing: needs::Standing::Read,
            shares: false,
            hints,
            unmerged: Unmerged::None,
            within_views: Vec::new(),
            meanings: None,
            warnings,
            conversions: Vec::new(),
            parameters: parsed.parameters,
            merging: false,
            stays: FxHashSet::default(),
            merged: 0,
            compiled_again: 0,
            lifted: template,
            stack: Vec::new(),
            common: Vec::new(),
            recursions: 0,
            moved: 0,
            named_itself: false,
            deepest: 0,
            nested: 0,
            user_variables: Vec::new(),
            literals: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// The UPDATE or DELETE behind WITH, whose tables come into scope; else the statement itself.
    fn behind_with<'p>(
        &mut self,
        statement: &'p ast::Statement,
    ) -> Result<&'p ast::Statement, SqlError> {
        let ast::Statement::Query(query) = statement else {
            return Ok(statement);
        };
        let (ast::SetExpr::Update(writes) | ast::SetExpr::Delete(writes)) = query.body.as_ref()
        else {
            return Ok(statement);
        };
        if let Some(with) = &query.with {
            self.with(with, query)?;
        }
        Ok(writes)
    }
}

/// How deep the execution of a statement recurses whose queries nest so deep and whose deepest
/// expression is so deep, in levels of its text: see `room`.
fn levels(queries: usize, deepest: usize) -> Result<usize, SqlError> {
    /// What a query takes beside its expressions.
    const OF_QUERY: usize = 12;
    /// Execution takes less for a level than parsing and planning.
    const SHARE: usize = 6;
    const LEVELS_MAX: usize = 30_000;
    let levels = queries * (deepest + OF_QUERY) / SHARE;
    if levels > LEVELS_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    Ok(levels)
}

/// What the compilation of one statement has in hand.
struct Planner<'a> {
    context: &'a CompileContext<'a>,
    text: &'a Text<'a>,
    /// The columns of each JSON_TABLE, by number.
    json_tables: &'a [JsonTableSyntax],
    tables: Vec<TableUse>,
    sizes: Vec<SizeSeen>,
    /// How many blocks are being compiled in the query of an EXISTS, with the innermost one of these.
    exists_at: Option<usize>,
    /// Counts what was met that may be different for each row: variables, and functions such as RAND.
    changing: usize,
    /// How often it met what may be another value for each row: functions such as RAND, and user variables of a
    /// statement that sets some.
    varying: usize,
    /// The innermost block of which a column was named: in the arguments of an aggregate function while
    /// these are compiled.
    innermost_named: Option<usize>,
    /// How many rows conditions leave depends on parameters.
    weighed: bool,
    virtual_tables: Vec<Arc<Table>>,
    /// The views that the statement names.
    views: Vec<ViewUse>,
    /// What views demand of rows that are written through them.
    view_demands: Vec<(TableId, demands::ViewDemand)>,
    /// The tables and views that it names, and what is done to them.
    noted: Vec<Rc<needs::Noted>>,
    /// How the tables stand in the statement that are named now.
    standing: needs::Standing,
    /// The tables that are named are read for the rows of others: see `Source::shared`.
    shares: bool,
    /// The optimizer hints of the text.
    hints: BlockHints,
    /// What of FROM is not to be read in its place, by a hint.
    unmerged: Unmerged,
    /// The views whose texts are being compiled, innermost last.
    within_views: Vec<Arc<View>>,
    /// What the names of the text turn out to mean, if somebody wants to know.
    meanings: Option<Meanings>,
    warnings: Vec<SqlError>,
    conversions: Vec<Expr>,
    parameters: u32,
    /// Tables of derived tables may be read in their place: not where rows are changed, for then what is
    /// computed of them must be what they were before.
    merging: bool,
    /// The addresses of SELECTs that were found not to be such, so that what nests deeply is not tried
    /// again at each level.
    stays: FxHashSet<usize>,
    /// In so many texts of derived tables whose tables are read in their place.
    merged: usize,
    /// How many tables were compiled again with further conditions.
    compiled_again: usize,
    /// The parameters are literals that were lifted out of the text.
    lifted: bool,
    /// The blocks being compiled, innermost last.
    stack: Vec<scope::Names>,
    /// The names of WITH in scope, innermost last.
    common: Vec<cte::CommonTable>,
    /// How many recursive common table expressions there are.
    recursions: usize,
    /// In the arguments of how many aggregate functions that an enclosing block computes.
    moved: usize,
    /// A common table expression was named in its own definition.
    named_itself: bool,
    /// How deep the deepest expression is.
    deepest: usize,
    /// How deep queries nest.
    nested: usize,
    /// The user variables it reads, with the types they have now.
    user_variables: Vec<(String, ExprType)>,
    /// What it has compared parameters with.
    literals: Vec<KnownLiteral>,
    /// What its parameters are taken for, if it follows from where they stand.
    taken: Vec<Option<Taken>>,
}

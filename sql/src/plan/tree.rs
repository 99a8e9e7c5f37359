//! What a plan consists of. The module above says how it hangs together.

use super::{
    Demands, Explanation, Export, JsonTable, KnownLiteral, Need, Rank, Relations, access::outgrown,
    rollup::Rollup, window::Windowing,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, InArray, Taken, infer, is_volatile},
    output::ColumnMeta,
    parse::FileFormat,
    statements::Digest,
};
use cohort_engine::{
    txn::{Engine, LockMode, OnConflict},
    types::{Charset, Collation, Table, Value, View},
};
use rustc_hash::FxHashSet;
use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64},
    },
};

/// A compiled statement.
#[derive(Debug)]
pub struct Plan {
    /// What to do.
    pub body: Body,
    /// How deep its execution recurses: it needs room for so many levels.
    pub levels: usize,
    /// How many parameters it has; of a folded INSERT, those of one row and of what follows.
    pub parameters: u32,
    /// The columns of its result; empty if it has none.
    pub columns: Arc<[ColumnMeta]>,
    /// The version of the dictionary it is valid for.
    pub dictionary: u64,
    /// The stored tables it uses, once for each time it names them; then those that foreign keys
    /// lead to.
    pub tables: Vec<TableUse>,
    /// The privileges that it needs.
    pub needs: Vec<Need>,
    /// The number of the rights that were last found to be enough.
    pub passed: AtomicU64,
    /// Of which kind the statement is, once one has run.
    pub digest: OnceLock<Arc<Digest>>,
    /// The foreign keys that it meets.
    pub relations: Relations,
    /// What the tables whose rows it changes demand of them.
    pub demands: Demands,
    /// The stored tables whose size its access paths and join orders were chosen by.
    pub sizes: Vec<SizeSeen>,
    /// How many rows conditions leave depends on parameters, and paths were chosen by that.
    pub weighed: bool,
    /// It has read many rows.
    pub was_long: AtomicBool,
    /// The virtual tables it reads: their rows are computed before it runs.
    pub virtual_tables: Vec<Arc<Table>>,
    /// The views that it names, once for each time.
    pub views: Vec<ViewUse>,
    /// Warnings of the compilation, which every execution gives.
    pub warnings: Vec<SqlError>,
    /// Constants that must be there in other character sets: see `Scope::convert_first`.
    pub conversions: Vec<Expr>,
    /// Whether it writes or locks.
    pub writes: bool,
    /// The hint MAX_EXECUTION_TIME, in milliseconds.
    pub execution_ms_max: Option<u64>,
    /// The user variables whose types it was compiled for.
    pub user_variables: Vec<(String, ExprType)>,
    /// What it takes for granted of its parameters: they are in the place of literals of the
    /// expressions of indexes.
    pub literals: Vec<KnownLiteral>,
    /// What its parameters are taken for, by their positions, where it follows from what stands
    /// beside them; fewer if there are no more.
    pub taken: Vec<Option<Taken>>,
}

impl Plan {
    /// Whether it is one for these values, as far as it depends on them.
    #[must_use]
    pub fn is_for(&self, params: &[Value]) -> bool {
        let is_so = |known: &KnownLiteral| {
            (params.get(known.index as usize) == Some(&known.literal)) == known.is_same
        };
        self.literals.iter().all(is_so)
    }
}

impl Drop for Plan {
    /// What is deep is dropped as it was made: where there is room.
    fn drop(&mut self) {
        let body = std::mem::replace(
            &mut self.body,
            Body::Explain(Explanation::Known(Vec::new())),
        );
        crate::room::with_room(self.levels, || drop(body));
    }
}

/// What was known of a table when a plan was made.
#[derive(Clone, Debug)]
pub struct SizeSeen {
    /// The table.
    pub table: Arc<Table>,
    /// About how many rows it had.
    rows: u64,
    /// How often ANALYZE TABLE had read it.
    analyzed: u64,
}

impl SizeSeen {
    /// What is known of it now.
    #[must_use]
    pub fn now(table: &Arc<Table>, engine: &Engine) -> SizeSeen {
        SizeSeen {
            rows: engine.row_estimate(table),
            analyzed: engine.analyzed(table),
            table: Arc::clone(table),
        }
    }

    /// Whether another plan may be better now.
    #[must_use]
    pub fn is_outdated(&self, engine: &Engine) -> bool {
        outgrown(self.rows, engine.row_estimate(&self.table))
            || self.analyzed != engine.analyzed(&self.table)
    }
}

/// A view where a statement names it.
#[derive(Clone, Debug)]
pub struct ViewUse {
    /// The view.
    pub view: Arc<View>,
    /// What the statement calls it.
    pub alias: String,
    /// Whether it changes rows of it.
    pub writes: bool,
}

/// A stored table where a statement names it.
#[derive(Clone, Debug)]
pub struct TableUse {
    /// The table.
    pub table: Arc<Table>,
    /// How the statement calls it.
    pub alias: String,
    /// Whether it writes it, or locks its rows to write them.
    pub writes: bool,
    /// The statement does not name it: a foreign key leads there.
    pub implied: bool,
}

/// What a plan does.
#[derive(Debug)]
pub enum Body {
    /// SELECT.
    Select(Query),
    /// SELECT … INTO user variables.
    SelectInto(Query, Vec<String>),
    /// SELECT … INTO OUTFILE or DUMPFILE.
    SelectIntoFile(Box<Export>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// UPDATE of several tables.
    UpdateJoined(Box<Joined>),
    /// DELETE from several tables.
    DeleteJoined(Box<Joined>),
    /// EXPLAIN.
    Explain(Explanation),
}

/// A query expression.
#[derive(Debug)]
pub struct Query {
    /// One block, or the operands of UNION, INTERSECT or EXCEPT.
    pub blocks: Vec<Block>,
    /// How the rows of several blocks make the result.
    pub combined: Combined,
    /// ORDER BY of several blocks, on the result rows. (A single one sorts for itself.)
    pub order: Vec<SortKey>,
    /// LIMIT of several blocks.
    pub limit: Option<Limit>,
    /// The types of the result.
    pub types: Vec<ExprType>,
    /// Whether it refers to the row of the enclosing query.
    pub correlated: bool,
}

impl Query {
    /// Whether it looks at every row of its range of one table, and at nothing else meanwhile.
    #[must_use]
    pub fn reads_to_the_end(&self) -> bool {
        let [block] = self.blocks.as_slice() else {
            return false;
        };
        matches!(block.sources.as_slice(), [source] if matches!(source.input, Input::Table(..)))
            && block.subqueries.is_empty()
            && block.ends.is_empty()
            && block.limit.is_none()
            && self.limit.is_none()
    }
    /// How many rows it sends at most where sql_select_limit is this: its own LIMIT comes first.
    #[must_use]
    pub fn limit_of_rows(&self, select_limit: u64) -> u64 {
        let own = match self.blocks.as_slice() {
            [block] => &block.limit,
            _ => &self.limit,
        };
        match own {
            Some(_) => u64::MAX,
            None => select_limit,
        }
    }
    /// Whether MySQL takes it, as a table, for a part of the query that reads it, so that its
    /// columns are expressions and not those of a table.
    fn is_merged_by_mysql(&self) -> bool {
        let [block] = self.blocks.as_slice() else {
            return false;
        };
        let plain = block.grouping.is_none()
            && block.windowing.is_none()
            && !block.distinct
            && block.limit.is_none();
        plain && !block.sources.is_empty()
    }
    /// A single block.
    #[must_use]
    pub fn of_block(block: Block) -> Query {
        Query {
            combined: Combined::Union { distinct: 0 },
            order: Vec::new(),
            limit: None,
            types: block.output.iter().map(|o| infer(&o.expr)).collect(),
            correlated: !block.outer.is_empty(),
            blocks: vec![block],
        }
    }

    /// About how many rows one of its blocks examines at most.
    #[must_use]
    pub fn rows_examined(&self, engine: &Engine) -> u64 {
        let blocks = self.blocks.iter();
        let of_block = |block: &Block| block.rows_examined(engine);
        blocks.map(of_block).max().unwrap_or(0)
    }

    /// How deep queries nest in it, itself included: execution recurses so deep.
    #[must_use]
    pub fn depth(&self) -> usize {
        let of_source = |source: &Source| match &source.input {
            Input::Derived(derived, _) => derived.depth,
            _ => 0,
        };
        let of_block = |block: &Block| {
            let subqueries = block.subqueries.iter().map(|s| s.query.depth());
            subqueries.chain(block.sources.iter().map(of_source)).max()
        };
        1 + self.blocks.iter().filter_map(of_block).max().unwrap_or(0)
    }
    /// Calls `visit` with every source in it, those of subqueries and computed tables included;
    /// a table that several read is looked into once.
    pub fn each_source<'q>(&'q self, visit: &mut dyn FnMut(&'q Source)) {
        let mut seen = FxHashSet::default();
        let mut pending = vec![self];
        while let Some(query) = pending.pop() {
            for block in &query.blocks {
                pending.extend(block.subqueries.iter().map(|s| &s.query));
                for source in &block.sources {
                    visit(source);
                    if let Input::Derived(derived, _) = &source.input
                        && seen.insert(Arc::as_ptr(derived))
                    {
                        pending.push(&derived.query);
                        pending.extend(derived.recursion.iter().flat_map(|r| &r.parts));
                    }
                }
            }
        }
    }
}

/// How the rows of the blocks of a query make its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combined {
    /// Those of all blocks; the rows of the first `distinct` blocks are made distinct.
    Union {
        /// How many blocks.
        distinct: usize,
    },
    /// Those of the first block that are in all others; without `all` each once.
    Intersect {
        /// As often as in the block that has the fewest.
        all: bool,
    },
    /// Those of the first block that are in no other; without `all` each once.
    Except {
        /// As often as the first block has more than all others together.
        all: bool,
    },
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
    /// What is computed of the rows that HAVING admits, before DISTINCT and ORDER BY.
    pub windowing: Option<Windowing>,
    /// The select list.
    pub output: Vec<Computed>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// The access path of the first source gives that order, if all its bounds can be used with
    /// the values they have.
    pub presorted: bool,
    /// If the access path of the first source gives the rows of each group one after the other, if all
    /// its bounds can be used with the values they have: how many first parts of an entry's key tell
    /// the groups apart.
    pub grouped_in_turn: Option<usize>,
    /// The results of the aggregates, all MIN or MAX of columns of the only table, are what is read
    /// first by these paths, one for each.
    pub ends: Vec<Access>,
    /// All that is wanted of the rows that this search of the only table finds is how many they are:
    /// its position among the source's ranks.
    pub counted: Option<usize>,
    /// LIMIT.
    pub limit: Option<Limit>,
    /// SQL_CALC_FOUND_ROWS: rows are counted beyond the LIMIT.
    pub count_all: bool,
    /// The subqueries of its expressions, by number.
    pub subqueries: Vec<Subquery>,
    /// What is computed of them before the first table is read, because access paths and hash tables need
    /// it.
    pub early: Vec<Computed>,
    /// The statement sets no user variables.
    pub keeps_variables: bool,
    /// Slots that are filled after WHERE or before: what a group keeps of its first row.
    pub row_slots: Vec<usize>,
}

impl Block {
    /// Whether what it selects, or by which conditions, may differ each time that it is evaluated.
    fn is_volatile(&self) -> bool {
        let filters = self.sources.iter().flat_map(|source| &source.filter);
        let mut all = self.output.iter().chain(&self.constant).chain(filters);
        all.any(|one| is_volatile(&one.expr))
    }

    /// About how many rows, or combinations of rows, it or one of its subqueries examines.
    pub(super) fn rows_examined(&self, engine: &Engine) -> u64 {
        let (mut combinations, mut most) = (1_u64, 0);
        for source in &self.sources {
            let rows = match &source.input {
                Input::Table(table, access) if access.is_whole() => engine.row_estimate(table),
                Input::Derived(derived, _) => {
                    most = most.max(derived.query.rows_examined(engine));
                    source.estimate
                }
                Input::Table(..) | Input::Virtual(_) | Input::Working(_) | Input::Json(_) => {
                    source.estimate
                }
            };
            combinations = combinations.saturating_mul(rows.max(1));
            most = most.max(combinations);
        }
        let subqueries = self.subqueries.iter();
        let nested = subqueries.map(|subquery| subquery.query.rows_examined(engine));
        most.max(nested.max().unwrap_or(0))
    }
}

/// An expression that may contain subqueries.
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The expression.
    pub expr: Expr,
    /// The subqueries whose slots it reads: they are run first.
    pub subqueries: Vec<usize>,
    /// Which of them depends on the row: see `exec::needed`.
    pub selective: bool,
}

/// A subquery of an expression: before the expression is evaluated, its result is put in a slot.
#[derive(Debug)]
pub struct Subquery {
    /// The query.
    pub query: Query,
    /// What of its result is wanted.
    pub usage: Usage,
    /// Where that goes.
    pub slots: Range<usize>,
    /// The subqueries of the same block whose results it sees: they are run before it.
    pub needs: Vec<usize>,
    /// It sees the outer row, stored tables that it does not lock, and nothing else that may change: for
    /// the same values of that row it comes to the same.
    pub repeatable: bool,
}

/// What is wanted of a subquery's result.
#[derive(Debug)]
pub enum Usage {
    /// The values of its one row; and behind several, whether there is one.
    Scalar,
    /// Whether there are rows.
    Exists,
    /// Whether these are among its rows.
    In(Vec<Pair>),
    /// Whether the comparison holds for any row.
    Any(Box<Pair>, BinaryOp),
    /// Whether the comparison holds for all rows.
    All(Box<Pair>, BinaryOp),
}

impl Usage {
    /// What is compared with the columns of its rows.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        match self {
            Usage::Scalar | Usage::Exists => &[],
            Usage::In(pairs) => pairs,
            Usage::Any(pair, _) | Usage::All(pair, _) => std::slice::from_ref(pair),
        }
    }
}

/// A value and a column of a subquery's rows, both made what they are compared as.
#[derive(Debug)]
pub struct Pair {
    /// The value, of the row of the block that the subquery stands in.
    pub left: Computed,
    /// What is made of the column, of a row of the subquery.
    pub right: Expr,
    /// The collation that they are compared with.
    pub collation: Collation,
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
    /// What they are called, if no table says it.
    pub names: Vec<String>,
    /// The columns that are needed, ascending.
    pub wanted: Vec<u16>,
    /// Conditions to check as soon as its row is there, but for those in `alone` of rows that are kept.
    pub filter: Vec<Condition>,
    /// It is the first of the inner tables of an outer join: where they end, and the conditions
    /// (of WHERE) to check once it is known whether there was a match.
    pub outer_join: Option<(usize, Vec<Condition>)>,
    /// Its rows are read once and kept, whatever the rows before it are: to be looked up in a hash table
    /// by these expressions of the rows before and of its own, or, without any, tried one after the other.
    pub kept: Option<Vec<(Expr, Expr)>>,
    /// The keys of its rows are wanted, as it may be changed: they are kept with the rows.
    pub keyed: bool,
    /// Another way, once that pays, to the rows of the first table of a block that sees outer rows.
    pub apart: Option<Apart>,
    /// Those of its conditions that need no other row, if it is stored and kept: what they refuse is not
    /// kept.
    pub alone: Vec<Condition>,
    /// Other ways to its rows, one of which may be better with the values that the conditions have.
    /// If its path gives the order of ORDER BY up to LIMIT: ways to the rows that conditions leave,
    /// without that order.
    pub ways: Vec<Access>,
    /// A computed table that sees the rows of tables before it: LATERAL.
    pub lateral: bool,
    /// It is read in the place of a view or derived table that names it.
    pub merged: bool,
    /// What is searched for in its texts; the slots of the answers follow those of its columns.
    pub ranks: Vec<Rank>,
    /// How its rows are locked.
    pub lock: Option<(LockMode, OnConflict)>,
    /// What is read of it decides what becomes of other tables' rows: it is of the join of an UPDATE or DELETE,
    /// and not changed. Then it is locked as a SERIALIZABLE transaction locks what it reads.
    pub shared: bool,
    /// About how many rows are read each time, for EXPLAIN.
    pub estimate: u64,
    /// Which share of them its own conditions leave, about, for EXPLAIN: 1 if it has none.
    pub share: f64,
    /// What it costs to read it for all rows of those before it, for EXPLAIN: 1 is the next row of a scan.
    pub cost: f64,
}

impl Source {
    /// Whether its rows are locked whatever the transaction is.
    pub fn locks(&self) -> bool {
        self.lock.is_some() || self.shared
    }
}

/// How a table is read once, whatever outer rows there are, to be looked up by hash for each of them.
#[derive(Debug)]
pub struct Apart {
    /// The path, which sees no outer row.
    pub access: Access,
    /// The expressions of the outer row, and those of its own that must be equal.
    pub keys: Vec<(Expr, Expr)>,
    /// What that costs: 1 is the next row of a scan.
    pub cost: f64,
    /// Conditions leave few rows, so that these may lead to the outer rows.
    pub is_selective: bool,
}

/// Where rows come from.
#[derive(Debug)]
pub enum Input {
    /// A stored table.
    Table(Arc<Table>, Access),
    /// A table that is computed.
    Virtual(Arc<Table>),
    /// A subquery in FROM or a common table expression, and which slots of the block go to which
    /// of the row that it sees: (from, to).
    Derived(Arc<Derived>, Vec<(usize, usize)>),
    /// The rows that came last, for the recursive part of the common table expression of this
    /// number.
    Working(usize),
    /// Parts of a document.
    Json(Arc<JsonTable>),
}

/// A table that a query computes: once in an execution, however many read it, unless it sees the
/// row of a query that it is in.
#[derive(Debug)]
pub struct Derived {
    /// The query; of a recursive common table expression, what does not name itself.
    pub query: Query,
    /// What does.
    pub recursion: Option<Recursion>,
    /// How deep queries nest in it.
    pub depth: usize,
    /// It is computed whenever the block begins that reads it: it has RAND() or the like, and MySQL takes it
    /// for a part of that block.
    pub anew: bool,
}

impl Derived {
    /// The table of a query, and of the recursive parts that go with it.
    #[must_use]
    pub fn new(mut query: Query, recursion: Option<Recursion>) -> Derived {
        let is_merged = recursion.is_none() && query.is_merged_by_mysql();
        if !is_merged {
            let outputs = query.blocks.iter_mut().flat_map(|block| &mut block.output);
            outputs.for_each(|output| output.expr.keep_all_digits());
        }
        let parts = recursion.iter().flat_map(|r| &r.parts);
        let depth = std::iter::once(&query).chain(parts).map(Query::depth).max();
        Derived {
            depth: depth.unwrap_or(0),
            anew: is_merged && query.blocks.iter().any(Block::is_volatile),
            query,
            recursion,
        }
    }
}

/// The recursive parts of a common table expression.
#[derive(Debug)]
pub struct Recursion {
    /// Its number in the plan.
    pub number: usize,
    /// They run on the rows that came last, until there are none.
    pub parts: Vec<Query>,
    /// UNION without ALL: rows that were there before are left out.
    pub distinct: bool,
    /// The names of its columns, and their types, which are the seed's.
    pub columns: Vec<(String, ExprType)>,
}

/// How a stored table is read.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// The index: `None` for the tree of the rows (the primary key, if there is one), else the
    /// position among the secondary indexes.
    pub index: Option<usize>,
    /// What is known of the first parts of the key: a row that is wanted meets one of these
    /// lists, in all its bounds. Empty: everything is read.
    pub alternatives: Vec<Vec<Bound>>,
    /// Backwards.
    pub reverse: bool,
    /// The index holds all that is needed: the row is not read.
    pub covering: bool,
    /// All parts of a unique key are known: at most one row.
    pub point: bool,
    /// The rows that this search finds, the best first: its position among the source's ranks.
    pub search: Option<usize>,
    /// Of entries that repeat not all are read.
    pub loose: Option<Loose>,
    /// Rows are read by several keys, and each is taken once: a row that is wanted is found by one of
    /// these paths, each of which has bounds. There is no index here then, and no alternatives.
    pub merged: Vec<Access>,
}

impl Access {
    /// Whether it reads all rows.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.alternatives.is_empty() && self.search.is_none() && self.merged.is_empty()
    }

    /// Whether it reads ranges of a key, and not only what equals something.
    #[must_use]
    pub fn is_range(&self) -> bool {
        let mut bounds = self.alternatives.iter().flatten();
        let equals = |bound: &Bound| matches!(bound, Bound::Equal(_) | Bound::NullSafe(_));
        self.alternatives.len() > 1 || !self.merged.is_empty() || !bounds.all(equals)
    }

    /// All that is known of keys.
    pub fn bounds(&self) -> impl Iterator<Item = &Bound> {
        let paths = std::iter::once(self).chain(&self.merged);
        paths.flat_map(|path| path.alternatives.iter().flatten())
    }
}

/// Of entries of an index that have the same values in the first parts the first is read, and what else is
/// wanted of the part that follows.
#[derive(Debug, Clone, Copy)]
pub struct Loose {
    /// How many parts.
    pub parts: usize,
    /// The least value that is not NULL.
    pub least: bool,
    /// The greatest.
    pub greatest: bool,
}

/// What is known of a part of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// It equals a value.
    Equal(Expr),
    /// It equals a value, or both are NULL.
    NullSafe(Expr),
    /// It is NULL.
    IsNull,
    /// It is one of these.
    In(Vec<Expr>),
    /// It is in a row of the block's subquery of this number, which is run before, or, of EXISTS, among
    /// the keys of the rows that the subquery reads apart; the slot of the subquery's result.
    InRows {
        /// The number.
        subquery: usize,
        /// The slot.
        slot: usize,
    },
    /// It lies between values, inclusive or not.
    Range {
        /// The least value and whether it is included.
        low: Option<(Expr, bool)>,
        /// The greatest value and whether it is included.
        high: Option<(Expr, bool)>,
    },
    /// It begins as a LIKE pattern does, with its escape character.
    Like(Expr, Option<Expr>),
    /// It is a value of an array that this wants to be there.
    Array(Box<InArray>),
}

/// GROUP BY and aggregates.
#[derive(Debug)]
pub struct Grouping {
    /// The expressions of GROUP BY. Empty: all rows are one group, which is there even if there
    /// are no rows.
    pub keys: Vec<Computed>,
    /// The keys that give another value each time, by number, and the slots where the values are
    /// that the groups were made by.
    pub kept: Vec<(usize, usize)>,
    /// Whether there was a GROUP BY.
    pub explicit: bool,
    /// WITH ROLLUP.
    pub rollup: Option<Rollup>,
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
    /// GROUP_CONCAT with its separator.
    GroupConcat(Vec<u8>),
    /// JSON_ARRAYAGG: its argument is made an array of one element.
    JsonArray,
    /// JSON_OBJECTAGG: its arguments are made an object of one member.
    JsonObject,
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

impl AggregateFunction {
    /// Whether it is one of those on bits.
    #[must_use]
    pub fn is_on_bits(&self) -> bool {
        use AggregateFunction::{BitAnd, BitOr, BitXor};
        matches!(self, BitAnd | BitOr | BitXor)
    }
    /// Whether it is the least or the greatest value.
    #[must_use]
    pub fn is_extreme(&self) -> bool {
        matches!(self, AggregateFunction::Min | AggregateFunction::Max)
    }
    /// Whether it may be asked for the values that differ only.
    #[must_use]
    pub fn can_be_distinct(&self) -> bool {
        use AggregateFunction::{BitAnd, BitOr, BitXor, Variance};
        !self.makes_json() && !matches!(self, BitAnd | BitOr | BitXor | Variance { .. })
    }
    /// Whether its result is a JSON document.
    #[must_use]
    pub fn makes_json(&self) -> bool {
        matches!(
            self,
            AggregateFunction::JsonArray | AggregateFunction::JsonObject
        )
    }
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
    /// ON DUPLICATE KEY UPDATE: column and value, on a row of the existing row's columns followed
    /// by those of the new row, then by what the query has beyond `columns`.
    pub on_duplicate: Option<Vec<(usize, Assigned)>>,
    /// What the columns get that are not given, by position.
    pub defaults: Vec<Default_>,
    /// How many parameters a row has, if the literals of several rows may be given at once.
    pub per_row: u32,
    /// The row that its expressions are evaluated on, and their subqueries.
    pub block: Block,
    /// RETURNING: what is computed of each row, as it is in the table then.
    pub returning: Option<Vec<Computed>>,
}

/// Where the rows of an INSERT come from.
#[derive(Debug)]
pub enum InsertRows {
    /// VALUES, on a row of the new row's columns (those before are set).
    Values(Vec<Vec<Assigned>>),
    /// SELECT.
    Query(Box<Query>),
    /// LOAD DATA.
    File(Box<Load>),
}

/// Where the rows of a LOAD DATA come from, and what is made of them.
#[derive(Debug)]
pub struct Load {
    /// The file.
    pub file: String,
    /// It is the client's.
    pub local: bool,
    /// CHARACTER SET; `None`: that of the default database.
    pub charset: Option<Charset>,
    /// How rows stand in it.
    pub format: FileFormat,
    /// How many lines are skipped first.
    pub skip: u64,
    /// Where the fields go.
    pub fields: Vec<FieldSlot>,
    /// SET: columns and values, each seeing those before.
    pub assignments: Vec<(usize, Assigned)>,
}

/// Where a field goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldSlot {
    /// To the column at this position.
    Column(usize),
    /// To a user variable, whose name is in lower case.
    Variable(String),
}

impl FieldSlot {
    /// The position of the column.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        match self {
            FieldSlot::Column(position) => Some(*position),
            FieldSlot::Variable(_) => None,
        }
    }
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
    /// Whether the conditions may be evaluated again on another version of a row.
    pub conditions_repeat: bool,
    /// Whether the assignments may, too.
    pub repeats: bool,
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
    /// Whether the conditions may be evaluated again on another version of a row.
    pub conditions_repeat: bool,
    /// DELETE IGNORE.
    pub ignore: bool,
    /// RETURNING: what is computed of each row before it is deleted.
    pub returning: Option<Vec<Computed>>,
}

/// UPDATE or DELETE of tables in a join.
#[derive(Debug)]
pub struct Joined {
    /// The join that finds the rows.
    pub block: Block,
    /// The tables to change.
    pub targets: Vec<Target>,
    /// IGNORE.
    pub ignore: bool,
}

/// A table of a join whose rows are changed.
#[derive(Debug)]
pub struct Target {
    /// The table.
    pub table: Arc<Table>,
    /// The slot of its first column.
    pub first_slot: usize,
    /// Which of the block's sources it is.
    pub source: usize,
    /// Of an UPDATE: column and value, in order.
    pub assignments: Vec<(usize, Assigned)>,
    /// What the columns get for `= DEFAULT`.
    pub defaults: Vec<Default_>,
}

//! MATCH … AGAINST: which FULLTEXT index it asks, and where its answer goes.
//!
//! What a row's words are worth to a search is a value of the row, as its columns are: behind a
//! table's columns its row has room for some, its *ranks*, which nobody can name. MATCH is the
//! column that it gets among these; the same MATCH twice is one. The reader of the table fills it. If the
//! WHERE of a query wants no rows but those that a search finds, the rows can be read by it: the
//! best first.

use super::{
    KnownLiteral, Planner,
    named::{NamedColumn, NamedTable},
    scope::{Names, slot_expr},
    walk,
};
use crate::{
    error::SqlError,
    expr::{BinaryOp, Expr, ExprType, Scope, coercibility, infer, plain_arguments, plain_call},
    search::{MATCH_AGAINST, SearchMode},
};
use cohort_engine::types::{FullText, Value};
use sqlparser::ast;
use std::collections::BTreeSet;

/// So many different searches a query block can make in a table.
const RANKS: usize = 8;
/// What is no text is searched for as one of so many characters.
const AGAINST_MAX: u32 = 512;

/// A search in a table, as names see it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    /// The table's position.
    table: usize,
    rank: Rank,
}

impl Search {
    /// The slot of its answer.
    pub fn slot(&self) -> usize {
        self.rank.slot
    }
    /// Whether it is one in this table.
    pub fn is_in(&self, table: usize) -> bool {
        self.table == table
    }
}

/// A search whose answer is a value of each row of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// Where the value goes.
    pub slot: usize,
    /// The position of the FULLTEXT index.
    pub text: usize,
    /// What is searched for.
    pub against: Expr,
    /// How that is taken.
    pub mode: SearchMode,
    /// Rows that it does not find are not wanted.
    pub required: bool,
    /// How much a row's words are worth is wanted, and not only whether they are found.
    pub ranked: bool,
}

impl Names {
    /// Whether a slot has the answer to a search.
    pub fn is_rank(&self, slot: usize) -> bool {
        self.searches.iter().any(|search| search.slot() == slot)
    }
    /// The name of the index that a table's search asks which has this number.
    pub fn searched(&self, table: usize, number: usize) -> Option<&str> {
        let mut own = self.searches.iter().filter(|search| search.is_in(table));
        let rank = &own.nth(number)?.rank;
        let stored = self.tables.get(table)?.table.as_ref()?;
        Some(&stored.fulltext.get(rank.text)?.index.name)
    }
    /// Gives the table that was added last room for ranks, if it has FULLTEXT indexes.
    pub fn add_ranks(&mut self) {
        let Some(named) = self.tables.last_mut() else {
            return;
        };
        if named
            .table
            .as_ref()
            .is_some_and(|table| !table.fulltext.is_empty())
        {
            let rank = |_| NamedColumn {
                name: String::new(),
                ty: rank_type(),
                hidden: false,
            };
            named.columns.extend((0..RANKS).map(rank));
            self.slots += RANKS;
        }
    }
}

fn rank_type() -> ExprType {
    ExprType::double()
}

impl NamedTable {
    /// How many columns it has without ranks.
    pub fn stored_columns(&self) -> usize {
        match &self.table {
            Some(table) => table.columns.len(),
            None => self.columns.len(),
        }
    }
}

impl Planner<'_> {
    /// `MATCH (columns) AGAINST (text mode)`
    pub(super) fn match_against(&mut self, function: &ast::Function) -> Result<Expr, SqlError> {
        let args = match plain_call(function, self)? {
            ast::FunctionArguments::List(list) => plain_arguments(list, "MATCH", self)?,
            _ => &[],
        };
        let args = args.iter().filter_map(|arg| match arg {
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(arg)) => Some(arg),
            _ => None,
        });
        let args: Vec<&ast::Expr> = args.collect();
        let [mode, against, columns @ ..] = args.as_slice() else {
            return Err(SqlError::wrong_arguments("MATCH"));
        };
        let mode = mode_of(mode).ok_or_else(|| SqlError::wrong_arguments("MATCH"))?;
        let (mut table, mut positions) = (None, BTreeSet::new());
        for column in columns {
            let slot = walk::slot(&self.resolve(column)?);
            let names = self.names();
            let at = slot.and_then(|slot| Some((names.table_of_slot(slot)?, slot)));
            let (at, slot) = at.ok_or_else(|| SqlError::wrong_arguments("MATCH"))?;
            if *table.get_or_insert(at) != at {
                return Err(SqlError::wrong_arguments("MATCH"));
            }
            let first = names.tables.get(at).map_or(0, |table| table.first_slot);
            positions.extend(u16::try_from(slot - first));
        }
        let against = self.resolve(against)?;
        let ty = infer(&against);
        let against = match ty.is_string() {
            true => against,
            false => Expr::Cast {
                expr: Box::new(against),
                ty: ExprType::string(AGAINST_MAX, self.collation(), coercibility::NONE).or_null(),
            },
        };
        if !walk::is_constant(&against) {
            return Err(SqlError::wrong_arguments("AGAINST"));
        }
        self.search(table, &positions, against, mode)
    }

    /// The rank of a search in a table.
    fn search(
        &mut self,
        table: Option<usize>,
        columns: &BTreeSet<u16>,
        against: Expr,
        mode: SearchMode,
    ) -> Result<Expr, SqlError> {
        let names = self.names();
        let named = table.and_then(|at| Some((at, names.tables.get(at)?)));
        let (at, named) = named.ok_or_else(|| SqlError::wrong_arguments("MATCH"))?;
        let Some(stored) = &named.table else {
            return Err(SqlError::table_without_fulltext());
        };
        let is_it = |text: &FullText| text.index.visible && text.is_on(columns);
        let text = stored.fulltext.iter().position(is_it);
        let text = text.ok_or_else(SqlError::no_fulltext_index)?;
        let (first, room) = (named.first_slot + stored.columns.len(), named.columns.len());
        let room = room - stored.columns.len();
        let mut own = names.searches.iter().filter(|search| search.table == at);
        let is_same = |search: &&Search| {
            let rank = &search.rank;
            (rank.text, rank.mode) == (text, mode) && rank.against == against
        };
        if let Some(same) = own.clone().find(is_same) {
            return Ok(slot_expr(same.rank.slot, rank_type()));
        }
        let taken = own.by_ref().count();
        match room {
            // Of the row of an INSERT, say.
            0 => return Err(SqlError::wrong_arguments("MATCH")),
            room if taken >= room => {
                let what = format!("more than {room} searches in a table");
                return Err(SqlError::not_supported(what));
            }
            _ => {}
        }
        let slot = first + taken;
        names.searches.push(Search {
            table: at,
            rank: Rank {
                slot,
                text,
                against,
                mode,
                required: false,
                ranked: true,
            },
        });
        Ok(slot_expr(slot, rank_type()))
    }
}

impl Planner<'_> {
    /// Where a rank is compared with a parameter, which a literal of the text may have become, the plan
    /// is one for the value that it has now.
    pub(super) fn know_bounds(&mut self, conditions: &mut [Expr]) {
        let ranks: Vec<usize> = self.names().searches.iter().map(Search::slot).collect();
        if ranks.is_empty() {
            return;
        }
        let parameters = self.context.parameters;
        for condition in conditions {
            let Expr::Binary {
                op, left, right, ..
            } = condition
            else {
                continue;
            };
            if !op.is_comparison() {
                continue;
            }
            let is_rank =
                |expr: &Expr| compared_slot(expr).is_some_and(|slot| ranks.contains(&slot));
            let bound = match (is_rank(left), is_rank(right)) {
                (true, false) => right,
                (false, true) => left,
                _ => continue,
            };
            if let Expr::Parameter { index, ty, .. } = **bound
                && let Some(value) = parameters.get(index as usize)
            {
                self.literals.push(KnownLiteral {
                    index,
                    literal: value.clone(),
                    is_same: true,
                });
                **bound = Expr::Literal(value.clone(), ty);
            }
        }
    }
}

/// The slot of one side of a comparison, made a number of the same kind as the other or not.
fn compared_slot(side: &Expr) -> Option<usize> {
    match side {
        Expr::Cast { expr, .. } => walk::slot(expr),
        other => walk::slot(other),
    }
}

/// Whether a call is what the parser makes of MATCH.
pub(super) fn is_match(function: &ast::Function) -> bool {
    match function.name.0.as_slice() {
        [part] => part
            .as_ident()
            .is_some_and(|ident| ident.value == MATCH_AGAINST),
        _ => false,
    }
}

fn mode_of(mode: &ast::Expr) -> Option<SearchMode> {
    let ast::Expr::Value(value) = mode else {
        return None;
    };
    let ast::Value::SingleQuotedString(words) = &value.value else {
        return None;
    };
    SearchMode::of_words(words)
}

/// The searches in a table, of which rows must be found by those that these conditions are, or that
/// they say more of than 0. `others`: all slots that anything but such a condition reads.
pub(super) fn ranks_of(
    table: usize,
    names: &Names,
    conditions: &[Expr],
    others: &BTreeSet<usize>,
) -> Vec<Rank> {
    let own = names.searches.iter().filter(|search| search.table == table);
    let completed = own.map(|search| Rank {
        required: conditions
            .iter()
            .any(|c| required(c) == Some(search.rank.slot)),
        ranked: others.contains(&search.rank.slot),
        ..search.rank.clone()
    });
    completed.collect()
}

/// The slot that must not be 0 for a condition to hold: it is that, or that is greater than a number.
pub(super) fn required(condition: &Expr) -> Option<usize> {
    let is_low = |expr: &Expr, or_equal: bool| match expr {
        Expr::Cast { expr, .. }
            if matches!(**expr, Expr::Literal(Value::Int(0) | Value::UInt(0), _)) =>
        {
            !or_equal
        }
        Expr::Literal(value, _) => match value {
            Value::Int(n) => *n > 0 || *n == 0 && !or_equal,
            Value::UInt(n) => *n > 0 || !or_equal,
            Value::Double(n) => *n > 0.0 || *n == 0.0 && !or_equal,
            Value::Decimal(n) => {
                let text = n.to_string();
                !text.starts_with('-') && !or_equal
            }
            _ => false,
        },
        _ => false,
    };
    match condition {
        Expr::Column { .. } => walk::slot(condition),
        Expr::Binary {
            op, left, right, ..
        } => {
            let (slot, bound, or_equal) = match op {
                BinaryOp::Gt => (left, right, false),
                BinaryOp::GtEq => (left, right, true),
                BinaryOp::Lt => (right, left, false),
                BinaryOp::LtEq => (right, left, true),
                _ => return None,
            };
            compared_slot(slot).filter(|_| is_low(bound, or_equal))
        }
        _ => None,
    }
}

//! What is explained: the plan of a statement, whatever the form.

use super::numbers::Numbers;
use crate::{
    error::SqlError,
    plan::{Block, Body, Insert, Planner, Query, dml},
};
use sqlparser::ast;

/// The plan of a statement that can be explained.
pub(super) enum Explained {
    /// A query.
    Query(Box<Query>),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE and DELETE.
    Change {
        /// Which.
        change: Change,
        /// How the rows are found.
        block: Box<Block>,
        /// The names of the tables whose rows are changed.
        tables: Vec<String>,
        /// Which of the block's sources these are.
        changed: Vec<usize>,
    },
}

impl Explained {
    /// The numbers of its blocks.
    pub fn numbers(&self) -> Numbers {
        match self {
            Explained::Query(query) => Numbers::of_query(query),
            Explained::Change { block, .. } => Numbers::of_block(block),
            Explained::Insert(plan) => Numbers::of_insert(plan),
        }
    }
}

/// What a statement does with the rows that it finds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

impl Planner<'_> {
    /// The plan of a statement; 1235 if it cannot be explained.
    pub(super) fn explained(&mut self, statement: &ast::Statement) -> Result<Explained, SqlError> {
        let (change, body) = match statement {
            ast::Statement::Query(query) => {
                let (query, _) = self.top_query(query)?;
                return Ok(Explained::Query(Box::new(query)));
            }
            ast::Statement::Insert(insert) => {
                let (plan, _) = self.insert(insert, false)?;
                return Ok(Explained::Insert(Box::new(plan)));
            }
            ast::Statement::Update(update) => (Change::Update, self.any_update(update, false)?),
            ast::Statement::Delete(delete) if dml::deletes_from_several(delete) => {
                let joined = self.delete_joined(delete, false)?;
                (Change::Delete, Body::DeleteJoined(Box::new(joined)))
            }
            ast::Statement::Delete(delete) => {
                let (delete, _) = self.delete(delete, false)?;
                (Change::Delete, Body::Delete(Box::new(delete)))
            }
            _ => return Err(SqlError::not_supported("EXPLAIN of this statement")),
        };
        let (block, tables, changed) = match body {
            Body::Update(update) => (update.block, vec![update.table.name.clone()], vec![0]),
            Body::Delete(delete) => (delete.block, vec![delete.table.name.clone()], vec![0]),
            Body::UpdateJoined(joined) | Body::DeleteJoined(joined) => {
                let targets = joined.targets.iter();
                let tables = targets.map(|target| (target.table.name.clone(), target.source));
                let (tables, changed) = tables.unzip();
                (joined.block, tables, changed)
            }
            Body::Select(_)
            | Body::SelectInto(..)
            | Body::SelectIntoFile(_)
            | Body::Insert(_)
            | Body::Explain(_) => return Err(SqlError::internal("a change of another kind")),
        };
        Ok(Explained::Change {
            change,
            block: Box::new(block),
            tables,
            changed,
        })
    }
}

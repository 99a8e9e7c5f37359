//! The first table of a subquery that sees outer rows, read once and looked up by hash: see
//! `plan/apart.rs`.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::{BlockRun, Each},
    scan::Computed,
};
use crate::plan::{Apart, Source};
use cohort_engine::{invariant::broken, types::Value};
use std::sync::Arc;

/// What a look-up by the index costs, beside the next row of a scan: ...
const LOOKUP: f64 = 10.0;
/// ... and a row that it finds.
const FOUND: f64 = 5.0;

/// What is known of a table apart in an execution.
#[derive(Clone)]
pub(super) enum Known {
    /// What it has cost to look up by the index until now.
    Spent(f64),
    /// The table.
    Rows(Arc<Computed>),
}

impl<'b> BlockRun<'b> {
    /// Calls `each` for the rows of the first source that match the outer row, if the table apart is
    /// there or pays from now on; else `None`.
    pub(super) fn scan_apart(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        apart: &'b Apart,
        each: &mut Each<'_, 'b>,
    ) -> Result<Option<Flow>, Stop> {
        let address = std::ptr::from_ref(apart).addr();
        let pays = match context.tables.apart.get(&address) {
            Some(Known::Rows(_)) => true,
            Some(Known::Spent(spent)) => *spent > apart.cost,
            None => false,
        };
        if !pays {
            return Ok(None);
        }
        let rows = self.table_apart(context, source, apart)?;
        self.probe(context, source, &rows, &apart.keys, each)
            .map(Some)
    }

    /// The table, read if it is not there.
    fn table_apart(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        apart: &'b Apart,
    ) -> Result<Arc<Computed>, Stop> {
        let address = std::ptr::from_ref(apart).addr();
        if let Some(Known::Rows(rows)) = context.tables.apart.get(&address) {
            return Ok(Arc::clone(rows));
        }
        let rows = Arc::new(self.read_apart(context, source, apart)?);
        let known = Known::Rows(Arc::clone(&rows));
        context.tables.apart.insert(address, known);
        Ok(rows)
    }

    /// The different first keys of the rows.
    pub(super) fn keys_apart(&mut self, context: &mut ExecContext) -> Result<Vec<Value>, Stop> {
        let first = self.block.sources.first();
        let apart = first.and_then(|source| Some((source, source.apart.as_ref()?)));
        let (source, apart) = apart.ok_or_else(|| broken("what is read apart is planned so"))?;
        let rows = self.table_apart(context, source, apart)?;
        let (_, own) = apart
            .keys
            .first()
            .ok_or_else(|| broken("a hash table has keys"))?;
        self.values_of_firsts(context, source, &rows, own)
    }

    /// The same by the index, whose cost is noted.
    pub(super) fn noting_cost(
        &mut self,
        context: &mut ExecContext,
        apart: &'b Apart,
        scan: impl FnOnce(&mut Self, &mut ExecContext) -> Flowing,
    ) -> Flowing {
        let before = context.handler.examined;
        let flow = scan(self, context)?;
        let examined = context.handler.examined - before;
        let address = std::ptr::from_ref(apart).addr();
        let known = context.tables.apart.entry(address);
        if let Known::Spent(spent) = known.or_insert(Known::Spent(0.0)) {
            *spent += LOOKUP + examined as f64 * FOUND;
        }
        Ok(flow)
    }
}

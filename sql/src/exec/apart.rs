//! The first table of a subquery that sees outer rows, read once and looked up by hash: see
//! `plan/apart.rs`.

use super::{
    ExecContext, Flow, Flowing, Stop,
    block::{BlockRun, Each},
    scan::Computed,
};
use crate::plan::{Apart, Source};
use cohort_engine::{invariant::broken, types::Value};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What a look-up by the index costs, beside the next row of a scan: ...
const LOOKUP: f64 = 10.0;
/// ... and a row that it finds.
const FOUND: f64 = 5.0;

/// What is known of a table apart in an execution.
#[derive(Clone)]
enum Known {
    /// What it has cost to look up by the index until now.
    Spent(f64),
    /// A thread reads it. Others look up by the index meanwhile.
    IsRead,
    /// The table.
    Rows(Arc<Computed>),
}

impl Known {
    fn spent(&self) -> f64 {
        match self {
            Known::Spent(spent) => *spent,
            Known::IsRead | Known::Rows(_) => 0.0,
        }
    }
}

/// The tables that are read apart from outer rows in an execution. A clone is of its own.
#[derive(Default)]
pub(super) struct TablesApart {
    /// By the address of the plan.
    known: Arc<Mutex<FxHashMap<usize, Known>>>,
    /// They are the statement's. What this thread has to tell of one is forgotten with the thread.
    is_shared: bool,
}

impl Clone for TablesApart {
    fn clone(&self) -> TablesApart {
        TablesApart {
            known: Arc::new(Mutex::new(self.known.lock().clone())),
            is_shared: false,
        }
    }
}

impl TablesApart {
    /// The same tables, for another thread that reads for the statement.
    pub fn share(&self) -> TablesApart {
        TablesApart {
            known: Arc::clone(&self.known),
            is_shared: true,
        }
    }

    fn rows(&self, apart: &Apart) -> Option<Arc<Computed>> {
        match self.known.lock().get(&address(apart)) {
            Some(Known::Rows(rows)) => Some(Arc::clone(rows)),
            _ => None,
        }
    }

    /// Whether this thread is to read the table: it pays from now on, and no other does.
    fn is_to_be_read(&self, apart: &Apart) -> bool {
        match self.known.lock().get_mut(&address(apart)) {
            Some(known) if known.spent() > apart.cost => {
                *known = Known::IsRead;
                true
            }
            _ => false,
        }
    }

    fn set(&self, apart: &Apart, known: Known) {
        self.known.lock().insert(address(apart), known);
    }

    fn add_cost(&self, apart: &Apart, cost: f64) {
        let mut all = self.known.lock();
        let known = all.entry(address(apart)).or_insert(Known::Spent(0.0));
        if let Known::Spent(spent) = known {
            *spent += cost;
        }
    }
}

fn address(apart: &Apart) -> usize {
    std::ptr::from_ref(apart).addr()
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
        let rows = match context.tables.apart.rows(apart) {
            Some(rows) => rows,
            None if context.tables.apart.is_to_be_read(apart) => {
                self.make_apart(context, source, apart)?
            }
            None => return Ok(None),
        };
        self.probe(context, (0, source), &rows, &apart.keys, each)
            .map(Some)
    }

    /// Reads the table.
    fn make_apart(
        &mut self,
        context: &mut ExecContext,
        source: &'b Source,
        apart: &'b Apart,
    ) -> Result<Arc<Computed>, Stop> {
        let told = context.eval.warnings.count();
        let read = self.read_apart(context, source, apart).map(Arc::new);
        let is_silent = context.eval.warnings.count() == told;
        let known = match &read {
            Ok(rows) if is_silent || !context.tables.apart.is_shared => {
                Known::Rows(Arc::clone(rows))
            }
            Ok(_) | Err(_) => Known::Spent(0.0),
        };
        context.tables.apart.set(apart, known);
        read
    }

    /// The different first keys of the rows.
    pub(super) fn keys_apart(&mut self, context: &mut ExecContext) -> Result<Vec<Value>, Stop> {
        let first = self.block.sources.first();
        let apart = first.and_then(|source| Some((source, source.apart.as_ref()?)));
        let (source, apart) = apart.ok_or_else(|| broken("what is read apart is planned so"))?;
        let rows = match context.tables.apart.rows(apart) {
            Some(rows) => rows,
            None => self.make_apart(context, source, apart)?,
        };
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
        let cost = LOOKUP + examined as f64 * FOUND;
        context.tables.apart.add_cost(apart, cost);
        Ok(flow)
    }
}

//! RETURNING: a row of the result for each row that an INSERT, REPLACE or DELETE changes.

use super::{ExecContext, Stop, block::BlockRun};
use crate::{
    expr::eval,
    output::Output,
    plan::{Computed, Plan},
};
use cohort_engine::types::{Table, Value, row};

/// The result of a statement with RETURNING; of others, nothing.
pub(super) struct Returning<'r> {
    items: Option<&'r [Computed]>,
    out: Option<&'r mut dyn Output>,
    /// The rows so far.
    pub rows: u64,
}

impl<'r> Returning<'r> {
    /// Begins the result, if there is one.
    pub fn begin(
        plan: &Plan,
        items: Option<&'r [Computed]>,
        out: &'r mut dyn Output,
    ) -> Result<Returning<'r>, Stop> {
        if items.is_some() {
            out.columns(&plan.columns).map_err(Stop::Gone)?;
        }
        Ok(Returning {
            items,
            out: Some(out),
            rows: 0,
        })
    }

    /// No result, of a statement that has no such clause.
    pub fn nobody() -> Returning<'r> {
        Returning {
            items: None,
            out: None,
            rows: 0,
        }
    }

    /// What is told of a row, computed of its image in the first slots of the block's row.
    pub fn compute(
        &self,
        table: &Table,
        image: &[u8],
        run: &mut BlockRun,
        context: &mut ExecContext,
    ) -> Result<Option<Vec<Value>>, Stop> {
        let Some(items) = self.items else {
            return Ok(None);
        };
        for (slot, value) in run.row.iter_mut().zip(row::decode(table, image)?) {
            *slot = value;
        }
        let mut result = Vec::with_capacity(items.len());
        for item in items {
            run.prepare_for(item, context)?;
            result.push(eval(&item.expr, &run.row, &mut context.eval)?);
        }
        Ok(Some(result))
    }

    /// Sends what was computed.
    pub fn send(&mut self, row: Option<&[Value]>) -> Result<(), Stop> {
        let Some(row) = row else {
            return Ok(());
        };
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        out.row(row).map_err(Stop::Gone)?;
        self.rows += 1;
        Ok(())
    }

    /// Computes and sends what is told of a row.
    pub fn tell(
        &mut self,
        table: &Table,
        image: &[u8],
        run: &mut BlockRun,
        context: &mut ExecContext,
    ) -> Result<(), Stop> {
        let row = self.compute(table, image, run, context)?;
        self.send(row.as_deref())
    }
}

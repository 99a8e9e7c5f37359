//! DISTINCT: rows not seen before. Those whose turn has not come when memory is full are put off,
//! in files, and gone through afterwards.

use super::{
    ExecContext, Flow, Flowing, Stop,
    key_set::KeySet,
    memory::Memory,
    temporary::{Deferred, Partitions},
};
use cohort_engine::types::Value;

/// The rows seen so far.
#[derive(Default)]
pub(super) struct Distinct {
    seen: KeySet,
    memory: Memory,
    key: Vec<u8>,
    later: Partitions,
}

impl Distinct {
    /// Of rows that were put off, and those alone.
    pub fn of_put_off(later: Partitions) -> Distinct {
        Distinct {
            later,
            ..Distinct::default()
        }
    }

    /// Whether a row with this key was seen, and not put off.
    pub fn has(&self, key: &[u8]) -> bool {
        self.seen.contains(key)
    }

    /// Whether a row, whose key `key` appends, is the first of its kind. One that was put off is
    /// not, yet.
    pub fn is_new(
        &mut self,
        row: &[Value],
        key: impl FnOnce(&[Value], &mut Vec<u8>),
        context: &mut ExecContext,
    ) -> Result<bool, Stop> {
        self.key.clear();
        key(row, &mut self.key);
        if self.seen.contains(&self.key) {
            return Ok(false);
        }
        if self.memory.is_beyond(context.memory_bytes) {
            self.later.push(&self.key, row, context)?;
            return Ok(false);
        }
        self.memory.add(KeySet::bytes_of(&self.key));
        Ok(self.seen.insert(&self.key))
    }

    /// Hands those of the rows that were put off to `each` that are new.
    pub fn finish(
        self,
        key: impl Fn(&[Value], &mut Vec<u8>),
        context: &mut ExecContext,
        each: &mut dyn FnMut(&mut ExecContext, Vec<Value>) -> Flowing,
    ) -> Flowing {
        let mut todo: Vec<Deferred> = self.later.finish()?;
        while let Some(deferred) = todo.pop() {
            let mut part = Distinct {
                later: Partitions::new(deferred.depth),
                ..Distinct::default()
            };
            let mut rows = deferred.rows();
            while let Some(row) = rows.next()? {
                context.tick()?;
                if part.is_new(&row, &key, context)? && each(context, row)? == Flow::Stop {
                    return Ok(Flow::Stop);
                }
            }
            todo.extend(part.later.finish()?);
        }
        Ok(Flow::Continue)
    }
}

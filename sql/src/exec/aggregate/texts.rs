//! GROUP_CONCAT: the texts of a group, of which no more are kept than the result can have.

use crate::{
    error::SqlError,
    exec::{
        ExecContext, Stop,
        memory::{self, Memory},
        sort::{By, compare_rows},
    },
    expr::{infer, text},
    plan::Aggregate,
};
use cohort_engine::types::Value;

/// What is kept of texts that are to be sorted, until some are forgotten, is at least so many bytes.
const KEPT_MIN: usize = 16 << 10;

/// Texts, each with what it is sorted by.
#[derive(Clone)]
pub(super) struct Texts {
    /// What comes between two of them.
    separator: Vec<u8>,
    texts: Vec<(Vec<Value>, Vec<u8>)>,
    /// About how many bytes they take.
    bytes: usize,
    /// So many they may become until some are forgotten.
    bytes_max: usize,
    /// Those that came last are not wanted, whatever they are: the result is complete.
    is_complete: bool,
}

/// The texts of some values, one behind the other.
pub(super) fn joined<'v>(
    aggregate: &Aggregate,
    values: impl Iterator<Item = &'v Value>,
) -> Vec<u8> {
    let mut joined = Vec::new();
    for (value, arg) in values.zip(&aggregate.args) {
        text(value, infer(&arg.expr).text_form(), &mut joined);
    }
    joined
}

impl Texts {
    pub fn new(separator: &[u8]) -> Texts {
        Texts {
            separator: separator.to_vec(),
            texts: Vec::new(),
            bytes: 0,
            bytes_max: KEPT_MIN,
            is_complete: false,
        }
    }

    /// Adds a text, with the keys that it is sorted by.
    pub fn push(
        &mut self,
        aggregate: &Aggregate,
        (keys, text): (Vec<Value>, Vec<u8>),
        context: &ExecContext,
        memory: &mut Memory,
    ) -> Result<(), Stop> {
        if self.is_complete {
            return Ok(());
        }
        let bytes = size(&keys, &text);
        memory.take(bytes)?;
        self.bytes += bytes;
        self.texts.push((keys, text));
        if self.bytes > self.bytes_max {
            self.forget(aggregate, context, memory);
            self.bytes_max = KEPT_MIN.max(2 * self.bytes);
        }
        Ok(())
    }

    /// Forgets the texts that come behind the end of the result.
    fn forget(&mut self, aggregate: &Aggregate, context: &ExecContext, memory: &mut Memory) {
        self.sort(aggregate);
        let bytes_max = bytes_max(context);
        let between = self.separator.len();
        // Of those up to a text, with what is between them.
        let mut length = 0;
        let is_beyond = |(i, (_, text)): (usize, &(Vec<Value>, Vec<u8>))| {
            length += text.len() + if i > 0 { between } else { 0 };
            length > bytes_max
        };
        if let Some(last) = self.texts.iter().enumerate().position(is_beyond) {
            self.is_complete = aggregate.order.is_empty();
            for (keys, text) in self.texts.drain(last + 1..) {
                let bytes = size(&keys, &text);
                memory.give(bytes);
                self.bytes -= bytes;
            }
        }
    }

    fn sort(&mut self, aggregate: &Aggregate) {
        let keys = aggregate.order.iter().enumerate();
        let by: Vec<By> = keys
            .map(|(at, key)| By {
                at,
                collation: infer(&key.value.expr).collation,
                desc: key.desc,
            })
            .collect();
        // Those that came first are the first of equal ones, and stay so.
        self.texts.sort_by(|(a, _), (b, _)| compare_rows(a, b, &by));
    }

    /// All in one, cut where it becomes too long.
    pub fn finish(mut self, aggregate: &Aggregate, context: &mut ExecContext) -> Value {
        if self.texts.is_empty() {
            return Value::Null;
        }
        self.sort(aggregate);
        let bytes_max = bytes_max(context);
        let mut result = Vec::new();
        for (i, (_, text)) in self.texts.iter().enumerate() {
            if i > 0 {
                result.extend_from_slice(&self.separator);
            }
            result.extend_from_slice(text);
            if result.len() > bytes_max {
                let mut end = bytes_max;
                while end > 0 && result.get(end).is_some_and(|b| b & 0xC0 == 0x80) {
                    end -= 1;
                }
                result.truncate(end);
                let cut = SqlError::cut_by_group_concat(i + 1);
                context.eval.warnings.warn(cut);
                break;
            }
        }
        Value::Bytes(result)
    }
}

/// How long the result may be.
fn bytes_max(context: &ExecContext) -> usize {
    let bytes_max = context.eval.statement.group_concat_bytes_max;
    usize::try_from(bytes_max).unwrap_or(usize::MAX)
}

fn size(keys: &[Value], text: &[u8]) -> usize {
    text.len() + size_of::<Vec<u8>>() + memory::size(keys)
}

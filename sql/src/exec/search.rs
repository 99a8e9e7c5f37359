//! MATCH … AGAINST while a statement runs.
//!
//! A search is made once in an execution, when its table is read first. Its answer gives each row its
//! ranks, by the row's key. A row that is locked may have changed since: what it is worth is found
//! anew then, in the image that is locked.

use super::{ExecContext, Stop, block::BlockRun, memory::Memory, reader::read_mode};
use crate::{
    error::SqlError,
    expr::eval,
    plan::{Input, Rank, Source},
    search::{Answer, Query, Searched},
};
use cohort_engine::{
    invariant::broken,
    txn::{Found, Read, Term},
    types::{FullText, Table, Value, fulltext::WordsBuilder, row},
};
use std::rc::Rc;

/// The searches that were made, by the places of their ranks in the plan.
#[derive(Clone, Default)]
pub struct Searches(Vec<(*const Rank, Rc<Answer>)>);

/// The index of a table, as a statement reads it.
struct Reading<'r, 'c> {
    context: &'r mut ExecContext<'c>,
    table: &'r Table,
    text: &'r FullText,
    read: Read,
    memory: Memory,
}

impl Searched for Reading<'_, '_> {
    type Error = Stop;
    fn find(&mut self, terms: &[Term], counts: bool) -> Result<Found, Stop> {
        let txn = &mut *self.context.txn;
        let found = txn.find_words(self.table, self.text, terms, counts, self.read)?;
        Ok(found)
    }
    fn texts(&mut self, key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Stop> {
        let (txn, rows) = (&mut *self.context.txn, self.table.rows);
        let mut image = Vec::new();
        let is_there = match self.read {
            Read::Plain => txn.get(rows, key, Read::Plain, &mut image)?,
            Read::Newest | Read::Locking(..) => txn.get_visible(rows, key, &mut image)?,
        };
        match is_there {
            true => texts_of(self.table, self.text, &image).map(Some),
            false => Ok(None),
        }
    }
    fn rows(&self) -> u64 {
        self.context.engine.row_estimate(self.table)
    }
    fn step(&mut self) -> Result<(), Stop> {
        self.context.tick()
    }
    fn keep(&mut self, bytes: u64) -> Result<(), Stop> {
        self.memory
            .take(usize::try_from(bytes).unwrap_or(usize::MAX))
    }
}

fn texts_of(table: &Table, text: &FullText, image: &[u8]) -> Result<Vec<Vec<u8>>, Stop> {
    let texts = row::texts(table, text, image);
    Ok(texts.map_err(|_| SqlError::internal("a damaged row"))?)
}

/// One row, whose texts are known, with what the search has found of all.
struct OneRow<'r> {
    table: &'r Table,
    text: &'r FullText,
    key: &'r [u8],
    image: &'r [u8],
    answer: &'r Answer,
}

impl Searched for OneRow<'_> {
    type Error = Stop;
    fn find(&mut self, terms: &[Term], counts: bool) -> Result<Found, Stop> {
        let mut words = WordsBuilder::default();
        let taken = row::words(self.table, self.text, self.image, &mut words);
        taken.map_err(|_| SqlError::internal("a damaged row"))?;
        let mut found = Found::of_row(terms, self.key, &words.pack(), counts)?;
        for (postings, count) in found.postings.iter_mut().zip(self.answer.counts()) {
            postings.count = *count;
        }
        Ok(found)
    }
    fn texts(&mut self, _: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Stop> {
        texts_of(self.table, self.text, self.image).map(Some)
    }
    fn rows(&self) -> u64 {
        self.answer.total()
    }
    fn step(&mut self) -> Result<(), Stop> {
        Ok(())
    }
    fn keep(&mut self, _: u64) -> Result<(), Stop> {
        Ok(())
    }
}

/// The index that a rank is of.
fn text_of<'t>(table: &'t Table, rank: &Rank) -> Result<&'t FullText, Stop> {
    let text = table.fulltext.get(rank.text);
    Ok(text.ok_or_else(|| broken("a search is in an index of its table"))?)
}

/// The answers to the searches of a source, made now if they were not yet.
pub(super) fn answers(
    source: &Source,
    table: &Table,
    context: &mut ExecContext,
) -> Result<Vec<Rc<Answer>>, Stop> {
    let ranks = source.ranks.iter();
    ranks
        .map(|rank| answer(rank, source, table, context))
        .collect()
}

fn answer(
    rank: &Rank,
    source: &Source,
    table: &Table,
    context: &mut ExecContext,
) -> Result<Rc<Answer>, Stop> {
    let place = std::ptr::from_ref(rank);
    let mut known = context.searches.0.iter();
    if let Some((_, answer)) = known.find(|(known, _)| *known == place) {
        return Ok(Rc::clone(answer));
    }
    let against = eval(&rank.against, &[], &mut context.eval)?;
    let answer = match against {
        Value::Bytes(words) => {
            let text = text_of(table, rank)?;
            let tokenizer = text.tokenizer(table);
            let query = Query::new(rank.mode, &words, tokenizer)?;
            let read = read_mode(source, context);
            let mut reading = Reading {
                context: &mut *context,
                table,
                text,
                read,
                memory: Memory::default(),
            };
            // A locked row is ranked again: that takes all that can be known.
            let ranked = rank.ranked || read != Read::Plain;
            Answer::new(query, rank.mode, tokenizer, &mut reading, ranked)?
        }
        Value::Null => Answer::default(),
        _ => return Err(broken("what is searched for is a text").into()),
    };
    let answer = Rc::new(answer);
    context.searches.0.push((place, Rc::clone(&answer)));
    Ok(answer)
}

/// Whether the row with this key can be one that all searches find which must.
pub(super) fn may_be(source: &Source, answers: &[Rc<Answer>], key: &[u8]) -> bool {
    let mut all = source.ranks.iter().zip(answers);
    all.all(|(rank, answer)| !rank.required || answer.rank(key) != 0.0)
}

impl BlockRun<'_> {
    /// How many rows a search of the only table finds; `None`: they must be locked.
    pub(super) fn count_found(
        &mut self,
        number: usize,
        context: &mut ExecContext,
    ) -> Result<Option<u64>, Stop> {
        let Some(source) = self.block.sources.first() else {
            return Ok(None);
        };
        let Input::Table(table, _) = &source.input else {
            return Ok(None);
        };
        if read_mode(source, context) != Read::Plain {
            return Ok(None);
        }
        let answers = answers(source, table, context)?;
        context.handler.read_key += 1;
        Ok(answers.get(number).map(|answer| answer.len()))
    }
    /// Fills the ranks of the row with this key; `image`: what it is now that it is locked.
    pub(super) fn put_ranks(
        &mut self,
        (source, table): (&Source, &Table),
        answers: &[Rc<Answer>],
        key: &[u8],
        image: Option<&[u8]>,
    ) -> Result<(), Stop> {
        for (rank, answer) in source.ranks.iter().zip(answers) {
            let mut worth = answer.rank(key);
            if let (Some(image), Some(query)) = (image, answer.query())
                && worth != 0.0
            {
                let text = text_of(table, rank)?;
                let mut row = OneRow {
                    table,
                    text,
                    key,
                    image,
                    answer,
                };
                worth = Answer::of_row(query, text.tokenizer(table), &mut row, key)?;
            }
            if let Some(slot) = self.row.get_mut(rank.slot) {
                *slot = Value::Double(worth);
            }
        }
        Ok(())
    }
}

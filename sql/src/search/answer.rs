//! The rows that a search finds, and their ranks.

use super::{
    SearchMode,
    query::{Node, Operator, Phrase, Query},
};
use cohort_engine::{
    txn::{Found, Numbering, Postings, Term},
    types::fulltext::{Tokenizer, tokens},
};
use roaring::RoaringTreemap;
use rustc_hash::{FxHashMap, FxHashSet};
use std::{collections::BTreeSet, rc::Rc};

/// The index that is searched, and the rows of its table.
pub trait Searched {
    /// Why nothing can be found.
    type Error;
    /// The rows that have these words. `counts`: how often, too.
    fn find(&mut self, terms: &[Term], counts: bool) -> Result<Found, Self::Error>;
    /// The texts of the row with this key, if it is there.
    fn texts(&mut self, key: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Self::Error>;
    /// About how many rows the table has.
    fn rows(&self) -> u64;
    /// Asked now and then: an error ends the search.
    fn step(&mut self) -> Result<(), Self::Error>;
    /// The search keeps so many bytes more.
    fn keep(&mut self, bytes: u64) -> Result<(), Self::Error>;
}

/// So many rows are put in order first.
const FIRST: usize = 1000;

/// A row with its rank, its place in the order of keys, and its number.
type Placed = (f32, (Option<u32>, u16), u64);

/// The rows of an answer, the best first.
pub struct BestFirst {
    /// The best last.
    rows: Vec<Placed>,
    /// So many of the last ones are in order.
    sorted: usize,
}

fn worse_first(a: &Placed, b: &Placed) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then_with(|| b.1.cmp(&a.1))
}

impl Iterator for BestFirst {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        if self.sorted == 0 {
            self.rows.sort_unstable_by(worse_first);
            self.sorted = usize::MAX;
        }
        self.sorted -= 1;
        self.rows.pop().map(|(_, _, row)| row)
    }
}

/// What a search finds.
#[derive(Debug, Default)]
pub struct Answer {
    numbering: Numbering,
    rows: RoaringTreemap,
    /// The rank of each row, in their order; none if nobody wants to know.
    ranks: Vec<(u64, f32)>,
    /// The search, with its expansion.
    query: Option<Query>,
    /// How many rows have each of its terms, and how many there are: to rank other rows.
    counts: Vec<u64>,
    total: u64,
}

impl Answer {
    /// Searches. `ranked`: ranks are wanted, and not only which rows are found.
    ///
    /// # Errors
    /// Those of `searched`.
    pub fn new<S: Searched>(
        mut query: Query,
        mode: SearchMode,
        tokenizer: &Tokenizer,
        searched: &mut S,
        ranked: bool,
    ) -> Result<Answer, S::Error> {
        let expands = mode == SearchMode::Expanded;
        let mut answer = once(&query, tokenizer, searched, ranked && !expands)?;
        if expands && !answer.rows.is_empty() {
            let words = answer.words(tokenizer, searched)?;
            query.expand(words.into_iter());
            answer = once(&query, tokenizer, searched, ranked)?;
        }
        answer.query = Some(query);
        Ok(answer)
    }
    /// The rank of one row, which is all that `searched` finds.
    ///
    /// # Errors
    /// Those of `searched`.
    pub fn of_row<S: Searched>(
        query: &Query,
        tokenizer: &Tokenizer,
        searched: &mut S,
        row_key: &[u8],
    ) -> Result<f64, S::Error> {
        Ok(once(query, tokenizer, searched, true)?.rank(row_key))
    }
    /// The search, if there was a text to search for.
    #[must_use]
    pub fn query(&self) -> Option<&Query> {
        self.query.as_ref()
    }
    /// How many rows have each of its terms.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }
    /// How many rows the table has, about.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
    /// How many rows are found.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows.len()
    }
    /// The rank of the row with this key; 0: it is not found. Where ranks are not wanted, each row
    /// that is has 1.
    #[must_use]
    pub fn rank(&self, row_key: &[u8]) -> f64 {
        let Some(number) = self.numbering.of(row_key) else {
            return 0.0;
        };
        if self.ranks.is_empty() {
            return f64::from(u8::from(self.rows.contains(number)));
        }
        let at = self.ranks.binary_search_by_key(&number, |(row, _)| *row);
        let rank = at.ok().and_then(|at| self.ranks.get(at));
        rank.map_or(0.0, |(_, rank)| f64::from(*rank))
    }
    /// The numbers of the rows, the best first; of those that are worth the same, in the order of
    /// their keys.
    #[must_use]
    pub fn best_first(&self) -> BestFirst {
        let places = self.numbering.order();
        let place = |number: u64| {
            let block = usize::try_from(number >> 16).ok();
            let block = block.and_then(|block| places.get(block));
            (block.copied(), number as u16)
        };
        let ranked = self.ranks.iter().map(|(row, rank)| (*row, *rank));
        let mut rows: Vec<Placed> = match self.ranks.is_empty() {
            true => self.rows.iter().map(|row| (0.0, place(row), row)).collect(),
            false => ranked.map(|(row, rank)| (rank, place(row), row)).collect(),
        };
        let first = rows.len().saturating_sub(FIRST);
        if first > 0 {
            // Mostly no more are wanted.
            rows.select_nth_unstable_by(first, worse_first);
        }
        rows[first..].sort_unstable_by(worse_first);
        BestFirst {
            rows,
            sorted: FIRST,
        }
    }
    /// The key of a row.
    #[must_use]
    pub fn key(&self, number: u64) -> Option<Vec<u8>> {
        self.numbering.key(number)
    }
    /// The words of all rows.
    fn words<S: Searched>(
        &self,
        tokenizer: &Tokenizer,
        searched: &mut S,
    ) -> Result<BTreeSet<Vec<u8>>, S::Error> {
        let mut words = BTreeSet::new();
        for number in &self.rows {
            searched.step()?;
            let texts = match self.key(number) {
                Some(key) => searched.texts(&key)?,
                None => None,
            };
            for text in texts.iter().flatten() {
                for token in tokens(tokenizer.parser(), text) {
                    let mut key = Vec::new();
                    tokenizer.key(token.text, &mut key);
                    if tokenizer.is_indexed(&token) {
                        words.insert(key);
                    }
                }
            }
        }
        Ok(words)
    }
}

/// A search without its expansion.
fn once<S: Searched>(
    query: &Query,
    tokenizer: &Tokenizer,
    searched: &mut S,
    ranked: bool,
) -> Result<Answer, S::Error> {
    let found = searched.find(&query.terms, ranked || query.takes_away())?;
    let mut evaluation = Evaluation {
        found: &found,
        tokenizer,
        searched,
        counted: Vec::new(),
        adjusted: Vec::new(),
    };
    let mut rows = evaluation.list(&query.root)?;
    let (counted, adjusted) = (evaluation.counted, evaluation.adjusted);
    // What is worth nothing at the end is not found.
    let ranked = ranked || adjusted.iter().any(|(_, by)| *by < 0.0);
    let mut ranks = match ranked {
        true => ranks(&rows, &found.postings, &counted, &adjusted, searched.rows()),
        false => Vec::new(),
    };
    for (row, _) in ranks.iter().filter(|(_, rank)| *rank == 0.0) {
        rows.remove(*row);
    }
    ranks.retain(|(_, rank)| *rank != 0.0);
    Ok(Answer {
        counts: found.postings.iter().map(|found| found.count).collect(),
        total: searched.rows(),
        numbering: found.numbering,
        rows,
        ranks,
        query: None,
    })
}

/// A term that counts for the rows that have it.
struct Counted {
    term: usize,
    /// Only for these.
    within: Option<Rc<RoaringTreemap>>,
}

struct Evaluation<'a, S> {
    found: &'a Found,
    tokenizer: &'a Tokenizer,
    searched: &'a mut S,
    counted: Vec<Counted>,
    /// Rows that are worth more or less by so much.
    adjusted: Vec<(RoaringTreemap, f32)>,
}

impl<S: Searched> Evaluation<'_, S> {
    fn postings(&self, term: usize) -> Option<&Postings> {
        self.found.postings.get(term)
    }
    /// The rows of a list: those that are in all that must be there or, if nothing must, in any; and
    /// in none that must not.
    fn list(&mut self, items: &[(Operator, Node)]) -> Result<RoaringTreemap, S::Error> {
        let mut any = RoaringTreemap::new();
        let mut all: Option<RoaringTreemap> = None;
        let mut none = RoaringTreemap::new();
        let before = self.counted.len();
        for (operator, node) in items {
            self.searched.step()?;
            match operator {
                // As in InnoDB it takes something from the rows that the words before it have found,
                // and finds none itself.
                Operator::Worthless => {
                    let (counted, adjusted) = (self.counted.len(), self.adjusted.len());
                    let rows = self.node(node)? & &any;
                    self.adjusted.truncate(adjusted);
                    self.count_within(counted, &rows)?;
                    self.adjusted.push((rows, -1.0));
                }
                Operator::MustNot => {
                    let (counted, adjusted) = (self.counted.len(), self.adjusted.len());
                    none |= self.node(node)?;
                    self.counted.truncate(counted);
                    self.adjusted.truncate(adjusted);
                }
                Operator::Must => {
                    let rows = self.node(node)?;
                    all = Some(match all {
                        None => rows,
                        Some(all) => all & rows,
                    });
                }
                Operator::Plain | Operator::Up | Operator::Down => {
                    let rows = self.node(node)?;
                    match operator {
                        Operator::Up => self.adjusted.push((rows.clone(), 1.0)),
                        Operator::Down => self.adjusted.push((rows.clone(), -1.0)),
                        _ => {}
                    }
                    // Where something must be there, it only says how much a row is worth.
                    if all.is_none() {
                        any |= rows;
                    }
                }
            }
        }
        let restricts = all.is_some() || !none.is_empty();
        let rows = all.unwrap_or(any) - none;
        if restricts {
            self.count_within(before, &rows)?;
        }
        Ok(rows)
    }
    /// What was counted since counts for these rows only.
    fn count_within(&mut self, since: usize, rows: &RoaringTreemap) -> Result<(), S::Error> {
        let shared = Rc::new(rows.clone());
        self.searched.keep(shared.serialized_size() as u64)?;
        for counted in self.counted.iter_mut().skip(since) {
            counted.within = Some(match counted.within.take() {
                None => Rc::clone(&shared),
                Some(within) => {
                    self.searched.step()?;
                    let both = &*within & rows;
                    self.searched.keep(both.serialized_size() as u64)?;
                    Rc::new(both)
                }
            });
        }
        Ok(())
    }
    fn node(&mut self, node: &Node) -> Result<RoaringTreemap, S::Error> {
        match node {
            Node::Word(term) => {
                self.counted.push(Counted {
                    term: *term,
                    within: None,
                });
                Ok(self
                    .postings(*term)
                    .map_or_else(RoaringTreemap::new, |found| found.rows.clone()))
            }
            Node::List(items) => self.list(items),
            Node::Phrase(phrase) => {
                let rows = self.phrase(phrase)?;
                let terms: BTreeSet<usize> = phrase.terms.iter().copied().collect();
                let within = Rc::new(rows.clone());
                self.counted.extend(terms.into_iter().map(|term| Counted {
                    term,
                    within: Some(Rc::clone(&within)),
                }));
                Ok(rows)
            }
        }
    }
    /// The rows whose texts have the words of a phrase together.
    fn phrase(&mut self, phrase: &Phrase) -> Result<RoaringTreemap, S::Error> {
        let mut candidates: Option<RoaringTreemap> = None;
        for term in &phrase.terms {
            let Some(found) = self.found.postings.get(*term) else {
                continue;
            };
            candidates = Some(match candidates {
                None => found.rows.clone(),
                Some(rows) => rows & &found.rows,
            });
        }
        let mut rows = RoaringTreemap::new();
        for number in candidates.iter().flatten() {
            self.searched.step()?;
            let texts = match self.found.numbering.key(number) {
                Some(key) => self.searched.texts(&key)?,
                None => None,
            };
            if texts.is_some_and(|texts| self.stands_in(phrase, &texts)) {
                rows.insert(number);
            }
        }
        Ok(rows)
    }
    fn stands_in(&self, phrase: &Phrase, texts: &[Vec<u8>]) -> bool {
        let keys = |text: &Vec<u8>| -> Vec<Vec<u8>> {
            let words = tokens(self.tokenizer.parser(), text).map(|token| {
                let mut key = Vec::new();
                self.tokenizer.key(token.text, &mut key);
                key
            });
            words.collect()
        };
        match phrase.distance {
            // Within one column.
            None => texts.iter().any(|text| {
                let places = keys(text);
                let mut parts = places.windows(phrase.words.len());
                parts.any(|words| words == phrase.words)
            }),
            Some(distance) => {
                let all: Vec<Vec<u8>> = texts.iter().flat_map(keys).collect();
                are_near(&all, &phrase.words, distance)
            }
        }
    }
}

/// Whether all words stand within so many words of a text.
fn are_near(text: &[Vec<u8>], words: &[Vec<u8>], distance: u32) -> bool {
    let distance = usize::try_from(distance).unwrap_or(usize::MAX).max(1);
    // How often each of the words is among the last so many.
    let mut there: FxHashMap<&[u8], usize> = words.iter().map(|word| (&**word, 0)).collect();
    let mut missing = there.len();
    for (at, word) in text.iter().enumerate() {
        if let Some(count) = there.get_mut(&**word) {
            missing -= usize::from(*count == 0);
            *count += 1;
        }
        let gone = at.checked_sub(distance).and_then(|gone| text.get(gone));
        if let Some(count) = gone.and_then(|gone| there.get_mut(&**gone)) {
            *count -= 1;
            missing += usize::from(*count == 0);
        }
        if missing == 0 {
            return true;
        }
    }
    false
}

/// What rows are worth, in the order of their numbers.
fn ranks(
    rows: &RoaringTreemap,
    postings: &[Postings],
    counted: &[Counted],
    adjusted: &[(RoaringTreemap, f32)],
    total: u64,
) -> Vec<(u64, f32)> {
    let mut ranks: Vec<(u64, f32)> = rows.iter().map(|number| (number, 0.0)).collect();
    for (changed, by) in adjusted {
        each_of(&mut ranks, changed, |_, rank| {
            *rank = (*rank + by).clamp(-1.0, 1.0)
        });
    }
    let mut known: FxHashSet<usize> = FxHashSet::default();
    for Counted { term, within } in counted {
        let Some(found) = postings.get(*term) else {
            continue;
        };
        // The same word again is not worth more.
        if within.is_none() && !known.insert(*term) {
            continue;
        }
        // In an old snapshot more rows can have it than there are by now.
        let idf = match found.count >= total {
            true => 1.0001_f64.log10(),
            false => (total as f64 / found.count.max(1) as f64).log10(),
        };
        let worth = |number: u64, rank: &mut f32| {
            let often = found.often.get(&number).copied().unwrap_or(1);
            *rank += (f64::from(often) * idf * idf) as f32;
        };
        match within {
            None => each_of(&mut ranks, &found.rows, worth),
            Some(within) => each_of(&mut ranks, &(&**within & &found.rows), worth),
        }
    }
    ranks
}

/// Calls `each` for the rows that are among others, both in order.
fn each_of(ranks: &mut [(u64, f32)], rows: &RoaringTreemap, mut each: impl FnMut(u64, &mut f32)) {
    let mut others = rows.iter();
    let mut next = others.next();
    for (number, rank) in ranks {
        while next.is_some_and(|other| other < *number) {
            others.advance_to(*number);
            next = others.next();
        }
        if next == Some(*number) {
            each(*number, rank);
        }
    }
}

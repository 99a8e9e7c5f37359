//! Who runs next, and why: a pure core, on a clock that is handed in.
//!
//! One global pair of queues, high and low, each first come, first served; and before both those
//! who come back from a wait, for they hold locks and half-done work that others wait for.
//!
//! 1. Nobody is granted a slot while `size` of them are taken, but those who come back may go up
//!    to `oversubscribe` beyond that.
//! 2. Low work runs when no high work waits, or when its first has waited for the kick-up time.
//!    Then the queues take turns: low work cannot starve, nor can a backlog of old low work put
//!    open transactions off for longer than it would take without priorities.
//! 3. Every decision depends on the calls before it and on nothing else, so that scripts can
//!    tell what it must be.

use std::collections::VecDeque;

/// Microseconds since any fixed moment.
pub type Micros = u64;

/// In which queue one waits for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Back from a wait in the middle of a statement.
    Returning,
    /// Work of open transactions and of holders of locks.
    High,
    /// Everything else.
    Low,
}

/// Why somebody was granted a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It came back from a wait.
    Returned,
    /// It was the first of the high queue.
    High,
    /// It was the first of the low queue, and has waited for the kick-up time.
    KickedUp,
    /// It was the first of the low queue, and nobody waited in the high one.
    Low,
}

/// The limits that decisions keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How many may run at once; 0 for no limit.
    pub size: usize,
    /// How many more may, if they come back from a wait.
    pub oversubscribe: usize,
    /// How long low work waits before it takes turns with high work.
    pub kickup: Micros,
}

/// A decision.
#[derive(Debug, PartialEq, Eq)]
pub struct Grant<T> {
    /// Who runs.
    pub who: T,
    /// Why.
    pub why: Why,
    /// How long it has waited.
    pub waited: Micros,
}

#[derive(Debug)]
struct Entry<T> {
    since: Micros,
    who: T,
}

/// Those who wait for a slot.
#[derive(Debug)]
pub struct Queues<T> {
    /// The limits; they may change at any time.
    pub rules: Rules,
    returning: VecDeque<Entry<T>>,
    high: VecDeque<Entry<T>>,
    low: VecDeque<Entry<T>>,
    /// The last choice between kicked-up and high work fell on the former.
    kicked_last: bool,
}

impl<T> Queues<T> {
    /// Nobody waits.
    pub fn new(rules: Rules) -> Queues<T> {
        Queues {
            rules,
            returning: VecDeque::new(),
            high: VecDeque::new(),
            low: VecDeque::new(),
            kicked_last: false,
        }
    }

    /// Somebody asks for a slot.
    pub fn enter(&mut self, now: Micros, class: Class, who: T) {
        let queue = match class {
            Class::Returning => &mut self.returning,
            Class::High => &mut self.high,
            Class::Low => &mut self.low,
        };
        queue.push_back(Entry { since: now, who });
    }

    /// Who runs next while so many run already; it has left its queue.
    pub fn next(&mut self, now: Micros, running: usize) -> Option<Grant<T>> {
        let Rules {
            size,
            oversubscribe,
            kickup,
        } = self.rules;
        let size = if size == 0 { usize::MAX } else { size };
        let grant = |entry: Entry<T>, why| Grant {
            waited: now.saturating_sub(entry.since),
            who: entry.who,
            why,
        };
        if running < size.saturating_add(oversubscribe)
            && let Some(entry) = self.returning.pop_front()
        {
            return Some(grant(entry, Why::Returned));
        }
        if running >= size {
            return None;
        }
        let first = self.low.front();
        let kicked = first.is_some_and(|entry| now.saturating_sub(entry.since) >= kickup);
        if kicked && (self.high.is_empty() || !self.kicked_last) {
            self.kicked_last = true;
            return self
                .low
                .pop_front()
                .map(|entry| grant(entry, Why::KickedUp));
        }
        self.kicked_last = false;
        match self.high.pop_front() {
            Some(entry) => Some(grant(entry, Why::High)),
            None => self.low.pop_front().map(|entry| grant(entry, Why::Low)),
        }
    }

    /// All who wait, in the order of the queues: class, since when, who.
    pub fn list(&self) -> impl Iterator<Item = (Class, Micros, &T)> {
        let returning = self.returning.iter().map(|e| (Class::Returning, e));
        let high = self.high.iter().map(|e| (Class::High, e));
        let low = self.low.iter().map(|e| (Class::Low, e));
        returning
            .chain(high)
            .chain(low)
            .map(|(class, entry)| (class, entry.since, &entry.who))
    }
}

#[cfg(test)]
mod tests;

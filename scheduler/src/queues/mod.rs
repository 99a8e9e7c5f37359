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
//! 3. When threads are scarce, only those are granted who have one already, and connections that
//!    hold locks: all others could only join the wait for what these hold.
//! 4. Every decision depends on the calls before it and on nothing else, so that scripts can
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
    /// When so many threads have work, threads are scarce.
    pub threads: usize,
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
    /// Its turn may come although threads are scarce.
    urgent: bool,
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
    /// How many of those in `high` and `low` are urgent.
    urgent: usize,
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
            urgent: 0,
            kicked_last: false,
        }
    }

    /// Somebody asks for a slot. `urgent`: it has a thread, or it holds locks.
    pub fn enter(&mut self, now: Micros, class: Class, urgent: bool, who: T) {
        let queue = match class {
            Class::Returning => &mut self.returning,
            Class::High => &mut self.high,
            Class::Low => &mut self.low,
        };
        self.urgent += usize::from(urgent && class != Class::Returning);
        queue.push_back(Entry {
            since: now,
            urgent,
            who,
        });
    }

    /// Who runs next while so many run, and so many threads have work; it has left its queue.
    pub fn next(&mut self, now: Micros, running: usize, threads: usize) -> Option<Grant<T>> {
        let Rules {
            size,
            oversubscribe,
            ..
        } = self.rules;
        let size = if size == 0 { usize::MAX } else { size };
        let (entry, why) = if running < size.saturating_add(oversubscribe)
            && let Some(entry) = self.returning.pop_front()
        {
            (entry, Why::Returned)
        } else if running >= size {
            return None;
        } else if threads < self.rules.threads {
            self.next_of_all(now)?
        } else {
            self.next_urgent()?
        };
        self.urgent -= usize::from(entry.urgent && why != Why::Returned);
        Some(Grant {
            waited: now.saturating_sub(entry.since),
            who: entry.who,
            why,
        })
    }

    fn next_of_all(&mut self, now: Micros) -> Option<(Entry<T>, Why)> {
        let kickup = self.rules.kickup;
        let first = self.low.front();
        let kicked = first.is_some_and(|entry| now.saturating_sub(entry.since) >= kickup);
        if kicked && (self.high.is_empty() || !self.kicked_last) {
            self.kicked_last = true;
            return self.low.pop_front().map(|entry| (entry, Why::KickedUp));
        }
        self.kicked_last = false;
        match self.high.pop_front() {
            Some(entry) => Some((entry, Why::High)),
            None => self.low.pop_front().map(|entry| (entry, Why::Low)),
        }
    }

    fn next_urgent(&mut self) -> Option<(Entry<T>, Why)> {
        if self.urgent == 0 {
            return None;
        }
        let first = |queue: &mut VecDeque<Entry<T>>| {
            let at = queue.iter().position(|entry| entry.urgent)?;
            queue.remove(at)
        };
        match first(&mut self.high) {
            Some(entry) => Some((entry, Why::High)),
            None => first(&mut self.low).map(|entry| (entry, Why::Low)),
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

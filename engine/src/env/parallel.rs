//! The machine's processors: work that is shared out to all of them.

use parking_lot::Mutex;
use std::{cell::Cell, panic::resume_unwind, sync::LazyLock, thread};

thread_local! {
    /// How many [`Alone`] there are.
    static ALONE: Cell<u32> = const { Cell::new(0) };
}

/// The stack of a thread that does a part of what is shared out, in bytes.
const STACK: usize = 2 << 20;

/// As long as one lives, this thread does all its work itself, in order, as if the machine had one
/// processor: for simulation.
pub struct Alone(());

/// See [`Alone`].
#[must_use]
pub fn alone() -> Alone {
    ALONE.set(ALONE.get() + 1);
    Alone(())
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(ALONE.get() - 1);
    }
}

/// Does `work` on each item, on as many threads as there are processors, this one included, and
/// returns the results in the order of the items. This thread does `first` before it helps.
pub fn on_all_processors<T: Send, R: Send, F>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
    first: impl FnOnce() -> F,
) -> (Vec<R>, F) {
    let helpers = processors().min(items.len()).saturating_sub(1);
    let left = Mutex::new(items.into_iter().enumerate());
    let help = || {
        let mut done = Vec::new();
        loop {
            let next = left.lock().next();
            let Some((place, item)) = next else {
                return done;
            };
            done.push((place, work(item)));
        }
    };
    let own = || (first(), help());
    let (others, (first, mut done)) = with_helpers((helpers, STACK), help, own);
    done.extend(others.into_iter().flatten());
    done.sort_unstable_by_key(|(place, _)| *place);
    let results = done.into_iter().map(|(_, result)| result);
    (results.collect(), first)
}

/// Does `own` on this thread, and meanwhile `help` on so many others, or fewer, where no threads are to be
/// had, with stacks of so many bytes; returns what came of both when all have ended.
pub fn with_helpers<R: Send, O>(
    (helpers, stack): (usize, usize),
    help: impl Fn() -> R + Sync,
    own: impl FnOnce() -> O,
) -> (Vec<R>, O) {
    let help = &help;
    thread::scope(|scope| {
        let helpers: Vec<_> = (0..helpers)
            .filter_map(|_| {
                let thread = thread::Builder::new().stack_size(stack);
                thread.spawn_scoped(scope, help).ok()
            })
            .collect();
        let own = own();
        let results = helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        (results.collect(), own)
    })
}

/// Does `own` on this thread while `help` waits for the disk on so many others: on none, if this
/// thread is to do all its work itself. Returns what came of both when all have ended.
pub fn with_readers<R: Send, O>(
    readers: usize,
    help: impl Fn() -> R + Sync,
    own: impl FnOnce() -> O,
) -> (Vec<R>, O) {
    let readers = if ALONE.get() > 0 { 0 } else { readers };
    with_helpers((readers, STACK), help, own)
}

/// How many processors this thread may use.
pub fn processors() -> usize {
    // Asking takes long: the system tells it in files.
    static PROCESSORS: LazyLock<usize> =
        LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from));
    if ALONE.get() > 0 { 1 } else { *PROCESSORS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        let (squares, first) = on_all_processors((0..1000).collect(), |n: u64| n * n, || "first");
        assert!(squares.into_iter().eq((0..1000).map(|n| n * n)));
        assert_eq!(first, "first");
        let none: Vec<u64> = Vec::new();
        assert_eq!(on_all_processors(none, |n| n, || ()), (Vec::new(), ()));
    }
}

//! How many calls are made at once: of one host, and of all.
//!
//! Each takes a file descriptor, which others need, too, and memory for its body; and a host that
//! hangs keeps its calls for as long as they may take. So a host gets the less the less is left: one
//! alone gets a quarter, and each that comes to those that hang gets a part of what these left. A
//! hundred leave some, and of these each host that has none gets one.
//!
//! Hosts are told apart by name and port alone: what else is in a URL is up to whoever submits.
//!
//! Whoever waits too long for a turn makes no call, and tries again later. So those who wait for one
//! host have no end of memory, nor of anything else that they hold; see `ticker`.

use super::usual_port;
use cohort_process::limits;
use hyper::Uri;
use rustc_hash::FxHashMap;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::oneshot;

/// Calls of all hosts at once, if the limit of open files allows that.
const CALLS_MAX: usize = 4_096;
/// Of which a host that is alone gets one of so many, and no call counts for more.
const PART: usize = 4;
/// A call counts once for so many bytes of its body, so that all together have an end.
const BYTES_OF_TURN: usize = 64 << 10;

/// So long a call waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
/// So long, if others wait for that, too.
const IMPATIENCE: Duration = Duration::from_millis(500);

tokio::task_local! {
    static IS_IMPATIENT: ();
}

/// What this does in its own task waits for no turn for long.
pub fn impatiently<F: Future>(work: F) -> impl Future<Output = F::Output> {
    IS_IMPATIENT.scope((), work)
}

fn patience() -> Duration {
    IS_IMPATIENT.try_with(|()| IMPATIENCE).unwrap_or(PATIENCE)
}

/// So many calls may be made at once, as connections may be kept.
pub(super) fn calls_max() -> usize {
    limits::share_of_files(8).min(CALLS_MAX)
}

/// See the module.
pub struct Turns(Arc<Mutex<State>>);

struct State {
    total: usize,
    free: usize,
    /// Those that have turns, or wait for one.
    hosts: FxHashMap<Arc<str>, Host>,
    /// So many calls wait, among them those that have given up since.
    waiting: usize,
    /// Numbers those that wait.
    next: u64,
}

#[derive(Default)]
struct Host {
    taken: usize,
    /// The first came first.
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    weight: usize,
    number: u64,
    turn: oneshot::Sender<Turn>,
}

/// Leave to make a call; dropped, it is another one's.
pub struct Turn {
    turns: Arc<Mutex<State>>,
    host: Arc<str>,
    /// 0: it was given back.
    weight: usize,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.weight > 0 {
            let mut state = lock(&self.turns);
            state.give_back(&self.host, self.weight);
            state.hand_out(&self.turns);
        }
    }
}

fn lock(turns: &Mutex<State>) -> MutexGuard<'_, State> {
    turns.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What hosts are told apart by.
fn place(uri: &Uri) -> Arc<str> {
    let host = uri.host().unwrap_or_default().trim_end_matches('.');
    let port = uri.port_u16().unwrap_or_else(|| usual_port(uri));
    format!("{}:{port}", host.to_ascii_lowercase()).into()
}

impl Turns {
    pub fn new(calls_max: usize) -> Turns {
        let total = calls_max.max(1);
        Turns(Arc::new(Mutex::new(State {
            total,
            free: total,
            hosts: FxHashMap::default(),
            waiting: 0,
            next: 0,
        })))
    }

    /// Waits until a call with so many bytes may be made; `None`: that takes too long.
    pub async fn take(&self, uri: &Uri, bytes: usize) -> Option<Turn> {
        match self.ask(uri, bytes) {
            Ok(turn) => Some(turn),
            Err(waiting) => tokio::time::timeout(patience(), waiting).await.ok()?.ok(),
        }
    }

    /// The same for who does not wait.
    pub fn take_now(&self, uri: &Uri) -> Option<Turn> {
        let (host, mut state) = (place(uri), lock(&self.0));
        let weight = state.given(state.taken(&host), 1)?;
        Some(state.take(&self.0, host, weight))
    }

    /// A turn, or where it will come.
    fn ask(&self, uri: &Uri, bytes: usize) -> Result<Turn, oneshot::Receiver<Turn>> {
        let (host, mut state) = (place(uri), lock(&self.0));
        let weight = state.weight(bytes);
        if state.is_left(&host) {
            state.hand_out(&self.0);
        }
        if !state.is_waited_for(&host)
            && let Some(weight) = state.given(state.taken(&host), weight)
        {
            return Ok(state.take(&self.0, host, weight));
        }
        let (turn, waiting) = oneshot::channel();
        let number = state.next;
        (state.next, state.waiting) = (number + 1, state.waiting + 1);
        let queue = &mut state.hosts.entry(host).or_default().waiting;
        queue.push_back(Waiting {
            weight,
            number,
            turn,
        });
        Err(waiting)
    }

    /// Forgets who has given up, so that those who waited behind them have their turns.
    pub fn tidy(&self) {
        let mut state = lock(&self.0);
        let mut waiting = 0;
        state.hosts.retain(|_, host| {
            host.waiting.retain(|one| !one.turn.is_closed());
            waiting += host.waiting.len();
            host.taken > 0 || !host.waiting.is_empty()
        });
        state.waiting = waiting;
        state.hand_out(&self.0);
    }
}

impl State {
    fn weight(&self, bytes: usize) -> usize {
        bytes.div_ceil(BYTES_OF_TURN).min(self.total / PART).max(1)
    }

    fn taken(&self, host: &str) -> usize {
        self.hosts.get(host).map_or(0, |host| host.taken)
    }

    /// Whether others wait for this host.
    fn is_waited_for(&self, host: &str) -> bool {
        let host = self.hosts.get(host);
        host.is_some_and(|host| !host.waiting.is_empty())
    }

    /// Whether the first that waits for this host has given up: those behind may have their turns.
    fn is_left(&self, host: &str) -> bool {
        let first = self.hosts.get(host).and_then(|host| host.waiting.front());
        first.is_some_and(|first| first.turn.is_closed())
    }

    /// What a call of so many turns counts for, if it is made now: its host has so many. A host gets
    /// more as long as it has less than 4/9 of the square of what is free, each of them as a part of
    /// all. One host gets a quarter by that; many that take all they get leave one of
    /// `1 + 4/9 * many`, for as long as that is enough for one turn each.
    ///
    /// When little is free, the first call of a host counts for no more than the host gets: what is
    /// needed besides may never be free, and all other calls of that host wait behind this one.
    fn given(&self, taken: usize, weight: usize) -> Option<usize> {
        let most = (4 * self.free * self.free).div_ceil(9 * self.total);
        if taken + weight <= most {
            return Some(weight);
        }
        (taken == 0 && most > 0).then_some(most)
    }

    fn take(&mut self, turns: &Arc<Mutex<State>>, host: Arc<str>, weight: usize) -> Turn {
        self.free -= weight;
        self.hosts.entry(Arc::clone(&host)).or_default().taken += weight;
        let turns = Arc::clone(turns);
        Turn {
            turns,
            host,
            weight,
        }
    }

    fn give_back(&mut self, name: &str, weight: usize) {
        self.free += weight;
        if let Some(host) = self.hosts.get_mut(name) {
            host.taken -= weight;
            if host.taken == 0 && host.waiting.is_empty() {
                self.hosts.remove(name);
            }
        }
    }

    /// Gives what is free to those who wait: of several hosts the one that has least is first.
    fn hand_out(&mut self, turns: &Arc<Mutex<State>>) {
        while self.waiting > 0 {
            let first = self.hosts.iter().filter_map(|(name, host)| {
                let one = host.waiting.front()?;
                // Who has given up is taken out, whatever is free.
                let weight = match one.turn.is_closed() {
                    true => 0,
                    false => self.given(host.taken, one.weight)?,
                };
                Some((host.taken, one.number, name, weight))
            });
            let Some((_, _, name, weight)) = first.min() else {
                return;
            };
            let name = Arc::clone(name);
            let queue = self.hosts.get_mut(&name).map(|host| &mut host.waiting);
            let Some(one) = queue.and_then(VecDeque::pop_front) else {
                return;
            };
            self.waiting -= 1;
            let turn = self.take(turns, Arc::clone(&name), weight);
            if let Err(mut unwanted) = one.turn.send(turn) {
                self.give_back(&name, std::mem::take(&mut unwanted.weight));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().expect("a url")
    }

    fn all(turns: &Turns, text: &str) -> Vec<Turn> {
        let uri = uri(text);
        std::iter::from_fn(|| turns.take_now(&uri)).collect()
    }

    #[test]
    fn a_host_that_hangs_leaves_turns_to_others() {
        let turns = Turns::new(8);
        let mut taken = all(&turns, "http://a:1/x");
        assert_eq!(taken.len(), 2);
        let others = all(&turns, "http://b:1/x");
        assert_eq!(others.len(), 2);
        taken.pop();
        assert!(turns.take_now(&uri("http://a:1/x")).is_some());
        assert_eq!(lock(&turns.0).hosts.len(), 2);
        drop((taken, others));
        assert!(lock(&turns.0).hosts.is_empty());
        assert_eq!(lock(&turns.0).free, 8);
    }

    #[test]
    fn hosts_are_told_apart_by_name_and_port() {
        let turns = Turns::new(8);
        let taken = all(&turns, "http://a/x");
        assert_eq!(taken.len(), 2);
        for same in [
            "http://A:80/y",
            "http://u@a/",
            "http://u:p@a:80/",
            "http://a./",
        ] {
            assert!(turns.take_now(&uri(same)).is_none(), "{same}");
        }
        assert!(turns.take_now(&uri("https://a/")).is_some());
    }

    #[test]
    fn a_hundred_hosts_that_hang_leave_turns_to_others() {
        for (calls_max, wanted) in [(CALLS_MAX, 150), (1_024, 75), (128, 25)] {
            let turns = Turns::new(calls_max);
            let one = |number| all(&turns, &format!("http://h{number}/"));
            let taken: Vec<_> = (0..calls_max)
                .map(one)
                .take_while(|taken| !taken.is_empty())
                .collect();
            assert_eq!(taken[0].len(), calls_max / PART);
            assert!(taken.len() > wanted, "{} of {calls_max}", taken.len());
        }
    }

    #[test]
    fn a_large_body_counts_for_several_calls() {
        let turns = Turns::new(64);
        let (a, b) = (uri("http://a/"), uri("http://b/"));
        let large = turns.ask(&a, 64 << 20).ok().expect("a turn");
        assert_eq!(lock(&turns.0).free, 48);
        assert!(turns.take_now(&a).is_none());
        let small = turns.ask(&b, BYTES_OF_TURN).ok().expect("a turn");
        assert_eq!(lock(&turns.0).free, 47);
        drop((large, small));
    }

    #[test]
    fn a_hosts_first_call_is_made_however_large_it_is() {
        let turns = Turns::new(1_024);
        let taken: Vec<_> = (0..16)
            .flat_map(|host| all(&turns, &format!("http://h{host}/")))
            .collect();
        let good = uri("http://good/");
        let free = lock(&turns.0).free;
        let heavy = turns.ask(&good, 64 << 20).ok().expect("a turn");
        let left = lock(&turns.0).free;
        assert!(left < free && left > 0, "{left} of {free}");
        // Others of this host come when it is done, in their order.
        let mut light = turns.ask(&good, 0).err().expect("no turn");
        let mut second = turns.ask(&good, 64 << 20).err().expect("no turn");
        assert!(turns.take_now(&uri("http://other/")).is_some());
        drop(heavy);
        assert!(second.try_recv().is_err());
        drop(light.try_recv().expect("a turn"));
        assert!(second.try_recv().is_ok());
        drop(taken);
        turns.tidy();
        let state = lock(&turns.0);
        assert_eq!(
            (state.free, state.waiting, state.hosts.len()),
            (1_024, 0, 0)
        );
    }

    #[test]
    fn who_gives_up_holds_up_nobody() {
        let turns = Turns::new(128);
        let a = uri("http://a/");
        let taken: Vec<_> = (0..20).filter_map(|_| turns.take_now(&a)).collect();
        assert_eq!(taken.len(), 20);
        let heavy = || turns.ask(&a, 64 << 20).err().expect("no turn");
        // No other call ends: whoever tidies up lets them go on, and so does who asks next.
        let (gone, mut light) = (heavy(), turns.ask(&a, 0).err().expect("no turn"));
        drop(gone);
        turns.tidy();
        let first = light.try_recv().expect("a turn");
        let (gone, mut light) = (heavy(), turns.ask(&a, 0).err().expect("no turn"));
        drop(gone);
        let next = turns.ask(&a, 0).ok().expect("a turn");
        let second = light.try_recv().expect("a turn");
        drop((taken, first, second, next));
        turns.tidy();
        let state = lock(&turns.0);
        assert_eq!((state.free, state.waiting, state.hosts.len()), (128, 0, 0));
    }

    #[test]
    fn who_has_least_is_next() {
        let turns = Turns::new(8);
        let mut taken: Vec<_> = (0..8)
            .flat_map(|host| all(&turns, &format!("http://h{host}/")))
            .collect();
        assert_eq!(lock(&turns.0).free, 0);
        let ask = |text: &str| turns.ask(&uri(text), 0).err().expect("no turn");
        let (mut busy, gone, mut none) =
            (ask("http://h0/"), ask("http://new/"), ask("http://new/"));
        drop(gone);
        taken.pop();
        assert!(none.try_recv().is_ok());
        assert!(busy.try_recv().is_err());
        drop((taken, busy, none));
        turns.tidy();
        let state = lock(&turns.0);
        assert_eq!((state.free, state.waiting, state.hosts.len()), (8, 0, 0));
    }

    #[tokio::test]
    async fn nobody_waits_for_ever() {
        let turns = Turns::new(1);
        let uri = uri("http://a:1/x");
        let taken = turns.take(&uri, 0).await;
        assert!(taken.is_some());
        assert!(impatiently(turns.take(&uri, 0)).await.is_none());
        drop(taken);
        assert!(impatiently(turns.take(&uri, 0)).await.is_some());
    }
}

//! The sessions of a server: who is connected, what they do, and how to stop them.

use crate::{
    statements::{
        Commands, Commits, Errors, Kept, RowCounts, TableIo, Used, add_commands, reset_times,
    },
    status::Counters,
};
use cohort_engine::txn::Owner;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// What a session is doing.
#[derive(Clone, Debug)]
pub struct Activity {
    /// The user it belongs to.
    pub user: String,
    /// Where it comes from.
    pub host: String,
    /// The account: user and pattern of hosts.
    pub account: (String, String),
    /// Its default database.
    pub database: Arc<str>,
    /// `Sleep`, `Query`, `Execute`, …
    pub command: &'static str,
    /// The statement, while there is one.
    pub statement: Option<Arc<str>>,
    /// Since when, in microseconds since 1970.
    pub since_micros: u64,
}

/// What a client says of itself when it logs in: names and values, in its order.
#[derive(Clone, Debug, Default)]
pub struct Attributes(Arc<[(String, String)]>);

impl Attributes {
    /// What is kept of a client's attributes: as in MySQL 512 bytes, with their lengths; how many
    /// bytes were lost is one more.
    #[must_use]
    pub fn new(given: &[(&[u8], &[u8])]) -> Attributes {
        const BYTES_MAX: usize = 512;
        const LENGTHS: usize = 2;
        let (mut bytes, mut lost) = (0, 0);
        let mut kept = Vec::new();
        for (name, value) in given {
            let more = name.len() + value.len() + LENGTHS;
            if lost > 0 || bytes + more > BYTES_MAX {
                lost += more;
                continue;
            }
            bytes += more;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            kept.push((text(name), text(value)));
        }
        if lost > 0 {
            kept.push(("_truncated".to_string(), lost.to_string()));
        }
        Attributes(kept.into())
    }
    /// The names and values.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

/// A session as others see it.
pub struct Entry {
    /// The connection id.
    pub id: u64,
    /// To stop it.
    pub owner: Arc<Owner>,
    /// What it counted.
    pub counters: Counters,
    /// What it does.
    pub activity: Mutex<Activity>,
    /// What its client has said of itself.
    pub attributes: Mutex<Attributes>,
    /// Its statements that have ended.
    pub recent: Arc<Kept>,
    /// Which tables and indexes it has used, and how.
    pub(crate) io: TableIo,
    /// Over what it comes: `Socket`, `TCP/IP`, `SSL/TLS`.
    pub means: OnceLock<&'static str>,
    /// KILL CONNECTION: it must end.
    closing: AtomicBool,
}

/// User and host of sessions, without the port.
pub type Place = (String, String);

/// What is known of all sessions of a user from a host.
#[derive(Clone, Debug, Default)]
pub struct Visits {
    /// How many there are.
    pub now: u64,
    /// How many there ever were.
    pub ever: u64,
    /// What those that have ended ran.
    pub ended: Commands,
}

/// So many users and hosts are told apart; the rest is counted together, under no name.
const PLACES_MAX: usize = 10_000;

impl Entry {
    /// A session that does nothing yet.
    #[must_use]
    pub fn new(
        id: u64,
        owner: Arc<Owner>,
        (user, host): (String, String),
        now_micros: u64,
        measures: bool,
    ) -> Entry {
        let activity = Activity {
            user,
            host,
            account: Default::default(),
            database: Arc::from(""),
            command: "Sleep",
            statement: None,
            since_micros: now_micros,
        };
        Entry {
            id,
            owner,
            counters: Counters::default(),
            activity: Mutex::new(activity),
            attributes: Mutex::default(),
            recent: Arc::default(),
            io: TableIo::new(measures),
            means: OnceLock::new(),
            closing: AtomicBool::new(false),
        }
    }
    /// Who it is and where it comes from, without the port.
    #[must_use]
    pub fn place(&self) -> Place {
        let activity = self.activity.lock();
        place(&activity.user, &activity.host)
    }
    /// Whether it is of the same user as a session of this number and account. Anybody is nobody's.
    #[must_use]
    pub fn is_of(&self, id: u64, account: &(String, String)) -> bool {
        self.id == id || !account.0.is_empty() && self.activity.lock().account.0 == account.0
    }
    /// KILL as the session itself sees it: what it executes stops and, if `connection`, it ends.
    pub(crate) fn stop(&self, connection: bool) {
        if connection {
            self.closing.store(true, Ordering::Release);
        }
        self.owner.kill();
    }
    /// Whether KILL CONNECTION asked it to end.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire)
    }
}

fn place(user: &str, host: &str) -> Place {
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    (user.to_owned(), host.to_owned())
}

/// Ends a connection of the server, whatever its client does.
pub type Disconnect = Box<dyn Fn(u64) + Send + Sync>;

/// All sessions, by connection id.
#[derive(Default)]
pub struct Registry {
    sessions: Mutex<BTreeMap<u64, Arc<Entry>>>,
    /// How many sessions each user has.
    users: Mutex<FxHashMap<String, u64>>,
    /// Their sessions, by user and host.
    places: Mutex<FxHashMap<Place, Visits>>,
    /// What was run by whom TRUNCATE TABLE has made nobody know any more.
    elsewhere: Mutex<Commands>,
    /// Which tables and indexes sessions that have ended used, and how.
    tables: Mutex<FxHashMap<Used, RowCounts>>,
    /// What sessions that have ended committed lately.
    commits: Mutex<Commits>,
    /// The errors that were raised.
    pub errors: Errors,
    /// What sessions that have ended counted.
    ended: Counters,
    /// How many sessions there ever were.
    opened: AtomicU64,
    /// The most there were at once.
    most: AtomicU64,
    disconnect: Mutex<Option<Disconnect>>,
}

/// Those of a user and a host, which may be counted under no name.
fn visits<'p>(places: &'p mut FxHashMap<Place, Visits>, place: &Place) -> Option<&'p mut Visits> {
    let known = places.contains_key(place);
    let nowhere = Place::default();
    places.get_mut(if known { place } else { &nowhere })
}

impl Registry {
    /// Adds a session.
    pub fn open(&self, entry: Arc<Entry>) {
        self.count_user(&entry.activity.lock().user);
        self.arrive(entry.place());
        let mut sessions = self.sessions.lock();
        sessions.insert(entry.id, entry);
        self.opened.fetch_add(1, Ordering::Relaxed);
        self.most
            .fetch_max(sessions.len() as u64, Ordering::Relaxed);
    }
    /// Removes a session that ends.
    pub fn close(&self, entry: &Entry) {
        let mut sessions = self.sessions.lock();
        if sessions.remove(&entry.id).is_some() {
            // In the same step: a sum has its counts once, and never less than one before.
            self.ended.absorb(&entry.counters);
            drop(sessions);
            self.uncount_user(&entry.activity.lock().user);
            let mut recent = entry.recent.lock();
            recent.hand_on();
            entry.io.add_to(&mut self.tables.lock());
            self.commits.lock().absorb(recent.take_commits());
            self.leave(&entry.place(), recent.commands());
        }
    }
    /// What was committed in the last minute: by each session, and by those that have ended, whose
    /// number is 0.
    #[must_use]
    pub fn commits(&self) -> Vec<(u64, Commits)> {
        let of_open = self.list().into_iter();
        let of_open = of_open.map(|entry| (entry.id, entry.recent.lock().commits().clone()));
        let ended = self.commits.lock().clone();
        of_open.chain([(0, ended)]).collect()
    }
    /// Which tables and indexes were used, and how, by all sessions.
    #[must_use]
    pub fn tables(&self) -> FxHashMap<Used, RowCounts> {
        let mut sums = self.tables.lock().clone();
        for entry in self.list() {
            entry.io.add_to(&mut sums);
        }
        sums
    }
    /// TRUNCATE TABLE of what shows them.
    pub fn forget_tables(&self) {
        self.tables.lock().clear();
        for entry in self.list() {
            entry.io.forget();
        }
    }
    fn arrive(&self, place: Place) {
        let mut places = self.places.lock();
        let known = places.len() < PLACES_MAX || places.contains_key(&place);
        let visits = places.entry(if known { place } else { Place::default() });
        let visits = visits.or_default();
        visits.now += 1;
        visits.ever += 1;
    }
    fn leave(&self, place: &Place, commands: Commands) {
        if let Some(visits) = visits(&mut self.places.lock(), place) {
            visits.now = visits.now.saturating_sub(1);
            add_commands(&mut visits.ended, &commands);
        }
    }
    /// All users and hosts that sessions were of.
    #[must_use]
    pub fn places(&self) -> FxHashMap<Place, Visits> {
        self.places.lock().clone()
    }
    /// What all sessions that ever were have run.
    #[must_use]
    pub fn commands(&self) -> Commands {
        let mut all = self.elsewhere.lock().clone();
        for visits in self.places.lock().values() {
            add_commands(&mut all, &visits.ended);
        }
        for entry in self.list() {
            add_commands(&mut all, &entry.recent.lock().commands());
        }
        all
    }
    /// TRUNCATE TABLE of what each session has run: it counts for its user and host.
    pub fn forget_commands(&self) {
        for entry in self.list() {
            let commands = entry.recent.lock().take_commands();
            if let Some(visits) = visits(&mut self.places.lock(), &entry.place()) {
                add_commands(&mut visits.ended, &commands);
            }
        }
    }
    /// What users and hosts have run counts for the server alone.
    fn forget_commands_of_places(&self) {
        self.forget_commands();
        for visits in self.places.lock().values_mut() {
            let commands = std::mem::take(&mut visits.ended);
            add_commands(&mut self.elsewhere.lock(), &commands);
        }
    }
    /// TRUNCATE TABLE of what was run at all.
    pub fn forget_all_commands(&self) {
        self.forget_commands_of_places();
        self.elsewhere.lock().clear();
    }
    /// TRUNCATE TABLE of how long statements took, one by one.
    pub fn forget_times(&self) {
        for entry in self.list() {
            entry.recent.lock().reset_times();
        }
        for visits in self.places.lock().values_mut() {
            reset_times(&mut visits.ended);
        }
        reset_times(&mut self.elsewhere.lock());
    }
    /// TRUNCATE TABLE of performance_schema.accounts and its kin: who is not here now is forgotten.
    pub fn forget_places(&self) {
        self.forget_commands_of_places();
        let mut places = self.places.lock();
        places.retain(|_, visits| visits.now > 0);
        for visits in places.values_mut() {
            visits.ever = visits.now;
        }
    }
    fn count_user(&self, user: &str) {
        *self.users.lock().entry(user.to_owned()).or_default() += 1;
    }
    fn uncount_user(&self, user: &str) {
        let mut users = self.users.lock();
        if let Some(count) = users.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                users.remove(user);
            }
        }
    }
    /// COM_CHANGE_USER: a session is another user's now.
    pub(crate) fn change_user(&self, entry: &Entry, user: &str, host: &str) {
        let mut activity = entry.activity.lock();
        self.uncount_user(&activity.user);
        self.count_user(user);
        let before = place(&activity.user, &activity.host);
        activity.user = user.to_owned();
        activity.host = host.to_owned();
        self.leave(&before, Commands::default());
        self.arrive(place(user, host));
    }
    /// How many sessions a user has.
    #[must_use]
    pub fn of_user(&self, user: &str) -> u64 {
        self.users.lock().get(user).copied().unwrap_or(0)
    }
    /// How many sessions an account has.
    #[must_use]
    pub fn of_account(&self, account: &(String, String)) -> u64 {
        let sessions = self.sessions.lock();
        let own = sessions.values();
        let own = own.filter(|entry| entry.activity.lock().account == *account);
        own.count() as u64
    }
    /// All sessions by connection id.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Entry>> {
        self.sessions.lock().values().cloned().collect()
    }
    /// The sessions whose statement has run since before this moment, in microseconds since 1970.
    #[must_use]
    pub fn running_since(&self, micros: u64) -> Vec<Arc<Entry>> {
        let is_old = |entry: &&Arc<Entry>| {
            let activity = entry.activity.lock();
            activity.command != "Sleep" && activity.since_micros <= micros
        };
        let sessions = self.sessions.lock();
        sessions.values().filter(is_old).cloned().collect()
    }
    /// The session of a connection.
    #[must_use]
    pub fn find(&self, id: u64) -> Option<Arc<Entry>> {
        self.sessions.lock().get(&id).cloned()
    }
    /// How many sessions there are, ever were, and were at once.
    #[must_use]
    pub fn counts(&self) -> (u64, u64, u64) {
        let now = self.sessions.lock().len() as u64;
        (
            now,
            self.opened.load(Ordering::Relaxed),
            self.most.load(Ordering::Relaxed),
        )
    }
    /// What all sessions counted, ended or not.
    #[must_use]
    pub fn sum(&self) -> Vec<u64> {
        let mut sum = Vec::new();
        let sessions = self.sessions.lock();
        self.ended.add_to(&mut sum);
        // Those that end from now on are counted here, too.
        let entries: Vec<_> = sessions.values().cloned().collect();
        drop(sessions);
        for entry in entries {
            entry.counters.add_to(&mut sum);
        }
        sum
    }
    /// What the server does to end a connection: it shuts its socket down, so that a thread that
    /// waits for the client, to send something or to take its rows, wakes up.
    pub fn on_disconnect(&self, disconnect: Disconnect) {
        *self.disconnect.lock() = Some(disconnect);
    }
    /// Ends a connection, if it is still there.
    pub fn kill_connection(&self, id: u64) {
        if let Some(entry) = self.find(id) {
            self.kill(&entry, true);
        }
    }
    /// KILL: stops what the session executes and, if `connection`, ends it.
    pub fn kill(&self, entry: &Entry, connection: bool) {
        entry.stop(connection);
        if connection && let Some(disconnect) = self.disconnect.lock().as_ref() {
            disconnect(entry.id);
        }
    }
}

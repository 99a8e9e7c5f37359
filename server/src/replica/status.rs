//! What SHOW REPLICA STATUS says.

use super::source::Source;
use cohort_engine::{log::Origin, types::GtidSet};
use cohort_sql::{ReplicaStatus, Transit, Until};
use parking_lot::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

/// How the replica is, as its threads have told.
#[derive(Default)]
pub struct Status(Mutex<Told>);

#[derive(Default)]
struct Told {
    /// What the receiver does, in MySQL's words.
    state: &'static str,
    receives: Option<bool>,
    applies: bool,
    received: (String, u64),
    applied: (String, u64),
    receive_error: Option<(u16, String)>,
    apply_error: Option<(u16, String)>,
    server_id: u32,
    uuid: String,
    retrieved: GtidSet,
    waiting_bytes: u64,
    /// The source's clock is so many seconds ahead of this one.
    clock_ahead: i64,
    /// It says what it has.
    answers: bool,
    /// How far it goes.
    until: Option<Until>,
    heartbeats: (u64, u64),
    receive_error_at: u64,
    apply_error_at: u64,
    queued: Option<Transit>,
    queueing: Option<Transit>,
    applied_last: Option<Transit>,
    now_applying: Option<Transit>,
    retries: u64,
    /// When, at the source, what is being applied was written; `None`: all is applied.
    applying_since: Option<u32>,
    delay_left: Option<u64>,
}

impl Status {
    /// The threads begin.
    pub fn begin(&self, until: Option<&Until>) {
        *self.0.lock() = Told {
            state: "Connecting to source",
            receives: Some(false),
            applies: true,
            until: until.cloned(),
            ..Told::default()
        };
    }
    /// Both threads have been stopped.
    pub fn stopped(&self) {
        let mut told = self.0.lock();
        (told.state, told.receives, told.applies) = ("", None, false);
        told.applying_since = None;
    }
    /// Whether both threads do what they should.
    pub fn runs_whole(&self) -> bool {
        let told = self.0.lock();
        told.receives.is_some() && told.applies
    }
    /// Whether one of the threads still does something.
    pub fn runs(&self) -> bool {
        let told = self.0.lock();
        told.receives.is_some() || told.applies
    }
    /// The receiver tries again after this error.
    pub fn reconnecting(&self, error: (u16, String)) {
        let mut told = self.0.lock();
        told.receives = Some(false);
        told.state = "Reconnecting after a failed source event read";
        told.receive_error = Some(error);
        told.receive_error_at = now_micros();
        told.queueing = None;
    }
    /// Who the source is.
    pub fn connected(&self, server_id: u32, uuid: &str, clock_ahead: i64, answers: bool) {
        let mut told = self.0.lock();
        told.receives = Some(true);
        told.state = "Waiting for source to send event";
        told.receive_error = None;
        (told.server_id, told.uuid) = (server_id, uuid.to_owned());
        (told.clock_ahead, told.answers) = (clock_ahead, answers);
    }
    /// The receiver has ended because the replica is stopped.
    pub fn receiver_stopped(&self) {
        let mut told = self.0.lock();
        (told.state, told.receives) = ("", None);
    }
    /// The receiver has ended, and will not try again.
    pub fn receiver_ended(&self, error: (u16, String)) {
        let mut told = self.0.lock();
        (told.state, told.receives) = ("", None);
        told.receive_error = Some(error);
        told.receive_error_at = now_micros();
    }
    /// The applier has ended.
    pub fn applier_ended(&self, error: (u16, String)) {
        let mut told = self.0.lock();
        told.applies = false;
        told.apply_error = Some(error);
        told.apply_error_at = now_micros();
    }
    /// The applier has come as far as it was to go.
    pub fn applier_finished(&self) {
        self.0.lock().applies = false;
    }
    /// Events have come up to here.
    pub fn received(&self, place: (&str, u64), waiting_bytes: usize) {
        let mut told = self.0.lock();
        put(&mut told.received, place);
        told.waiting_bytes = waiting_bytes as u64;
    }
    /// A transaction has begun to come.
    pub fn retrieving(&self, origin: Option<Origin>) {
        let transit = transit(origin);
        let mut told = self.0.lock();
        if let Some(gtid) = transit.gtid {
            told.retrieved.add(gtid);
        }
        told.queueing = Some(transit);
    }
    /// It has come.
    pub fn retrieved(&self) {
        let mut told = self.0.lock();
        if let Some(transit) = told.queueing.take() {
            told.queued = Some(ended(transit));
        }
    }
    /// There was nothing to send.
    pub fn alive(&self) {
        let mut told = self.0.lock();
        told.heartbeats = (told.heartbeats.0 + 1, now_micros());
    }
    /// A transaction that was written then is being applied.
    pub fn applying(&self, since: u32, origin: Option<Origin>) {
        let transit = transit(origin);
        let mut told = self.0.lock();
        told.applying_since = Some(since);
        // One that is begun again is still the same.
        if told.now_applying.is_none() {
            told.now_applying = Some(transit);
        }
    }
    /// It is begun again.
    pub fn applying_again(&self) {
        let mut told = self.0.lock();
        told.retries += 1;
        if let Some(transit) = &mut told.now_applying {
            transit.retries += 1;
        }
    }
    /// It is applied, with all before it.
    pub fn applied(&self, place: (&str, u64)) {
        let mut told = self.0.lock();
        put(&mut told.applied, place);
        if let Some(transit) = told.now_applying.take() {
            told.applied_last = Some(ended(transit));
        }
    }
    /// What was begun comes again, from the beginning.
    pub fn applying_anew(&self) {
        self.0.lock().now_applying = None;
    }
    /// There is nothing more to apply than what is applied up to here.
    pub fn caught_up(&self, place: (&str, u64)) {
        let mut told = self.0.lock();
        put(&mut told.applied, place);
        told.applying_since = None;
        told.waiting_bytes = 0;
    }
    /// The transaction before this time must wait so many seconds.
    pub fn delayed(&self, left: Option<u64>) {
        self.0.lock().delay_left = left;
    }

    /// All of it.
    pub fn shown(&self, source: &Source) -> ReplicaStatus {
        let told = self.0.lock();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs().cast_signed()) + told.clock_ahead;
        let behind = told
            .applying_since
            .map_or(0, |since| now - i64::from(since));
        ReplicaStatus {
            state: told.state.to_owned(),
            host: source.host.clone(),
            port: source.port,
            user: source.user.clone(),
            retry: (source.retry_seconds, source.retry_count),
            received: told.received.clone(),
            applied: told.applied.clone(),
            receives: told.receives,
            applies: told.applies,
            receive_error: told.receive_error.clone(),
            apply_error: told.apply_error.clone(),
            behind_seconds: (told.applies && told.receives == Some(true))
                .then(|| u64::try_from(behind).unwrap_or(0)),
            source: (told.server_id, told.uuid.clone()),
            delay_seconds: source.delay_seconds,
            delay_left: told.delay_left,
            auto_position: source.auto_position,
            retrieved: told.retrieved.to_string(),
            tls: (source.ssl, source.ssl_ca.clone(), source.ssl_verify),
            get_public_key: source.get_public_key,
            heartbeat_ms: source.heartbeat_ms,
            heartbeats: told.heartbeats,
            receive_error_at: told.receive_error_at,
            apply_error_at: told.apply_error_at,
            queued: told.queued,
            queueing: told.queueing,
            applied_last: told.applied_last,
            applying: told.now_applying,
            retries: told.retries,
            filter: source.filter(),
            until: told.until.clone(),
            answers: told.answers && told.receives == Some(true),
            waiting_bytes: told.waiting_bytes,
        }
    }
}

fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX))
}

/// A transaction that begins now.
fn transit(origin: Option<Origin>) -> Transit {
    let micros = |micros: fn(Origin) -> Option<u64>| origin.and_then(micros).unwrap_or(0);
    Transit {
        gtid: origin.map(|origin| origin.gtid),
        original: micros(|origin| origin.committed_micros),
        immediate: micros(|origin| origin.immediate_micros),
        begun: now_micros(),
        ended: 0,
        retries: 0,
    }
}

fn ended(transit: Transit) -> Transit {
    Transit {
        ended: now_micros(),
        ..transit
    }
}

fn put(into: &mut (String, u64), (file, position): (&str, u64)) {
    if into.0 != file {
        file.clone_into(&mut into.0);
    }
    into.1 = position;
}

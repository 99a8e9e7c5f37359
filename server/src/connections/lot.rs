//! Where connections stand whose clients are silent: a table, and epoll, which tells when one of
//! them has sent something. One thread watches.
//!
//! A socket is watched with `ONESHOT`: epoll tells once and then nothing until the connection is
//! parked again, so that a connection that is being served costs no events. Deadlines are looked
//! at a few times a second, all of them: they change with every statement, which a queue ordered
//! by time would have to follow.

use super::{Backend, Client, Connections};
use cohort_process::{Notice, notice, service};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use rustix::{
    buffer::spare_capacity,
    event::{
        Timespec,
        epoll::{self, CreateFlags, EventData, EventFlags},
    },
    fd::OwnedFd,
};
use std::{
    io,
    sync::{Arc, Weak},
    thread,
    time::{Duration, Instant},
};

/// The table is in so many parts, each with its lock.
const SHARDS: usize = 16;
/// How often deadlines are looked at.
const SWEEP: Duration = Duration::from_millis(250);
/// How many events are taken at once.
const EVENTS: usize = 512;

/// The silent connections.
pub(super) struct Lot<B: Backend> {
    epoll: Arc<OwnedFd>,
    shards: [Mutex<FxHashMap<u64, Parked<B>>>; SHARDS],
}

struct Parked<B: Backend> {
    client: Box<Client<B>>,
    since: Instant,
    until: Instant,
}

impl<B: Backend> Lot<B> {
    pub fn new() -> io::Result<Lot<B>> {
        Ok(Lot {
            epoll: Arc::new(epoll::create(CreateFlags::CLOEXEC)?),
            shards: [(); SHARDS].map(|()| Mutex::default()),
        })
    }

    /// Parks a connection from now on, until its client sends something or its deadline comes.
    /// If its answer is held back, only until its client goes, or its deadline.
    pub fn park(&self, mut client: Box<Client<B>>, since: Instant, until: Instant) {
        let heard = match client.connection.is_delayed() {
            true => EventFlags::RDHUP,
            false => EventFlags::IN | EventFlags::RDHUP,
        };
        let id = client.connection.id();
        let stream = Arc::clone(client.connection.stream());
        let watched = std::mem::replace(&mut client.watched, true);
        let mut shard = self.shard(id).lock();
        shard.insert(
            id,
            Parked {
                client,
                since,
                until,
            },
        );
        // With the lock held: the event may come before this returns.
        let (data, flags) = (EventData::new_u64(id), heard | EventFlags::ONESHOT);
        let asked = if watched {
            epoll::modify(&*self.epoll, &*stream, data, flags)
        } else {
            epoll::add(&*self.epoll, &*stream, data, flags)
        };
        if asked.is_err() {
            // The kernel has no memory left: a client that cannot be heard is let go.
            let lost = shard.remove(&id);
            drop(shard);
            drop(lost);
        }
    }

    fn shard(&self, id: u64) -> &Mutex<FxHashMap<u64, Parked<B>>> {
        &self.shards[(id % SHARDS as u64) as usize]
    }

    fn take(&self, id: u64) -> Option<Parked<B>> {
        self.shard(id).lock().remove(&id)
    }

    /// Takes out those whose deadline is over.
    fn take_expired(&self, now: Instant) -> Vec<Parked<B>> {
        let mut expired = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            let over = |parked: &Parked<B>| parked.until <= now;
            let ids: Vec<u64> = shard
                .iter()
                .filter(|(_, parked)| over(parked))
                .map(|(id, _)| *id)
                .collect();
            for id in ids {
                expired.extend(shard.remove(&id).map(|mut parked| {
                    parked.client.expired = true;
                    parked
                }));
            }
        }
        expired
    }
}

/// Starts the thread that watches the lot. It ends with the server.
pub(super) fn watch<B: Backend>(connections: &Arc<Connections<B>>) -> io::Result<()> {
    let epoll = Arc::clone(&connections.lot.epoll);
    let connections = Arc::downgrade(connections);
    let lost = "and silent clients are not heard any more";
    service::start("cohort-lot", lost, move || attend(&epoll, &connections))?;
    Ok(())
}

fn attend<B: Backend>(epoll: &OwnedFd, connections: &Weak<Connections<B>>) {
    let mut events = Vec::with_capacity(EVENTS);
    let mut sweep = Instant::now() + SWEEP;
    loop {
        let left = sweep.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let waited = epoll::wait(epoll, spare_capacity(&mut events), Some(&timeout));
        let Some(connections) = connections.upgrade() else {
            return;
        };
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                notice!(Notice::WaitFailed, "epoll: {error}");
                thread::sleep(SWEEP);
            }
        }
        let now = Instant::now();
        let backend = &connections.shared.backend;
        let ready = events.drain(..).filter_map(|event| {
            let parked = connections.lot.take(event.data.u64())?;
            connections.statements.client_speaks(parked.since);
            if !parked.client.connection.is_logging_in() {
                backend.note_client_wait(now.duration_since(parked.since));
            }
            Some(parked.client)
        });
        connections.submit(ready);
        if now >= sweep {
            sweep = now + SWEEP;
            let expired = connections.lot.take_expired(now).into_iter();
            connections.submit(expired.map(|parked| parked.client));
            connections.look_into_lobby();
            connections.shared.backend.look();
        }
    }
}

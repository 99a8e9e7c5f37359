//! A thread of the generator, and its share of the clients.

use super::{
    arrivals::Arrivals,
    client::{Client, Failure},
    run::{Plan, Run},
    tally::Tally,
};
use crate::lab::{
    interrupt,
    target::Endpoint,
    workload::{Statement, Workload},
};
use cohort_mysql::{
    client::wire::{Outcome, put_command},
    constants::command,
    packet::Writer,
};
use rustix::{
    event::{Timespec, epoll},
    fd::OwnedFd,
    io::Errno,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create,
        timerfd_settime,
    },
};
use std::{
    io,
    mem::MaybeUninit,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Events taken from the kernel at once.
const EVENTS: usize = 512;
/// What one read may bring; the longest result is shorter.
const BUFFER: usize = 64 << 10;
/// The timer, among the numbers of clients.
const TIMER: u64 = u64::MAX;
/// How long clients may take to end their last statement.
const SETTLE: Duration = Duration::from_secs(60);
/// How long a login or the preparation of statements may take.
const GET_READY: Duration = Duration::from_secs(120);
/// The server cannot prepare this statement.
const CANNOT_PREPARE: u16 = 1295;

/// What becomes of a client whose login or command has ended.
pub trait Script {
    /// It has ended so.
    fn ended(
        &mut self,
        number: usize,
        client: &mut Client,
        outcome: Outcome,
        out: &mut Writer,
    ) -> Result<(), Failure>;
}

/// Clients on one thread.
pub struct Worker {
    endpoint: Endpoint,
    epoll: OwnedFd,
    /// Wakes an open loop in time: waiting for events is precise to milliseconds only.
    timer: OwnedFd,
    buffer: Box<[u8]>,
    out: Writer,
    clients: Vec<Client>,
    seed: u64,
}

impl Worker {
    /// A worker without clients.
    pub fn new(endpoint: Endpoint, seed: u64) -> io::Result<Worker> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
        // Edge-triggered: that it has expired need not be read away.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &timer, epoll::EventData::new_u64(TIMER), flags)?;
        Ok(Worker {
            endpoint,
            epoll,
            timer,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            out: Writer::new(),
            clients: Vec::new(),
            seed,
        })
    }

    /// Waits until something happens, and has `script` go on with whatever ended.
    fn turn(&mut self, wait: Duration, script: &mut impl Script) -> Result<(), Failure> {
        interrupt::check()?;
        let wait = wait.min(interrupt::LOOK);
        let timeout = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let mut space = [const { MaybeUninit::uninit() }; EVENTS];
        let events = match epoll::wait(&self.epoll, &mut space[..], Some(&timeout)) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(format!("epoll: {error}")),
        };
        for event in events {
            let data = event.data;
            let number = usize::try_from(data.u64()).unwrap_or(usize::MAX);
            let Some(client) = self.clients.get_mut(number) else {
                continue;
            };
            let ended = client.receive(&mut self.buffer, &self.endpoint, &mut self.out)?;
            if let Some(outcome) = ended {
                script.ended(number, client, outcome, &mut self.out)?;
            }
        }
        Ok(())
    }

    /// Opens `count` connections, at most `at_once` logging in at a time.
    pub fn open(
        &mut self,
        count: usize,
        at_once: usize,
        opened: &AtomicU64,
    ) -> Result<(), Failure> {
        let mut logins = Logins { opened, done: 0 };
        let mut until = Instant::now() + GET_READY;
        while logins.done < count {
            let before = logins.done;
            while self.clients.len() < count && self.clients.len() - logins.done < at_once {
                if !self.connect()? {
                    break;
                }
            }
            self.turn(Duration::from_millis(100), &mut logins)?;
            if logins.done > before {
                until = Instant::now() + GET_READY;
            } else if Instant::now() > until {
                return Err(format!("no login for {} s", GET_READY.as_secs()));
            }
        }
        Ok(())
    }

    /// Begins one connection; false if that must wait.
    fn connect(&mut self) -> Result<bool, Failure> {
        let stream = match self.endpoint.address.begin_to_connect() {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(format!("cannot connect: {error}")),
        };
        let number = epoll::EventData::new_u64(self.clients.len() as u64);
        let client = Client::new(stream);
        epoll::add(&self.epoll, client.stream(), number, epoll::EventFlags::IN)
            .map_err(|error| format!("epoll: {error}"))?;
        self.clients.push(client);
        Ok(true)
    }

    /// Prepares a workload's statements on every connection.
    pub fn prepare(&mut self, workload: &Workload) -> Result<(), Failure> {
        let mut preparing = Preparing {
            kinds: workload.kinds().collect(),
            left: self.clients.len(),
        };
        for client in &mut self.clients {
            client.step = 0;
            preparing.next(client, &mut self.out)?;
        }
        let until = Instant::now() + GET_READY;
        while preparing.left > 0 {
            self.turn(Duration::from_millis(100), &mut preparing)?;
            if Instant::now() > until {
                return Err(format!(
                    "statements not prepared after {} s",
                    GET_READY.as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Has every client execute a statement, as text.
    pub fn say(&mut self, sql: &str) -> Result<(), Failure> {
        let mut saying = Saying {
            left: self.clients.len(),
        };
        for client in &mut self.clients {
            put_command(&mut self.out, command::QUERY, sql.as_bytes());
            client.query(&mut self.out)?;
        }
        let until = Instant::now() + GET_READY;
        while saying.left > 0 {
            self.turn(Duration::from_millis(100), &mut saying)?;
            if Instant::now() > until {
                return Err(format!("{sql}: no reply after {} s", GET_READY.as_secs()));
            }
        }
        Ok(())
    }

    /// Runs a workload from `start` on; the rate of its plan is this worker's.
    pub fn run(&mut self, plan: Plan, start: Instant) -> Result<Tally, Failure> {
        self.seed = self.seed.wrapping_add(1 << 20);
        let arrivals = plan
            .rate
            .map(|rate| Arrivals::new(rate, start, self.clients.len(), !self.seed));
        let mut run = Run::new(plan, arrivals, self.clients.len(), self.seed);
        for client in &mut self.clients {
            client.events = 0;
        }
        if plan.each.is_some() {
            // All of a fixed load counts.
            thread::sleep(start.saturating_duration_since(Instant::now()));
            run.measure(Instant::now());
        }
        if run.arrivals.is_none() {
            for client in &mut self.clients {
                run.begin(client, Instant::now(), &mut self.out)?;
            }
        }
        let end = start + plan.warmup + plan.time;
        loop {
            let now = Instant::now();
            if now >= start + plan.warmup {
                run.measure(now);
            }
            if now >= end || run.left == 0 {
                return Ok(run.close(&self.clients));
            }
            let boundary = if now < start + plan.warmup {
                start + plan.warmup
            } else {
                end
            };
            if run.arrivals.is_some() {
                self.release(&mut run, now)?;
            }
            self.turn(boundary - now, &mut run)?;
        }
    }

    /// Begins what is due, and sets the timer for what comes next.
    fn release(&mut self, run: &mut Run, now: Instant) -> Result<(), Failure> {
        while let Some((due, number)) = run.arrivals.as_mut().and_then(|a| a.take(now)) {
            if let Some(client) = self.clients.get_mut(number) {
                run.begin(client, due, &mut self.out)?;
            }
        }
        let Some(next) = run.arrivals.as_ref().map(Arrivals::next) else {
            return Ok(());
        };
        // Zero would disarm it.
        let wait = next
            .saturating_duration_since(Instant::now())
            .max(Duration::from_nanos(1));
        let value = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        };
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value: value,
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &once)
            .map(|_| ())
            .map_err(|error| format!("timer: {error}"))
    }

    /// Lets every client end its statement, roll its transaction back, and forget what it has
    /// prepared.
    pub fn settle(&mut self, workload: &Workload) -> Result<(), Failure> {
        let busy = self.clients.iter().filter(|client| !client.is_idle());
        let mut settling = Settling {
            in_transaction: workload.statements.contains(&Statement::Commit),
            left: busy.count(),
        };
        let until = Instant::now() + SETTLE;
        while settling.left > 0 {
            self.turn(Duration::from_millis(100), &mut settling)?;
            if Instant::now() > until {
                return Err(format!(
                    "{} clients still wait for a reply after {} s",
                    settling.left,
                    SETTLE.as_secs()
                ));
            }
        }
        for client in &mut self.clients {
            for id in client.prepared.iter_mut().filter_map(Option::take) {
                put_command(&mut self.out, command::STMT_CLOSE, &id.to_le_bytes());
            }
            client.send(&mut self.out)?;
        }
        Ok(())
    }
}

/// Logins under way.
struct Logins<'a> {
    opened: &'a AtomicU64,
    done: usize,
}

impl Script for Logins<'_> {
    fn ended(
        &mut self,
        _: usize,
        _: &mut Client,
        outcome: Outcome,
        _: &mut Writer,
    ) -> Result<(), Failure> {
        outcome.map_err(|error| error.to_string())?;
        self.done += 1;
        self.opened.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// One statement of each client under way.
struct Saying {
    left: usize,
}

impl Script for Saying {
    fn ended(
        &mut self,
        _: usize,
        _: &mut Client,
        outcome: Outcome,
        _: &mut Writer,
    ) -> Result<(), Failure> {
        outcome.map_err(|error| error.to_string())?;
        self.left -= 1;
        Ok(())
    }
}

/// Preparations under way; a client's step says which statement.
struct Preparing {
    kinds: Vec<Statement>,
    left: usize,
}

impl Preparing {
    fn next(&mut self, client: &mut Client, out: &mut Writer) -> Result<(), Failure> {
        let Some(kind) = self.kinds.get(client.step) else {
            self.left -= 1;
            return Ok(());
        };
        put_command(out, command::STMT_PREPARE, kind.sql().as_bytes());
        client.prepare(out)
    }
}

impl Script for Preparing {
    fn ended(
        &mut self,
        _: usize,
        client: &mut Client,
        outcome: Outcome,
        out: &mut Writer,
    ) -> Result<(), Failure> {
        let kind = self.kinds[client.step];
        client.prepared[kind as usize] = match outcome {
            Ok(id) => Some(id),
            Err(error) if error.code == CANNOT_PREPARE => None,
            Err(error) => return Err(format!("{}: {error}", kind.sql())),
        };
        client.step += 1;
        self.next(client, out)
    }
}

/// The end of a workload: of those who were busy.
struct Settling {
    in_transaction: bool,
    left: usize,
}

/// The step of a client that rolls back.
const ROLLBACK: usize = usize::MAX;

impl Script for Settling {
    fn ended(
        &mut self,
        _: usize,
        client: &mut Client,
        _: Outcome,
        out: &mut Writer,
    ) -> Result<(), Failure> {
        // Whether the last statement succeeded is no matter any more.
        if !self.in_transaction || client.step == ROLLBACK {
            self.left -= 1;
            return Ok(());
        }
        client.step = ROLLBACK;
        put_command(out, command::QUERY, b"ROLLBACK");
        client.query(out)
    }
}

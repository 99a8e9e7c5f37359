//! The tables in another server, or in a cluster: a connection to one of several hosts.
//!
//! One that fails is left for the next. What was under way is lost with it, and the caller told so
//! ([`LOST`]): it runs the whole transaction again. A COMMIT that is not answered may have been
//! obeyed. To know, each transaction of a writer counts its coordinator's beat up by one, so the
//! beat tells; and before it is believed that nothing was written, it is counted up by two, which
//! the silent COMMIT, wherever it may still be on its way, can not survive: both change one row,
//! and each names the beat that it found.

use super::{
    connection::{Answer, Committed, Connection, LOST, TOO_LARGE, UNREACHABLE},
    leases,
    place::Place,
    schema,
};
use cohort_coordinator_core::outside::Seen;
use cohort_engine::{env::Env, types::Value};
use cohort_mysql::{
    client::{Client, Error, tls::Tls, url::split},
    constants::capability,
    stream::Stream,
};
use cohort_sql::SqlError;
use rustc_hash::FxHashMap;
use std::{
    net::{TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// Connecting to one address may take so long.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// An answer may take so long. A Galera cluster that has lost a node is silent for five seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(8);
/// While no host can be reached, callers wait so long; after that each is told at once.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between rounds through the hosts: so long at first, and at most.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// So often it is asked what became of a commit, before it stays unknown for now.
const INQUIRIES: usize = 5;
/// What a session that writes is told besides. It is never silent for long: if it is gone, so are its
/// locks.
const GREETING_OF_WRITER: &str = "SET SESSION wait_timeout = 20";

/// What the connections of a coordinator share.
pub(super) struct Shared {
    pub place: Place,
    /// How connections are encrypted, if they are.
    pub tls: Option<Tls>,
    pub env: Env,
    /// What people call this coordinator.
    pub name: String,
    /// Its number; 0: it has none yet.
    pub id: AtomicU64,
}

/// A connection.
pub(super) struct Remote {
    shared: Arc<Shared>,
    /// Which host is used, or will be.
    host: usize,
    client: Option<Client>,
    statements: FxHashMap<String, u32>,
    /// Since when no host can be reached.
    outage: Option<Instant>,
    /// Not before then they are tried again.
    pause_until: Option<Instant>,
    /// The server takes no larger packet. It closes the connection when one comes.
    packet_bytes_max: usize,
    is_writer: bool,
    in_transaction: bool,
    /// Of a writer, once it has begun a transaction.
    me: Option<Seen>,
    /// Nobody knows yet whether the last transaction was committed.
    is_doubtful: bool,
}

fn lost(why: impl std::fmt::Display) -> SqlError {
    SqlError {
        code: LOST,
        ..SqlError::unknown_error(format_args!("the store's connection is lost: {why}"))
    }
}

/// What has so many bytes of values will never be taken.
fn too_large(bytes: usize, most: usize) -> SqlError {
    server_error(
        TOO_LARGE,
        format!("a row of {bytes} bytes; the store's max_allowed_packet is {most}"),
    )
}

/// What a value has in a packet, or more; numbers and times are small.
fn bytes_of(value: &Value) -> usize {
    const SMALL: usize = 16;
    match value {
        Value::Bytes(bytes) => bytes.len() + SMALL,
        _ => SMALL,
    }
}

fn unreachable(why: impl std::fmt::Display) -> SqlError {
    SqlError {
        code: UNREACHABLE,
        ..SqlError::unknown_error(format_args!("the store cannot be reached: {why}"))
    }
}

/// Whether a server says that another one must be asked: it is not ready (a node of Galera outside
/// of its cluster), stops, is full, may only be read, or has ended the session.
fn is_elsewhere(code: u16) -> bool {
    const NOT_READY: [u16; 3] = [1047, 1053, 3032];
    const FULL: [u16; 3] = [1040, 1129, 1203];
    const READ_ONLY: [u16; 2] = [1290, 1836];
    // 1180: a commit that was cut short.
    const ENDED: [u16; 11] = [
        1152, 1158, 1159, 1160, 1161, 1180, 1184, 1317, 1927, 3169, 4031,
    ];
    let all = [&NOT_READY[..], &FULL, &READ_ONLY, &ENDED];
    all.iter().any(|codes| codes.contains(&code))
}

impl Remote {
    pub fn reader(shared: &Arc<Shared>) -> Remote {
        Remote {
            is_writer: false,
            shared: Arc::clone(shared),
            host: 0,
            client: None,
            statements: FxHashMap::default(),
            outage: None,
            pause_until: None,
            packet_bytes_max: usize::MAX,
            in_transaction: false,
            me: None,
            is_doubtful: false,
        }
    }

    /// There is one: its transactions count the beat.
    pub fn writer(shared: &Arc<Shared>) -> Remote {
        Remote {
            is_writer: true,
            ..Remote::reader(shared)
        }
    }

    /// Gives the connection up, and with it what was prepared on it.
    fn disconnect(&mut self) {
        self.client = None;
        self.statements.clear();
    }

    /// Leaves this host for the next.
    fn leave_host(&mut self) {
        self.disconnect();
        self.host = (self.host + 1) % self.shared.place.hosts.len();
    }

    /// Tries all hosts, round after round until patience ends.
    fn reconnect(&mut self) -> Result<Client, SqlError> {
        let begun = *self.outage.get_or_insert_with(Instant::now);
        if self.pause_until.is_some_and(|until| Instant::now() < until) {
            return Err(unreachable("no server answers"));
        }
        let mut pause = PAUSE;
        loop {
            let mut error = String::new();
            for _ in 0..self.shared.place.hosts.len() {
                match self.connect() {
                    Ok((client, packet_bytes_max)) => {
                        self.packet_bytes_max = packet_bytes_max;
                        self.outage = None;
                        self.pause_until = None;
                        return Ok(client);
                    }
                    Err(why) => error = why,
                }
                self.leave_host();
            }
            if begun.elapsed() + pause > PATIENCE {
                self.pause_until = Some(Instant::now() + PAUSE_MAX);
                return Err(unreachable(error));
            }
            thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// Connects to this host, logs in and enters the schema; how large a packet may be there; why that
    /// did not work.
    fn connect(&self) -> Result<(Client, usize), String> {
        let place = &self.shared.place;
        let host = place.hosts.get(self.host).map_or("", String::as_str);
        let wrong = |error: &dyn std::fmt::Display| format!("{host}: {error}");
        let addresses = host.to_socket_addrs().map_err(|e| wrong(&e))?;
        let mut found = Err(format!("{host}: no address"));
        for address in addresses {
            found = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).map_err(|e| wrong(&e));
            if found.is_ok() {
                break;
            }
        }
        let stream = found?;
        stream.set_nodelay(true).map_err(|e| wrong(&e))?;
        stream
            .set_read_timeout(Some(ANSWER_TIMEOUT))
            .map_err(|e| wrong(&e))?;
        let (account, extra) = (&place.account, capability::FOUND_ROWS);
        let mut client = match &self.shared.tls {
            None => Client::log_in(Stream::from(stream), account, extra),
            Some(tls) => Client::log_in_securely(stream, (tls, split(host).0), account, extra),
        }
        .map_err(|e| wrong(&e))?;
        client
            .set_answer_timeout(Some(ANSWER_TIMEOUT))
            .map_err(|e| wrong(&e))?;
        let code = |error: &Error| match error {
            Error::Server(error) => Some(error.code),
            _ => None,
        };
        schema::settle(|sql| client.execute(sql).map(drop), code).map_err(|e| wrong(&e))?;
        let told = client.execute(schema::IMPATIENTLY);
        told.map_err(|e| wrong(&e))?;
        if self.is_writer {
            client.execute(GREETING_OF_WRITER).map_err(|e| wrong(&e))?;
        }
        let entered = schema::enter(&place.schema, |sql| match client.execute(sql) {
            Err(Error::Server(error)) => Err(server_error(error.code, error.message)),
            other => other.map(|_| ()).map_err(lost),
        });
        entered.map_err(|error| wrong(&error.message))?;
        let most = client.variable("max_allowed_packet");
        let most = most.map_err(|e| wrong(&e))?;
        let most = most.and_then(|most| most.parse().ok());
        Ok((client, most.unwrap_or(usize::MAX)))
    }

    /// Runs something on the connection; leaves it if it is broken, or another host is needed.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Client, &mut FxHashMap<String, u32>) -> Result<T, Error>,
    ) -> Result<T, SqlError> {
        let client = match &mut self.client {
            Some(client) => client,
            None if self.in_transaction => return Err(lost("within a transaction")),
            None => {
                let client = self.reconnect()?;
                self.client.insert(client)
            }
        };
        match work(client, &mut self.statements) {
            Ok(done) => Ok(done),
            Err(Error::Server(error)) if !is_elsewhere(error.code) => {
                Err(server_error(error.code, error.message))
            }
            Err(error) => {
                self.leave_host();
                Err(lost(error))
            }
        }
    }

    fn text(&mut self, sql: &str) -> Result<(), SqlError> {
        self.attempt(|client, _| client.execute(sql).map(|_| ()))
    }

    /// Counts the beat up, under a new number if the old one is no more.
    fn beat(&mut self) -> Result<(), SqlError> {
        if let Some(me) = self.me
            && leases::beat(self, me)?
        {
            return Ok(());
        }
        self.rollback();
        let me = Seen {
            id: self.draw(),
            beat: 0,
        };
        let name = self.shared.name.clone();
        leases::register(self, me.id, &name)?;
        self.me = Some(me);
        self.shared.id.store(me.id, Ordering::Relaxed);
        self.text("BEGIN")?;
        self.in_transaction = true;
        match leases::beat(self, me)? {
            true => Ok(()),
            false => Err(lost("its new row is gone")),
        }
    }

    /// A number that no other coordinator has.
    fn draw(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without randomness the time must do.
        let drawn = self.shared.env.random(&mut bytes);
        let number = match drawn {
            Ok(()) => u64::from_le_bytes(bytes),
            Err(_) => self.shared.env.wall_micros(),
        };
        // Positive in whatever reads it as signed, and not 0.
        number >> 1 | 1
    }

    /// Finds out whether the last transaction was committed, and makes sure that it stays so.
    fn inquire(&mut self) -> Result<bool, SqlError> {
        let Some(me) = self.me else {
            return Ok(false);
        };
        let mut error = unreachable("what became of a commit is not known");
        for _ in 0..INQUIRIES {
            match self.overtaken(me) {
                Ok(Some(was_committed)) => {
                    self.is_doubtful = false;
                    return Ok(was_committed);
                }
                Ok(None) => {}
                Err(failed) if failed.code == UNREACHABLE => {
                    error = failed;
                    break;
                }
                // A lock that the lost connection still holds, or the next lost connection.
                Err(_) => {}
            }
        }
        Err(error)
    }

    /// `None`: not known yet.
    fn overtaken(&mut self, me: Seen) -> Result<Option<bool>, SqlError> {
        // A single statement is a transaction of its own: it is done, or its answer was lost.
        if leases::overtake(self, me)? {
            self.me = Some(Seen {
                beat: me.beat + 2,
                ..me
            });
            return Ok(Some(false));
        }
        let found = leases::beat_of(self, me.id)?;
        self.me = found.map(|beat| Seen { beat, ..me });
        Ok(match found {
            Some(beat) if beat == me.beat + 1 => Some(true),
            Some(beat) if beat == me.beat + 2 => Some(false),
            // Rows are removed a day after the death: nobody waits for that commit any more.
            None => Some(false),
            Some(_) => {
                self.me = Some(me);
                None
            }
        })
    }
}

fn server_error(code: u16, message: String) -> SqlError {
    SqlError {
        code,
        message,
        ..SqlError::unknown_error("")
    }
}

impl Connection for Remote {
    fn owner(&self) -> u64 {
        self.shared.id.load(Ordering::Relaxed)
    }

    fn run(&mut self, sql: &str, params: &[Value]) -> Result<Answer, SqlError> {
        let bytes: usize = params.iter().map(bytes_of).sum();
        let execute = |remote: &mut Remote| {
            let most = remote.packet_bytes_max;
            if bytes + sql.len() > most {
                return Err(too_large(bytes, most));
            }
            remote.attempt(|client, statements| {
                let id = match statements.get(sql) {
                    Some(id) => *id,
                    None => {
                        let id = client.prepare(sql)?;
                        statements.insert(sql.to_owned(), id);
                        id
                    }
                };
                let (rows, affected) = client.run(id, params)?;
                Ok(Answer { rows, affected })
            })
        };
        let tries = if self.in_transaction {
            0
        } else {
            self.shared.place.hosts.len()
        };
        for _ in 0..tries {
            match execute(self) {
                // It only reads, or may be done twice.
                Err(error) if error.code == LOST => {}
                other => return other,
            }
        }
        execute(self)
    }

    /// Sent once: the server may go on with one whose connection is lost.
    fn run_long(&mut self, sql: &str) -> Result<(), SqlError> {
        self.attempt(|client, _| {
            client.set_answer_timeout(None)?;
            client.execute(sql)?;
            client.set_answer_timeout(Some(ANSWER_TIMEOUT))?;
            Ok(())
        })
    }

    fn begin(&mut self) -> Result<(), SqlError> {
        if self.is_doubtful {
            self.inquire()?;
        }
        self.text("BEGIN")?;
        self.in_transaction = true;
        self.beat()
    }

    fn commit(&mut self) -> Result<Committed, SqlError> {
        let committed = self.text("COMMIT");
        self.in_transaction = false;
        match committed {
            Ok(()) => {
                if let Some(me) = &mut self.me {
                    me.beat += 1;
                }
                Ok(Committed::Durable)
            }
            // Another transaction was faster: a cluster says so only now.
            // So does a lock of all tables. It must not become part of the next.
            Err(error) if matches!(error.code, 1213 | 1205) => {
                self.in_transaction = true;
                self.rollback();
                Err(error)
            }
            Err(error) => {
                self.is_doubtful = true;
                // It may still be within the transaction.
                self.disconnect();
                match self.inquire()? {
                    true => Ok(Committed::Durable),
                    false => Err(lost(error.message)),
                }
            }
        }
    }

    fn rollback(&mut self) {
        let was_open = std::mem::take(&mut self.in_transaction) && self.client.is_some();
        if was_open && self.text("ROLLBACK").is_err() {
            // What may be open must not become part of the next.
            self.disconnect();
        }
    }
}

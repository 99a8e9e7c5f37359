//! The connection to the source: made again, for ever, when it is lost. What comes is put into the
//! pipe.

use super::{
    pipe::{Item, Pipe},
    reach::reach,
    source::Source,
    status::Status,
};
use cohort_engine::log::incoming::{Incoming, What};
use cohort_mysql::{
    client::{
        Client, Error,
        follow::{Follower, From},
        login::Account,
        tls::{Demand, Mode, Tls},
    },
    semi_sync,
    stream::Stream,
};
use cohort_process::{Notice, notice};
use cohort_sql::{Instance, SqlError};
use std::{
    net::ToSocketAddrs,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long connecting, and an answer, may take.
const ANSWER: Duration = Duration::from_secs(10);
/// The first pause after a lost connection; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(500);
/// What was read at once goes into the pipe when it is so large.
const TOGETHER: usize = 256 << 10;

/// Who this server is, to its source.
#[derive(Clone)]
pub struct Who {
    /// server_id.
    pub server_id: u32,
    /// server_uuid.
    pub uuid: String,
    /// port.
    pub port: u16,
}

/// How events come.
#[derive(Clone, Copy)]
struct Manner {
    /// With checksums.
    sums: bool,
    /// With the question, for some, whether they are here (semi-synchronous replication).
    asked: bool,
}

/// The receiver.
pub struct Receiver {
    instance: Arc<Instance>,
    source: Source,
    who: Who,
    tls: Option<Tls>,
    pipe: Arc<Pipe>,
    status: Arc<Status>,
}

/// Why receiving has ended.
enum End {
    /// The pipe is closed.
    Closed,
    /// The connection is lost; it may come back.
    Lost(u16, String),
    /// An event is damaged: on its way, or where it lies.
    Damaged(String),
    /// The source will never send what is wanted.
    Final(u16, String),
}

impl std::convert::From<Error> for End {
    fn from(error: Error) -> End {
        /// Fatal error while reading the binary log; the account may not.
        const FINAL: [u16; 3] = [1236, 1227, 1142];
        match error {
            Error::Server(error) if FINAL.contains(&error.code) => {
                End::Final(error.code, error.to_string())
            }
            Error::Server(error) => End::Lost(error.code, error.to_string()),
            Error::Broken(text) => End::Lost(NET_ERROR, text),
        }
    }
}

/// CR_SERVER_LOST: the number of the errors that no server has told.
const NET_ERROR: u16 = 2013;
/// A damaged event is asked for so often.
const DAMAGED_MAX: u32 = 3;
/// ER_NETWORK_READ_EVENT_CHECKSUM_FAILURE, as MySQL called it.
const DAMAGED: u16 = 1743;
/// ER_REPLICA_FATAL_ERROR.
const FATAL: u16 = 13117;

impl Receiver {
    /// Reads the certificates that the source must fit.
    pub fn new(
        instance: &Arc<Instance>,
        source: &Source,
        who: &Who,
        pipe: &Arc<Pipe>,
        status: &Arc<Status>,
    ) -> Result<Receiver, SqlError> {
        let authority = (!source.ssl_ca.is_empty()).then(|| source.ssl_ca.clone().into());
        let mode = match (source.ssl_verify, &authority) {
            (true, _) => Mode::VerifyIdentity,
            (false, Some(_)) => Mode::VerifyCa,
            (false, None) => Mode::Required,
        };
        let tls = source.ssl.then(|| Tls::load(&Demand { mode, authority }));
        let tls = tls.transpose().map_err(SqlError::unknown_error)?;
        Ok(Receiver {
            instance: Arc::clone(instance),
            source: source.clone(),
            who: who.clone(),
            tls,
            pipe: Arc::clone(pipe),
            status: Arc::clone(status),
        })
    }

    /// The thread.
    pub fn run(self) {
        let (mut pause, mut failures) = (PAUSE, 0);
        let mut damage = (String::new(), 0);
        loop {
            // What was received before is applied first: then it is known where to go on.
            let mut connected = false;
            let end = self.follow(&mut connected);
            if self.pipe.is_closed() {
                return self.status.receiver_stopped();
            }
            match end {
                End::Closed => return self.status.receiver_stopped(),
                End::Final(code, text) => return self.give_up(code, text),
                End::Damaged(text) => {
                    // It is asked for again. What is damaged where it lies comes again as it is.
                    damage = match damage {
                        (before, times) if before == text => (text.clone(), times + 1),
                        _ => (text.clone(), 1),
                    };
                    if damage.1 >= DAMAGED_MAX {
                        return self.give_up(DAMAGED, text);
                    }
                    notice!(Notice::EventDamaged, "{text}; it is asked for again");
                    self.status.reconnecting((DAMAGED, text));
                }
                End::Lost(code, text) => {
                    if connected {
                        (pause, failures) = (PAUSE, 0);
                        notice!(Notice::SourceLost, "lost the source: {text}");
                    }
                    failures += 1;
                    if self.source.retry_count > 0 && failures >= self.source.retry_count {
                        return self.give_up(code, text);
                    }
                    self.status.reconnecting((code, text));
                }
            }
            if self.pipe.pause(pause) {
                return self.status.receiver_stopped();
            }
            pause = (pause * 2).min(Duration::from_secs(self.source.retry_seconds));
        }
    }

    fn give_up(&self, code: u16, text: String) {
        notice!(
            Notice::ReceiverEnded,
            "not following the source any more: {text}"
        );
        self.status.receiver_ended((code, text));
    }

    /// Connects and receives until that ends.
    fn follow(&self, connected: &mut bool) -> End {
        let mut client = match self.connect() {
            Ok(client) => client,
            Err(end) => return end,
        };
        if !self.pipe.put([Item::Again], 0) || !self.pipe.drain() {
            return End::Closed;
        }
        let manner = match self.introduce(&mut client) {
            Ok(manner) => manner,
            Err(end) => return end,
        };
        *connected = true;
        self.receive(&mut client, manner)
    }

    fn connect(&self) -> Result<Client, End> {
        let Source { host, port, .. } = &self.source;
        let lost = |error: &dyn std::fmt::Display| {
            End::Lost(2003, format!("cannot connect to {host}:{port}: {error}"))
        };
        let addresses = (host.as_str(), *port).to_socket_addrs();
        let mut stream = Err(lost(&"no address"));
        for address in addresses.map_err(|error| lost(&error))? {
            let is_wanted = || !self.pipe.is_closed();
            stream = reach(address, ANSWER, is_wanted).map_err(|error| lost(&error));
            if stream.is_ok() || !is_wanted() {
                break;
            }
        }
        let stream = stream?;
        let prepared = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(ANSWER)));
        prepared.map_err(|error| lost(&error))?;
        let handle = stream.try_clone().map_err(|error| lost(&error))?;
        if !self.pipe.filled_by(handle) {
            return Err(End::Closed);
        }
        let account = Account {
            user: self.source.user.clone(),
            password: self.source.password.clone(),
            trusts_key: self.source.get_public_key,
            ..Account::default()
        };
        let client = match &self.tls {
            None => Client::log_in(Stream::from(stream), &account, 0),
            Some(tls) => Client::log_in_securely(stream, (tls, host), &account, 0),
        };
        Ok(client?)
    }

    /// Finds out who the source is, tells it who follows, and asks for the log.
    fn introduce(&self, client: &mut Client) -> Result<Manner, End> {
        client
            .set_answer_timeout(Some(ANSWER))
            .map_err(Error::from)?;
        let maria = client.version.contains("MariaDB");
        let server_id = client.variable("server_id")?;
        let Some(server_id) = server_id.and_then(|id| id.parse().ok()) else {
            return Err(End::Final(
                FATAL,
                "the source does not tell its server_id".into(),
            ));
        };
        // A MariaDB server has no server_uuid.
        let uuid = client.variable("server_uuid")?.unwrap_or_default();
        self.check_source(maria, server_id, &uuid, client)?;
        let seconds = client.value("SELECT UNIX_TIMESTAMP()")?;
        let seconds: i64 = seconds.and_then(|text| text.parse().ok()).unwrap_or(0);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(seconds, |now| now.as_secs().cast_signed());
        let checksum = client.variable("binlog_checksum")?;
        let sums = checksum.is_some_and(|kind| kind.eq_ignore_ascii_case("CRC32"));
        let checksum = if sums { "CRC32" } else { "NONE" };
        let nanos = self.source.heartbeat_ms * 1_000_000;
        let uuid_of_this = &self.who.uuid;
        for (names, value) in [
            (
                ["source_binlog_checksum", "master_binlog_checksum"],
                format!("'{checksum}'"),
            ),
            (
                ["source_heartbeat_period", "master_heartbeat_period"],
                nanos.to_string(),
            ),
            (["replica_uuid", "slave_uuid"], format!("'{uuid_of_this}'")),
        ] {
            for name in names {
                client.execute(&format!("SET @{name} = {value}"))?;
            }
        }
        if maria {
            // It knows GTIDs and checksums as MariaDB writes them.
            client.execute("SET @mariadb_slave_capability = 4")?;
        }
        let asked = self.answers(client)?;
        if asked {
            client.execute("SET @rpl_semi_sync_replica = 1, @rpl_semi_sync_slave = 1")?;
        }
        let who = Follower {
            server_id: self.who.server_id,
            port: self.who.port,
        };
        let from = self.place()?;
        notice!(
            Notice::Following,
            "following {}:{} ({}) {}",
            self.source.host,
            self.source.port,
            client.version,
            told(&from)
        );
        // Without a sign of life it is lost.
        let patience = Duration::from_millis(self.source.heartbeat_ms * 2).max(ANSWER);
        let patience = (nanos > 0).then_some(patience);
        client.set_answer_timeout(patience).map_err(Error::from)?;
        client.follow(&who, &from)?;
        let ahead = seconds - now;
        self.status.connected(server_id, &uuid, ahead, asked);
        Ok(Manner { sums, asked })
    }

    /// Whether this replica says what it has. One that waits before it applies does not.
    fn answers(&self, client: &mut Client) -> Result<bool, End> {
        let values = self.instance.globals.values();
        let is_wanted = values.number("rpl_semi_sync_replica_enabled") != 0;
        if !is_wanted || self.source.delay_seconds > 0 {
            return Ok(false);
        }
        for name in ["source", "master"] {
            let variable = format!("rpl_semi_sync_{name}_enabled");
            if client.variable(&variable)?.is_some() {
                return Ok(true);
            }
        }
        notice!(
            Notice::SourceNotSemiSync,
            "the source knows no semi-synchronous replication"
        );
        Ok(false)
    }

    /// Whether this server can be a replica of that one.
    fn check_source(
        &self,
        maria: bool,
        server_id: u32,
        uuid: &str,
        client: &mut Client,
    ) -> Result<(), End> {
        let refused = |text: String| Err(End::Final(FATAL, text));
        if server_id == self.who.server_id {
            return refused(format!(
                "source and replica have equal MySQL server ids ({server_id}); these ids must be \
                 different for replication to work: start this server with --server-id"
            ));
        }
        if uuid == self.who.uuid {
            return refused(format!(
                "source and replica have equal MySQL server UUIDs ({uuid}); these UUIDs must be \
                 different for replication to work: was the data directory copied? Then remove \
                 its auto.cnf"
            ));
        }
        if maria && self.source.auto_position {
            return refused(
                "MariaDB's log is followed by file and position: SOURCE_AUTO_POSITION = 0".into(),
            );
        }
        let format = client.variable("binlog_format")?;
        if format
            .as_deref()
            .is_some_and(|format| format == "STATEMENT")
        {
            return refused("the source logs statements: set binlog_format = ROW there".into());
        }
        if client.variable("log_bin")?.as_deref() == Some("OFF") {
            return refused("the source has no binary log: start it with --log-bin".into());
        }
        Ok(())
    }

    /// Where to go on.
    fn place(&self) -> Result<From, End> {
        let log = self.instance.engine.log();
        if self.source.auto_position {
            return Ok(From::Without(log.executed()));
        }
        let kept = log.source_position();
        let kept = kept.and_then(|kept| self.source.read_position(&kept));
        let begins = (self.source.file.clone(), self.source.position.into());
        let (file, position) = kept.unwrap_or(begins);
        let Ok(position) = u32::try_from(position) else {
            return Err(End::Final(
                FATAL,
                format!(
                    "position {position} of {file} cannot be asked for: the protocol ends at 4 GiB"
                ),
            ));
        };
        let position = position.max(4);
        Ok(From::At { file, position })
    }

    fn receive(&self, client: &mut Client, manner: Manner) -> End {
        let mut sums = manner.sums;
        let (mut file, mut position) = (String::new(), 0);
        let (mut items, mut bytes) = (Vec::new(), 0);
        loop {
            let event = match client.event() {
                Ok(Some(event)) => event,
                Ok(None) => return End::Lost(NET_ERROR, "the source has ended its log".into()),
                Err(error) => return error.into(),
            };
            let (answer, event) = match manner.asked {
                false => (false, event),
                true => match semi_sync::parse_head(event) {
                    Some(parsed) => parsed,
                    None => return malformed("an event does not say whether to answer it"),
                },
            };
            let before = sums;
            let is_sign_of_life = match Incoming::parse(event, sums) {
                Ok(incoming) => {
                    if incoming.end > 0 {
                        position = u64::from(incoming.end);
                    }
                    match &incoming.what {
                        What::Gtid(origin) => self.status.retrieving(Some(*origin)),
                        What::Anonymous | What::MariaGtid { .. } => self.status.retrieving(None),
                        What::Xid | What::XaPrepare { .. } | What::Payload(_) => {
                            self.status.retrieved();
                        }
                        // All but this one ends a transaction, or is followed by what does.
                        What::Query(query) if query.text != b"BEGIN" => self.status.retrieved(),
                        What::Heartbeat => self.status.alive(),
                        What::Format { checksums, .. } => sums = *checksums,
                        What::Rotate {
                            file: next,
                            position: at,
                        } => (file, position) = (next.clone(), *at),
                        _ => {}
                    }
                    matches!(incoming.what, What::Heartbeat)
                }
                // It may be the network's: the applier has not seen it, and it is asked for again.
                Err(flaw) => {
                    return End::Damaged(format!(
                        "the event after position {position} of {file} of the source is damaged: \
                         {flaw}"
                    ));
                }
            };
            if !is_sign_of_life || answer {
                bytes += event.len();
                items.push(Item::Event(event.to_vec(), before));
            }
            // What has come with it is taken along.
            if client.has_more() && bytes < TOGETHER && !answer {
                continue;
            }
            if !items.is_empty() && !self.pipe.put(items.drain(..), std::mem::take(&mut bytes)) {
                return End::Closed;
            }
            self.status.received((&file, position), self.pipe.bytes());
            if answer {
                // When all of it is applied, and durable.
                if !self.pipe.drain() {
                    return End::Closed;
                }
                if let Err(error) = client.answer(&file, position) {
                    return error.into();
                }
            }
        }
    }
}

fn malformed(what: &str) -> End {
    End::Lost(NET_ERROR, what.to_owned())
}

fn told(from: &From) -> String {
    match from {
        From::Without(set) if set.is_empty() => "from its beginning".into(),
        From::Without(set) => format!("after {}", set.to_string().replace('\n', "")),
        From::At { file, .. } if file.is_empty() => "from its first file".into(),
        From::At { file, position } => format!("from position {position} of {file}"),
    }
}

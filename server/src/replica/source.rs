//! Where the source is and how it is followed: CHANGE REPLICATION SOURCE TO, kept in the data
//! directory.

use cohort_engine::{env::Env, types::Xid};
use cohort_sql::{FilterEntry, FilterRule, ReplicationFilter, SqlError};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The file in the data directory.
const FILE: &str = "replica.json";
/// It has a password.
const FILE_MODE: u32 = 0o600;

/// A source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Source {
    /// SOURCE_HOST.
    pub host: String,
    /// SOURCE_PORT.
    pub port: u16,
    /// SOURCE_USER.
    pub user: String,
    /// SOURCE_PASSWORD.
    pub password: String,
    /// SOURCE_AUTO_POSITION: by GTID.
    pub auto_position: bool,
    /// SOURCE_LOG_FILE: where it begins, if not by GTID; empty is the first file.
    pub file: String,
    /// SOURCE_LOG_POS.
    pub position: u32,
    /// When the place was said, in microseconds since 1970: what the log says of another place does
    /// not count.
    pub place: u64,
    /// SOURCE_CONNECT_RETRY, in seconds: the longest pause between attempts to connect.
    pub retry_seconds: u64,
    /// SOURCE_RETRY_COUNT; 0: for ever.
    pub retry_count: u64,
    /// SOURCE_DELAY, in seconds.
    pub delay_seconds: u64,
    /// SOURCE_HEARTBEAT_PERIOD, in milliseconds; 0: none.
    pub heartbeat_ms: u64,
    /// SOURCE_SSL.
    pub ssl: bool,
    /// SOURCE_SSL_CA.
    pub ssl_ca: String,
    /// SOURCE_SSL_VERIFY_SERVER_CERT.
    pub ssl_verify: bool,
    /// GET_SOURCE_PUBLIC_KEY.
    pub get_public_key: bool,
    /// CHANGE REPLICATION FILTER: the rules by their names.
    pub filters: BTreeMap<String, Vec<FilterEntry>>,
    /// Rows of its coordinator have come: its global transactions are here, and driven there.
    pub coordinated: bool,
    /// XA transactions that were prepared there, and of which nothing was made here.
    pub left_out: BTreeSet<String>,
    /// START REPLICA was said: it goes on when the server starts.
    pub runs: bool,
}

impl Default for Source {
    fn default() -> Source {
        Source {
            host: String::new(),
            port: 3306,
            user: String::new(),
            password: String::new(),
            auto_position: false,
            file: String::new(),
            position: 4,
            place: 0,
            retry_seconds: 60,
            retry_count: 0,
            delay_seconds: 0,
            heartbeat_ms: 30_000,
            ssl: false,
            ssl_ca: String::new(),
            ssl_verify: false,
            get_public_key: false,
            filters: BTreeMap::new(),
            coordinated: false,
            left_out: BTreeSet::new(),
            runs: false,
        }
    }
}

impl Source {
    /// Whether it can be followed.
    pub fn check(&self) -> Result<(), SqlError> {
        if self.host.is_empty() || self.user.is_empty() {
            return Err(SqlError::no_replica());
        }
        Ok(())
    }

    /// What of it is made here.
    pub fn filter(&self) -> ReplicationFilter {
        let mut filter = ReplicationFilter::default();
        for rule in FilterRule::ALL {
            let entries = self.filters.get(rule.name());
            filter.set(rule, entries.cloned().unwrap_or_default());
        }
        filter
    }

    /// A place in its log as this server's log keeps it.
    pub fn kept_position(&self, file: &str, position: u64) -> String {
        format!("{}:{position}:{file}", self.place)
    }

    /// Reads what `kept_position` makes; `None` if it is of another source.
    pub fn read_position(&self, text: &str) -> Option<(String, u64)> {
        let mut parts = text.splitn(3, ':');
        let place: u64 = parts.next()?.parse().ok()?;
        let position = parts.next()?.parse().ok()?;
        (place == self.place).then(|| Some((parts.next()?.to_owned(), position)))?
    }

    /// Takes one option.
    fn set(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let wrong = || SqlError::wrong_arguments(format!("SOURCE_{name}"));
        let number = |most: u64| {
            let number = value.parse().map_err(|_| wrong())?;
            match number <= most {
                true => Ok(number),
                false => Err(wrong()),
            }
        };
        let flag = || number(1).map(|number: u64| number == 1);
        match name {
            "HOST" => self.host = value.to_owned(),
            "PORT" => self.port = u16::try_from(number(65_535)?).map_err(|_| wrong())?,
            "USER" => self.user = value.to_owned(),
            "PASSWORD" => self.password = value.to_owned(),
            "LOG_FILE" => self.file = value.to_owned(),
            "LOG_POS" => {
                self.position = u32::try_from(number(u32::MAX.into())?).map_err(|_| wrong())?;
            }
            "AUTO_POSITION" => self.auto_position = flag()?,
            "CONNECT_RETRY" => self.retry_seconds = number(u32::MAX.into())?.max(1),
            "RETRY_COUNT" => self.retry_count = number(u64::MAX)?,
            "DELAY" => self.delay_seconds = number(i32::MAX as u64)?,
            "HEARTBEAT_PERIOD" => {
                let seconds: f64 = value.parse().map_err(|_| wrong())?;
                if !(0.0..=4_294_967.0).contains(&seconds) {
                    return Err(wrong());
                }
                self.heartbeat_ms = (seconds * 1000.0) as u64;
            }
            "SSL" => self.ssl = flag()?,
            "SSL_CA" => self.ssl_ca = value.to_owned(),
            "SSL_VERIFY_SERVER_CERT" => self.ssl_verify = flag()?,
            "PUBLIC_KEY" => self.get_public_key = flag()?,
            other => {
                return Err(SqlError::not_supported(format!(
                    "SOURCE_{other} in CHANGE REPLICATION SOURCE TO"
                )));
            }
        }
        Ok(())
    }
}

/// Why rows of the source's coordinator cannot come.
pub fn two_coordinators() -> SqlError {
    SqlError::unknown_error(
        "the source's coordinator drives global transactions, and so would the one of this server: \
         start with --coordinator off, or leave them out by CHANGE REPLICATION FILTER \
         REPLICATE_WILD_IGNORE_TABLE = ('cohort.%')",
    )
}

/// The source, and the file that keeps it.
pub struct Sources {
    path: PathBuf,
    env: Env,
    current: Mutex<Option<Source>>,
}

impl Sources {
    /// Reads the file, if there is one.
    pub fn open(directory: &Path, env: Env) -> Result<Sources, String> {
        let path = directory.join(FILE);
        let current = match fs::read(&path) {
            Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(|error| {
                format!(
                    "{}: {error}; remove the file and say CHANGE REPLICATION SOURCE TO again",
                    path.display()
                )
            })?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        Ok(Sources {
            path,
            env,
            current: Mutex::new(current),
        })
    }

    /// The source.
    pub fn current(&self) -> Option<Source> {
        self.current.lock().clone()
    }

    /// CHANGE REPLICATION SOURCE TO.
    pub fn change(&self, options: &[(String, String)]) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        let before = current.clone().unwrap_or_default();
        let mut source = before.clone();
        for (name, value) in options {
            source.set(name, value)?;
        }
        let given = |wanted: &[&str]| options.iter().any(|(name, _)| wanted.contains(&&**name));
        let moved = given(&["LOG_FILE", "LOG_POS"]);
        if moved && source.auto_position {
            return Err(SqlError::position_with_auto_position());
        }
        // Another server's files are other files.
        let elsewhere = (&source.host, source.port) != (&before.host, before.port);
        if elsewhere && !moved {
            (source.file, source.position) = (String::new(), Source::default().position);
        }
        if moved || elsewhere {
            source.place = self.now();
        }
        self.keep(&source)?;
        *current = Some(source);
        Ok(())
    }

    /// CHANGE REPLICATION FILTER.
    pub fn filter(&self, rules: &[(FilterRule, Vec<FilterEntry>)]) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        let source = current.as_mut().ok_or_else(SqlError::no_replica)?;
        for (rule, entries) in rules {
            source
                .filters
                .insert(rule.name().to_owned(), entries.clone());
        }
        self.keep(source)
    }

    /// Notes whether it is to be followed when the server starts.
    pub fn note_runs(&self, runs: bool) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        if let Some(source) = current.as_mut().filter(|source| source.runs != runs) {
            source.runs = runs;
            self.keep(source)?;
        }
        Ok(())
    }

    /// Notes that its coordinator's rows come here, before the first of them does.
    pub fn note_coordinated(&self) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        match current.as_mut().filter(|source| !source.coordinated) {
            Some(source) => {
                source.coordinated = true;
                self.keep(source)
            }
            None => Ok(()),
        }
    }

    /// Notes that of this XA transaction nothing was made, before its GTID says that it was here. The
    /// ends of those that had ended before are durable.
    pub fn note_left_out(&self, xid: &Xid, ended: &BTreeSet<String>) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        let Some(source) = current.as_mut() else {
            return Ok(());
        };
        source.left_out.retain(|xid| !ended.contains(xid));
        source.left_out.insert(xid.to_string());
        self.keep(source)
    }

    /// Whether that was noted.
    pub fn is_left_out(&self, xid: &str) -> bool {
        let current = self.current.lock();
        current
            .as_ref()
            .is_some_and(|source| source.left_out.contains(xid))
    }

    /// RESET REPLICA: the place in the log is forgotten, or all.
    pub fn reset(&self, all: bool) -> Result<(), SqlError> {
        let mut current = self.current.lock();
        let Some(source) = current.as_mut() else {
            return Ok(());
        };
        if all {
            let failed = |error: io::Error| SqlError::error_on_write(self.path.display(), error);
            fs::remove_file(&self.path).map_err(failed)?;
            *current = None;
            return Ok(());
        }
        (source.file, source.position) = (String::new(), Source::default().position);
        source.place = self.now();
        self.keep(source)
    }

    /// No earlier place was said at this moment.
    fn now(&self) -> u64 {
        self.env.wall_micros()
    }

    fn keep(&self, source: &Source) -> Result<(), SqlError> {
        let failed = |error: io::Error| SqlError::error_on_write(self.path.display(), error);
        let text = serde_json::to_vec_pretty(source).map_err(|error| failed(error.into()))?;
        let temporary = self.path.with_extension("tmp");
        let write = || {
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).truncate(true);
            let mut file = options.mode(FILE_MODE).open(&temporary)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&temporary, &self.path)?;
            let directory = self.path.parent().unwrap_or(Path::new("."));
            fs::File::open(directory)?.sync_all()
        };
        write().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_of_one_source() {
        let mut source = Source::default();
        let kept = source.kept_position("a:b.000001", 77);
        assert_eq!(source.read_position(&kept), Some(("a:b.000001".into(), 77)));
        source.place += 1;
        assert_eq!(source.read_position(&kept), None);
        assert_eq!(source.read_position("nonsense"), None);
    }

    #[test]
    fn another_server_has_other_places() {
        let name = format!("cohort-replica-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        let open = || Sources::open(&directory, Env::real()).unwrap();
        let sources = open();
        let change = |options: &[(&str, &str)]| {
            let owned = options.iter().map(|(n, v)| ((*n).into(), (*v).into()));
            sources.change(&owned.collect::<Vec<_>>())
        };
        change(&[("HOST", "a"), ("LOG_FILE", "f"), ("LOG_POS", "9")]).unwrap();
        change(&[("PASSWORD", "p")]).unwrap();
        let first = sources.current().unwrap();
        assert_eq!((first.file.as_str(), first.position), ("f", 9));
        change(&[("HOST", "b")]).unwrap();
        let second = sources.current().unwrap();
        assert_eq!((second.file.as_str(), second.position), ("", 4));
        assert!(second.place > first.place);
        assert_eq!(open().current(), Some(second.clone()));
        assert!(change(&[("AUTO_POSITION", "1"), ("LOG_POS", "5")]).is_err());
        assert!(change(&[("PORT", "70000")]).is_err());
        sources.reset(true).unwrap();
        assert_eq!(open().current(), None);
        // What the log says of the place that was forgotten is of another one.
        change(&[("HOST", "b")]).unwrap();
        assert!(sources.current().unwrap().place > second.place);
    }
}

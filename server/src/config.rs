//! The server's settings: defaults, then a TOML file, then the environment, then flags.
//!
//! They have MySQL's names. Those with a meaning before there is a database are fields here; any
//! other system variable can be set in the file and in the environment, and becomes the global
//! value at start.

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    str::FromStr,
};

/// What names of environment variables begin with.
const PREFIX: &str = "COHORT_";

macro_rules! settings {
    ($($(#[doc = $doc:literal])+ $(#[arg($($arg:tt)*)])? $name:ident: $ty:ty;)*) => {
        /// Settings as one source gives them; what it does not give is `None`.
        #[derive(Args, Clone, Debug, Default, Deserialize)]
        pub struct Settings {
            $($(#[doc = $doc])+ #[arg(long, $($($arg)*)?)] pub $name: Option<$ty>,)*
            /// Other system variables.
            #[arg(skip)]
            #[serde(flatten)]
            pub variables: BTreeMap<String, toml::Value>,
        }

        impl Settings {
            /// These settings, and where they are silent, those of `other`.
            #[must_use]
            pub fn or(self, other: Settings) -> Settings {
                let mut variables = other.variables;
                variables.extend(self.variables);
                Settings {
                    $($name: self.$name.or(other.$name),)*
                    variables,
                }
            }
            /// Names of the fields.
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
        }
    };
}

/// A path, or the empty one, which clap's own parser of paths refuses.
fn path_or_empty() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

settings! {
    /// TCP port [default: 3306]
    port: u16;
    /// Address to listen on; other machines need one that is not loopback, and a password for
    /// root [default: 127.0.0.1]
    #[arg(value_name = "ADDRESS")]
    bind_address: String;
    /// Unix socket [default: mysql.sock in the data directory]
    #[arg(value_name = "PATH")]
    socket: PathBuf;
    /// Data directory, made if it does not exist [default: ./data]
    #[arg(value_name = "PATH")]
    datadir: PathBuf;
    /// File of the error log, within the data directory unless it is absolute [default: standard
    /// error]
    #[arg(value_name = "FILE")]
    log_error: PathBuf;
    /// Connections at once [default: 151]
    max_connections: u32;
    /// Address of a port for administrators, who never queue [default: no such port]
    #[arg(value_name = "ADDRESS")]
    admin_address: String;
    /// Port for administrators [default: 33062]
    admin_port: u16;
    /// Statements that execute at once, while the others queue, when more than 64 connections for
    /// each core talk; 0 for no limit [default: 2 for each core]
    thread_pool_size: u32;
    /// Seconds a login may take [default: 10]
    connect_timeout: u32;
    /// fsync of the log: 1 after every group of commits, N after every Nth, 0 when the system
    /// likes [default: 1]
    sync_binlog: u64;
    /// Bytes after which a new log file begins [default: 1073741824]
    #[arg(value_parser = size)]
    max_binlog_size: u64;
    /// Bytes one transaction may write to the log [default: 1073741824]
    #[arg(value_parser = size)]
    max_binlog_cache_size: u64;
    /// Seconds after which a log file that recovery does not need is removed; 0 for never
    /// [default: 2592000]
    binlog_expire_logs_seconds: u64;
    /// Seconds a statement waits for a row lock [default: 50]
    innodb_lock_wait_timeout: u64;
    /// Bytes of memory for pages of the store [default: 134217728]
    #[arg(value_parser = size)]
    innodb_buffer_pool_size: u64;
    /// Bytes of recent changes in memory that begin a checkpoint [default: 67108864]
    #[arg(value_parser = size)]
    cohort_delta_size: u64;
    /// The coordinator of global transactions: on or off [default: on, unless its ports are taken]
    #[arg(value_name = "on|off")]
    coordinator: String;
    /// TCP port of the coordinator's HTTP [default: 36789]
    coordinator_port: u16;
    /// TCP port of the coordinator's gRPC [default: 36790]
    coordinator_grpc_port: u16;
    /// Address the coordinator listens on; one that is not loopback needs a token
    /// [default: 127.0.0.1]
    #[arg(value_name = "ADDRESS")]
    coordinator_address: String;
    /// Where the coordinator keeps its state, which other coordinators may share:
    /// mysql://user[:password]@host[:port][,host[:port]…]/[schema][?ssl-mode=…&ssl-ca=…];
    /// COHORT_COORDINATOR_STORE shows the password to fewer people [default: in this server]
    #[arg(value_name = "URL")]
    coordinator_store: String;
    /// Seconds until an undecided global transaction is looked into [default: 35]
    coordinator_timeout_to_fail: u64;
    /// Seconds before the first retry of a call; it doubles with each failure [default: 10]
    coordinator_retry_interval: u64;
    /// Seconds that retries are apart at most [default: 300]
    coordinator_retry_interval_max: u64;
    /// Seconds a call of a branch may take, 3600 at most [default: 3]
    coordinator_request_timeout: u64;
    /// Failed calls of a branch that make its transaction a dead letter; 0 for none [default: 0]
    coordinator_dead_letter_after: u64;
    /// Seconds that calls of a branch may fail before its transaction is a dead letter; 0 for ever
    /// [default: 604800]
    coordinator_dead_letter_age: u64;
    /// Who is told by a POST when calls of a branch come to nothing again and again, and when that
    /// makes a dead letter [default: nobody]
    #[arg(value_name = "URL")]
    coordinator_alert_webhook: String;
    /// Failed calls of a branch from which on each is told [default: 3]
    coordinator_alert_retry_limit: u64;
    /// OpenTelemetry's collector, which gets a span for each global transaction and each call, over
    /// OTLP's http/protobuf, such as http://127.0.0.1:4318 [default: OTEL_EXPORTER_OTLP_ENDPOINT, or
    /// none]
    #[arg(value_name = "URL")]
    coordinator_otlp_endpoint: String;
    /// Seconds that global transactions stay after their end; 0 for ever [default: 86400]
    coordinator_finished_data_expire: u64;
    /// Bearer token that the coordinator's clients must present
    #[arg(value_name = "TOKEN")]
    coordinator_token: String;
    /// Certificate with which the coordinator speaks TLS on both ports, in PEM [default: no TLS]
    #[arg(value_name = "PATH")]
    coordinator_ssl_cert: PathBuf;
    /// The certificate's private key, in PEM
    #[arg(value_name = "PATH")]
    coordinator_ssl_key: PathBuf;
    /// Who may be called as a branch: hosts, host:port, addresses and networks (10.0.0.0/8), with
    /// commas between them [default: all; if the coordinator listens on an address that is not
    /// loopback, all but this machine and link-local addresses]
    #[arg(value_name = "HOSTS")]
    coordinator_branch_hosts: String;
    /// Directory that LOAD DATA and SELECT … INTO OUTFILE read and write files in; '' for any
    /// [default: none, they are refused]
    #[arg(value_name = "PATH", value_parser = path_or_empty())]
    secure_file_priv: PathBuf;
    /// Measure what statements and commits take, for the tables of performance_schema: on or off
    /// [default: on]
    #[arg(value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    performance_schema: Switch;
    /// TCP port that answers GET /metrics for Prometheus, as in: curl http://127.0.0.1:9104/metrics
    /// [default: no such port]
    metrics_port: u16;
    /// Address of that port; one that is not loopback needs a token [default: 127.0.0.1]
    #[arg(value_name = "ADDRESS")]
    metrics_address: String;
    /// Bearer token that who asks for metrics must present
    #[arg(value_name = "TOKEN")]
    metrics_token: String;
    /// Web pages of the running server: on or off [default: on, unless its port is taken]
    #[arg(value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    console: Switch;
    /// TCP port of the console [default: 36791]
    console_port: u16;
    /// Address of the console; one that is not loopback needs a certificate [default: 127.0.0.1]
    #[arg(value_name = "ADDRESS")]
    console_address: String;
    /// Names by which browsers may call the console besides its address, with commas between them
    /// [default: none but localhost]
    #[arg(value_name = "HOSTS")]
    console_hosts: String;
    /// Certificate with which the console speaks TLS, in PEM [default: no TLS]
    #[arg(value_name = "PATH")]
    console_ssl_cert: PathBuf;
    /// The certificate's private key, in PEM
    #[arg(value_name = "PATH")]
    console_ssl_key: PathBuf;
    /// Authorities, in PEM, whose signature a client's certificate must have [default: ca.pem in the
    /// data directory]
    #[arg(value_name = "PATH")]
    ssl_ca: PathBuf;
    /// Certificate that clients see, in PEM [default: server-cert.pem in the data directory, made with
    /// its key and an authority at the first start]
    #[arg(value_name = "PATH")]
    ssl_cert: PathBuf;
    /// The certificate's private key, in PEM [default: server-key.pem in the data directory]
    #[arg(value_name = "PATH")]
    ssl_key: PathBuf;
    /// Versions of TLS that clients may use; '' for no TLS [default: TLSv1.2,TLSv1.3]
    #[arg(value_name = "VERSIONS")]
    tls_version: String;
    /// Refuse logins over TCP without TLS: on or off [default: off]
    #[arg(value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    require_secure_transport: Switch;
    /// This server among replicas [default: 1]
    server_id: u32;
    /// Do not go on replicating from another server: START REPLICA does [default: off]
    #[arg(value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    skip_replica_start: Switch;
}

/// Puts a flag under the heading of what it is about, in `--help` and in the manual.
pub fn under_heading(flag: clap::Arg) -> clap::Arg {
    const HEADINGS: [(&str, &[&str]); 7] = [
        ("Console", &["console"]),
        ("Metrics", &["metrics_"]),
        ("Coordinator of global transactions", &["coordinator"]),
        ("TLS of clients", &["ssl_", "tls_", "require_secure"]),
        (
            "Binary log and replication",
            &[
                "sync_binlog",
                "max_binlog",
                "binlog_",
                "server_id",
                "skip_replica",
            ],
        ),
        ("Memory and locks", &["innodb_", "cohort_delta"]),
        (
            "Connections",
            &[
                "port",
                "bind_",
                "socket",
                "max_conn",
                "admin_",
                "thread_pool",
                "connect_",
            ],
        ),
    ];
    let name = flag.get_id().as_str();
    let is_one = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    match HEADINGS.iter().find(|(_, starts)| is_one(starts)) {
        Some((heading, _)) => flag.help_heading(*heading),
        None => flag,
    }
}

/// On or off, in the words that MySQL knows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "toml::Value")]
pub struct Switch(pub bool);

impl FromStr for Switch {
    type Err = String;
    fn from_str(text: &str) -> Result<Switch, String> {
        match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" => Ok(Switch(true)),
            "off" | "false" | "0" => Ok(Switch(false)),
            _ => Err(format!("{text}: on or off is expected")),
        }
    }
}

impl TryFrom<toml::Value> for Switch {
    type Error = String;
    fn try_from(value: toml::Value) -> Result<Switch, String> {
        match value {
            toml::Value::String(text) => text.parse(),
            other => other.to_string().parse(),
        }
    }
}

/// The settings that flags gave, and where they are silent, those of the environment and of the
/// file; what is wrong with them as text.
pub fn complete(flags: Settings, file: Option<&Path>) -> Result<Settings, String> {
    let environment = from_environment(std::env::vars())?;
    let file = match file {
        Some(path) => from_file(path)?,
        None => Settings::default(),
    };
    Ok(flags.or(environment).or(file))
}

fn from_file(path: &Path) -> Result<Settings, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    parse(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Reads TOML; dashes in names count as underscores, as they do in MySQL's option files.
pub(crate) fn parse(text: &str) -> Result<Settings, String> {
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let table: toml::Table = table
        .into_iter()
        .map(|(k, v)| (k.replace('-', "_"), v))
        .map(|(k, v)| match &v {
            toml::Value::String(text) if k.ends_with("_size") => match integer(text) {
                Some(bytes) => (k, toml::Value::Integer(bytes)),
                None => (k, v),
            },
            _ => (k, v),
        })
        .collect();
    table.try_into().map_err(|e: toml::de::Error| e.to_string())
}

/// Takes `COHORT_…` as TOML values, or as strings where they are none.
pub(crate) fn from_environment(
    vars: impl Iterator<Item = (String, String)>,
) -> Result<Settings, String> {
    let mut table = toml::Table::new();
    for (key, text) in vars {
        let Some(name) = key.strip_prefix(PREFIX).map(str::to_ascii_lowercase) else {
            continue;
        };
        if name == "config" {
            continue;
        }
        let number = integer(&text).map(toml::Value::Integer);
        table.insert(name, number.unwrap_or(toml::Value::String(text)));
    }
    table
        .try_into()
        .map_err(|e: toml::de::Error| format!("environment ({PREFIX}…): {e}"))
}

/// An integer, in units of 1024, 1024², 1024³ or 1024⁴ if K, M, G or T follows, as in MySQL's
/// option files.
pub(crate) fn integer(text: &str) -> Option<i64> {
    const UNITS: &str = "KMGT";
    let unit = text.chars().last().map(|c| c.to_ascii_uppercase());
    let Some(power) = unit.and_then(|unit| UNITS.find(unit)) else {
        return text.parse().ok();
    };
    let number: i64 = text.get(..text.len() - 1)?.parse().ok()?;
    number.checked_mul(1 << (10 * (power + 1)))
}

/// Bytes in a flag.
fn size(text: &str) -> Result<u64, String> {
    integer(text)
        .and_then(|bytes| u64::try_from(bytes).ok())
        .ok_or_else(|| "a number of bytes is wanted, such as 512M or 2G".into())
}

impl Settings {
    /// The settings above that are also system variables, for SHOW VARIABLES to tell them.
    #[must_use]
    pub fn as_variables(&self) -> BTreeMap<String, toml::Value> {
        let mut all = BTreeMap::new();
        let mut set = |name: &str, value: Option<u64>| {
            debug_assert!(Settings::NAMES.contains(&name));
            if let Some(value) = value {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                all.insert(name.to_owned(), toml::Value::Integer(value));
            }
        };
        set("max_connections", self.max_connections.map(u64::from));
        set("thread_pool_size", self.thread_pool_size.map(u64::from));
        set("admin_port", self.admin_port.map(u64::from));
        set("connect_timeout", self.connect_timeout.map(u64::from));
        set("sync_binlog", self.sync_binlog);
        set("max_binlog_size", self.max_binlog_size);
        set("max_binlog_cache_size", self.max_binlog_cache_size);
        set(
            "binlog_expire_logs_seconds",
            self.binlog_expire_logs_seconds,
        );
        set("innodb_lock_wait_timeout", self.innodb_lock_wait_timeout);
        set("innodb_buffer_pool_size", self.innodb_buffer_pool_size);
        set("server_id", self.server_id.map(u64::from));
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        for (name, text) in [
            ("admin_address", self.admin_address.clone()),
            ("ssl_ca", path(&self.ssl_ca)),
            ("ssl_cert", path(&self.ssl_cert)),
            ("ssl_key", path(&self.ssl_key)),
            ("tls_version", self.tls_version.clone()),
            // MySQL's word for none, which is the default.
            (
                "secure_file_priv",
                path(&self.secure_file_priv).filter(|text| text != "NULL"),
            ),
        ] {
            let text = text.map(|text| (name.to_owned(), toml::Value::String(text)));
            all.extend(text);
        }
        if let Some(Switch(on)) = self.require_secure_transport {
            all.insert("require_secure_transport".into(), toml::Value::Boolean(on));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::txn::EngineOptions;
    use cohort_sql::variables;

    fn environment(vars: &[(&str, &str)]) -> Result<Settings, String> {
        from_environment(vars.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
    }

    /// The number that the help of a flag tells as its default, if it does.
    fn told(argument: &clap::Arg) -> Option<u64> {
        let help = argument
            .get_long_help()
            .or(argument.get_help())?
            .to_string();
        let (_, told) = help.rsplit_once("[default: ")?;
        told.split([']', ',', ' ']).next()?.parse().ok()
    }

    /// `secure_file_priv` may be empty, on the command line as elsewhere.
    #[test]
    fn a_path_may_be_empty_where_that_means_something() {
        let command = Settings::augment_args(clap::Command::new("serve"));
        for args in [
            &["serve", "--secure-file-priv", ""][..],
            &["serve", "--secure-file-priv="],
        ] {
            let found = command.clone().try_get_matches_from(args).unwrap();
            let settings = <Settings as clap::FromArgMatches>::from_arg_matches(&found).unwrap();
            assert_eq!(settings.secure_file_priv, Some(PathBuf::new()));
        }
        let set = environment(&[("COHORT_SECURE_FILE_PRIV", "")]).unwrap();
        assert_eq!(set.secure_file_priv, Some(PathBuf::new()));
    }

    #[test]
    fn help_tells_the_defaults_of_the_variables() {
        let command = Settings::augment_args(clap::Command::new("serve"));
        let mut compared = 0;
        for argument in command.get_arguments() {
            let name = argument.get_id().as_str();
            let is_number = matches!(
                variables::find(name).map(|variable| variable.kind),
                Ok(variables::Kind::UInt { .. })
            );
            // How many slots there are depends on the machine.
            if let (Some(told), true, false) =
                (told(argument), is_number, name == "thread_pool_size")
            {
                assert_eq!(told, variables::default_number(name), "{name}");
                compared += 1;
            }
        }
        assert!(compared > 8, "only {compared} of the settings are numbers");
    }

    #[test]
    fn the_engine_has_the_defaults_of_the_variables() {
        let engine = EngineOptions::default();
        for (name, value) in [
            ("server_id", engine.server_id.into()),
            ("innodb_buffer_pool_size", engine.base_cache_bytes as u64),
            ("max_binlog_cache_size", engine.max_transaction_bytes),
            ("cohort_max_lock_bytes", engine.max_lock_bytes),
            ("sync_binlog", engine.sync_binlog),
            ("max_binlog_size", engine.max_binlog_size),
            ("binlog_expire_logs_seconds", engine.expire_logs_seconds),
        ] {
            assert_eq!(value, variables::default_number(name), "{name}");
        }
    }

    #[test]
    fn the_nearer_source_wins() {
        let file = parse("port = 1\nsync-binlog = 2\nwait_timeout = 3").unwrap();
        let vars = [
            ("COHORT_PORT", "4"),
            ("COHORT_WAIT_TIMEOUT", "5"),
            ("HOME", "/"),
        ];
        let settings = environment(&vars).unwrap().or(file);
        assert_eq!((settings.port, settings.sync_binlog), (Some(4), Some(2)));
        assert_eq!(settings.variables["wait_timeout"], toml::Value::Integer(5));
        assert_eq!(settings.variables.len(), 1);
    }

    #[test]
    fn sizes_have_units() {
        let file = parse("innodb-buffer-pool-size = \"2G\"\nmax_binlog_size = 4096").unwrap();
        assert_eq!(file.innodb_buffer_pool_size, Some(2 << 30));
        assert_eq!(file.max_binlog_size, Some(4096));
        let vars = environment(&[("COHORT_COHORT_DELTA_SIZE", "64k")]).unwrap();
        assert_eq!(vars.cohort_delta_size, Some(64 << 10));
        assert_eq!(size("3T"), Ok(3 << 40));
        for wrong in ["", "G", "-1K", "2GB", "9999999999T", "ü"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn switches_are_words_or_truth_values() {
        for (text, on) in [("true", true), ("\"OFF\"", false), ("1", true)] {
            let file = parse(&format!("require-secure-transport = {text}")).unwrap();
            assert_eq!(file.require_secure_transport, Some(Switch(on)), "{text}");
        }
        let vars = environment(&[("COHORT_REQUIRE_SECURE_TRANSPORT", "on")]).unwrap();
        assert_eq!(vars.require_secure_transport, Some(Switch(true)));
        assert!(parse("require_secure_transport = \"maybe\"").is_err());
    }

    #[test]
    fn wrong_types_are_refused() {
        assert!(parse("port = \"many\"").is_err());
        assert!(parse("port = 70000").is_err());
        assert!(parse("port").is_err());
        assert!(environment(&[("COHORT_PORT", "x")]).is_err());
    }
}

//! The audit log: who came and from where, what was refused, which definitions and accounts were
//! changed and, if wanted, all statements. A line of JSON for each event:
//!
//! ```text
//! {"time":"2026-01-31T12:00:00.000000Z","event":"accounts","connection":8,"user":"root",
//!  "account":"root@%","host":"10.0.0.1","database":"shop","command":"drop_user",
//!  "statement":"DROP USER joe","error":0}
//! ```
//!
//! Lines are written by the thread that writes the other logs. If the log is strict
//! (cohort_audit_log_strict), what is to be recorded waits for its line to be on the disk, before it
//! is done, and is not done if that fails: 3164.

use super::{
    log_files::{LogKind, QueryLogs},
    query_logs::Who,
};
use crate::{error::SqlError, text::put_log_time};
use cohort_engine::{
    env::{Mode, Notice},
    types::Value,
};
use serde_json::{Map, Value as Json, json};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Clients that come and go.
    Connections,
    /// What was refused for lack of a privilege.
    Refusals,
    /// Definitions of databases, tables and views.
    Definitions,
    /// Accounts, roles, what they may do; and the variables of this log, which are recorded whatever
    /// else is.
    Accounts,
    /// Rows that are changed.
    Writes,
    /// Rows that are read.
    Reads,
    /// All other statements.
    Others,
}

/// All classes with their names in cohort_audit_log_events.
pub const CLASSES: [(Class, &str); 7] = [
    (Class::Connections, "CONNECTIONS"),
    (Class::Refusals, "REFUSALS"),
    (Class::Definitions, "DEFINITIONS"),
    (Class::Accounts, "ACCOUNTS"),
    (Class::Writes, "WRITES"),
    (Class::Reads, "READS"),
    (Class::Others, "OTHERS"),
];

/// Errors that say that something is not allowed.
const REFUSALS: [u16; 16] = [
    1044, 1045, 1095, 1129, 1130, 1142, 1143, 1227, 1345, 1370, 1820, 1862, 3118, 3159, 3530, 3955,
];

impl Class {
    /// That of a command, as the counters name it.
    #[must_use]
    pub fn of_command(command: &str) -> Class {
        let (verb, object) = command.split_once('_').unwrap_or((command, ""));
        match (verb, object) {
            ("grant" | "revoke", _)
            | ("create" | "drop" | "alter" | "rename", "user" | "role")
            | ("set", "password" | "role" | "default_role" | "resource_group")
            | ("install" | "uninstall", _)
            | ("alter", "instance" | "user_default_role") => Class::Accounts,
            ("create" | "drop" | "alter" | "rename", _) | ("truncate", _) => Class::Definitions,
            ("insert" | "update" | "delete" | "replace" | "load", _) => Class::Writes,
            ("select" | "show" | "explain" | "do" | "help", _) => Class::Reads,
            _ => Class::Others,
        }
    }
    /// Whether an error is a refusal.
    #[must_use]
    pub fn is_refusal(error: &SqlError) -> bool {
        REFUSALS.contains(&error.code)
    }
    fn name(self) -> &'static str {
        let mut all = CLASSES.iter();
        all.find(|(class, _)| *class == self)
            .map_or("", |(_, name)| *name)
    }
    fn bit(self) -> u32 {
        1 << (self as u32)
    }
}

/// What is recorded of an event, beside when it was and whose.
#[derive(Clone, Copy, Debug, Default)]
pub struct Event<'a> {
    /// The default database.
    pub database: &'a str,
    /// The command, as the counters name it: `drop_user`; `connect`, `quit`.
    pub command: &'a str,
    /// The statement, without passwords.
    pub statement: &'a str,
    /// What came of it.
    pub error: Option<&'a SqlError>,
    /// It has not been done yet.
    pub before: bool,
}

/// The audit log.
pub struct Audit {
    logs: Arc<QueryLogs>,
    on: AtomicBool,
    strict: AtomicBool,
    classes: AtomicU32,
}

impl Audit {
    /// One that is off; its lines go where the other logs' go.
    #[must_use]
    pub fn new(logs: Arc<QueryLogs>) -> Audit {
        Audit {
            logs,
            on: AtomicBool::new(false),
            strict: AtomicBool::new(false),
            classes: AtomicU32::new(0),
        }
    }
    /// A variable of it was set; others are nobody's business here.
    pub fn set(&self, name: &str, value: &Value) {
        let number = match value {
            Value::UInt(n) => *n,
            Value::Int(n) => u64::try_from(*n).unwrap_or(0),
            _ => 0,
        };
        match (name, value) {
            ("cohort_audit_log", _) => self.on.store(number != 0, Ordering::Release),
            ("cohort_audit_log_strict", _) => self.strict.store(number != 0, Ordering::Release),
            ("cohort_audit_log_events", Value::Bytes(text)) => {
                let text = String::from_utf8_lossy(text);
                let wanted = CLASSES
                    .iter()
                    .filter(|(_, name)| text.split(',').any(|one| one == *name));
                let bits = wanted.map(|(class, _)| class.bit()).sum();
                self.classes.store(bits, Ordering::Release);
            }
            _ => {}
        }
    }
    /// Whether anything is recorded.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Acquire)
    }
    /// Whether events of a class are recorded.
    #[must_use]
    pub fn records(&self, class: Class) -> bool {
        self.is_on() && self.classes.load(Ordering::Acquire) & class.bit() != 0
    }
    /// Whether what is recorded waits for its line.
    #[must_use]
    pub fn is_strict(&self) -> bool {
        self.strict.load(Ordering::Acquire)
    }
    /// Records an event, which is not done if that fails and the log is strict: 3164.
    pub fn record(
        &self,
        class: Class,
        who: &Who,
        now_us: u64,
        event: &Event<'_>,
    ) -> Result<(), SqlError> {
        match self.records(class) {
            true => self.put(class, who, now_us, event),
            false => Ok(()),
        }
    }
    /// Records a change of the log's own variables, whatever else is recorded.
    pub fn record_setting(
        &self,
        who: &Who,
        now_us: u64,
        event: &Event<'_>,
    ) -> Result<(), SqlError> {
        match self.is_on() {
            true => self.put(Class::Accounts, who, now_us, event),
            false => Ok(()),
        }
    }
    fn put(&self, class: Class, who: &Who, now_us: u64, event: &Event<'_>) -> Result<(), SqlError> {
        let line = line(class, who, now_us, event);
        if !self.is_strict() {
            self.logs.audit(line);
            return Ok(());
        }
        self.write(&line).map_err(|error| {
            let path = self.logs.path(LogKind::Audit);
            let told = format!("{}: {error}; what is audited is refused", path.display());
            self.logs.env().notice(Notice::AuditFailed, &told);
            SqlError::audit_failed(class.name(), error.raw_os_error().unwrap_or(1))
        })
    }
    /// Writes a line, and returns when it is on the disk. The file is opened each time: somebody may
    /// have moved it away.
    fn write(&self, line: &[u8]) -> io::Result<()> {
        let _alone = self.logs.alone_with_audit();
        let (env, path) = (self.logs.env(), self.logs.path(LogKind::Audit));
        let file = env.open(&path, Mode::Create)?;
        let end = file.len()?;
        file.write_at(line, end)?;
        file.sync_data()?;
        match (end, path.parent()) {
            // Its name must last, too.
            (0, Some(directory)) => env.sync_dir(directory),
            _ => Ok(()),
        }
    }
}

/// So much of a statement is recorded, in bytes.
const STATEMENT_MAX: usize = 64 << 10;

fn line(class: Class, who: &Who, now_us: u64, event: &Event<'_>) -> Vec<u8> {
    let mut time = String::new();
    put_log_time(now_us, 6, &mut time);
    let mut fields = Map::new();
    let mut put = |name: &str, value: Json| fields.insert(name.to_owned(), value);
    put("time", json!(time));
    put("event", json!(class.name().to_ascii_lowercase()));
    put("connection", json!(who.id));
    put("user", json!(who.user));
    put("account", json!(who.account));
    put("host", json!(who.host));
    put("command", json!(event.command));
    if !event.database.is_empty() {
        put("database", json!(event.database));
    }
    if !event.statement.is_empty() {
        let end = (0..=STATEMENT_MAX.min(event.statement.len()))
            .rev()
            .find(|&at| event.statement.is_char_boundary(at));
        let shown = event.statement.get(..end.unwrap_or(0)).unwrap_or_default();
        put("statement", json!(shown));
        if shown.len() < event.statement.len() {
            put("cut", json!(true));
        }
    }
    if event.before {
        put("begins", json!(true));
    } else {
        put("error", json!(event.error.map_or(0, |error| error.code)));
    }
    if let Some(error) = event.error {
        put("message", json!(error.message));
    }
    let mut line = Json::Object(fields).to_string();
    line.push('\n');
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cohort_engine::env::fake::Disk;
    use std::path::Path;

    fn audit(events: &str) -> (Audit, Disk) {
        let disk = Disk::new(1);
        let env = disk.env();
        env.create_dir(Path::new("/data")).unwrap();
        let logs = Arc::new(QueryLogs::new(env.clone(), Path::new("/data")));
        let audit = Audit::new(logs);
        audit.set("cohort_audit_log", &Value::Int(1));
        audit.set("cohort_audit_log_events", &Value::Bytes(events.into()));
        (audit, disk)
    }

    fn who() -> Who {
        Who {
            account: "u".into(),
            user: "u".into(),
            host: "h".into(),
            id: 8,
        }
    }

    #[test]
    fn commands_have_classes() {
        for (command, class) in [
            ("create_user", Class::Accounts),
            ("drop_role", Class::Accounts),
            ("grant_roles", Class::Accounts),
            ("set_password", Class::Accounts),
            ("set_option", Class::Others),
            ("create_role", Class::Accounts),
            ("revoke_all", Class::Accounts),
            ("alter_user_default_role", Class::Accounts),
            ("set_role", Class::Accounts),
            ("install_component", Class::Accounts),
            ("create_view", Class::Definitions),
            ("create_table", Class::Definitions),
            ("truncate", Class::Definitions),
            ("insert_select", Class::Writes),
            ("show_tables", Class::Reads),
            ("select", Class::Reads),
            ("commit", Class::Others),
        ] {
            assert_eq!(Class::of_command(command), class, "{command}");
        }
    }

    #[test]
    fn what_is_wanted_is_recorded() {
        let (audit, disk) = audit("ACCOUNTS,REFUSALS");
        let event = Event {
            command: "drop_user",
            statement: "DROP USER \"x\"\n",
            ..Event::default()
        };
        audit.record(Class::Accounts, &who(), 0, &event).unwrap();
        audit.record(Class::Writes, &who(), 0, &event).unwrap();
        audit.logs.settle();
        let text = disk.contents(Path::new("/data/audit.log")).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(line["event"], "accounts");
        assert_eq!(line["statement"], "DROP USER \"x\"\n");
        assert_eq!(line["time"], "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn a_strict_log_refuses_what_it_cannot_record() {
        let (audit, disk) = audit("WRITES");
        audit.set("cohort_audit_log_strict", &Value::Int(1));
        let record = || audit.record(Class::Writes, &who(), 0, &Event::default());
        record().unwrap();
        let before = disk.contents(Path::new("/data/audit.log"));
        assert!(before.is_some());
        disk.set_capacity(disk.used());
        let refused = record().unwrap_err();
        assert_eq!(refused.code, 3164);
        // What it does not record it does not stop.
        audit
            .record(Class::Reads, &who(), 0, &Event::default())
            .unwrap();
    }
}

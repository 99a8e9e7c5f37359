//! The target goes on as the source's replica.

use super::{
    grants::Grants,
    prepared,
    servers::{Flavor, Server, Session},
    snapshot::{Position, has_gtids, logged, position},
    stop::Stop,
    text::string,
};
use cohort_mysql::client::tls::Mode;
use cohort_process::progress;
use cohort_sql::source_file_number;
use std::time::{Duration, Instant};

/// How often the replica is asked how far it is.
const LOOK: Duration = Duration::from_millis(20);
/// How often it is told how far behind it is.
const TELL: Duration = Duration::from_secs(5);
/// After so long without a connection to the source the replica's error is told.
const PATIENCE: Duration = Duration::from_secs(30);

/// What keeps a target from following a source, all of it or some databases; nothing has been copied
/// yet.
pub fn obstacles(
    (source, target): (&Server, &Server),
    (from, to): (&mut Session, &mut Session),
    names: &[String],
    is_whole: bool,
    stop: &Stop,
) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut wants = |name: &str, value: Option<String>, wanted: &[&str], advice: &str| {
        let value = value.unwrap_or_default();
        if !wanted
            .iter()
            .any(|wanted| wanted.eq_ignore_ascii_case(&value))
        {
            found.push(format!("{}: {name} is '{value}': {advice}", source.name));
        }
    };
    let log = from.variable("log_bin")?;
    wants("log_bin", log, &["1", "ON"], "it must write a binary log");
    let format = from.variable("binlog_format")?;
    wants(
        "binlog_format",
        format,
        &["ROW"],
        "SET GLOBAL binlog_format = ROW, and let sessions connect anew",
    );
    let grants = Grants::read(from)?;
    let right = match source.flavor {
        Flavor::MariaDb => grants.has_everywhere("REPLICATION SLAVE"),
        Flavor::MySql | Flavor::Cohort => from.attempt("SHOW REPLICAS")?.is_ok(),
    };
    if is_whole && !grants.has_everywhere("SELECT") {
        found.push(format!(
            "{}: the account needs the privilege SELECT ON *.*, for a replica gets the changes of all \
             databases",
            source.name
        ));
    }
    if !right {
        found.push(format!(
            "{}: the account needs the privilege REPLICATION SLAVE",
            source.name
        ));
    }
    found.extend(unlogged(from, source.flavor, names, is_whole)?);
    let by_gtid = has_gtids(from)?;
    if let Position::Gtids(set) = position(from, source.flavor, by_gtid)? {
        found.extend(refuse_tagged(&set).err());
    }
    found.extend(prepared::refuse(from, stop).err());
    for name in ["server_id", "server_uuid"] {
        let (one, other) = (from.variable(name)?, to.variable(name)?);
        if one.is_some() && one == other {
            let value = one.unwrap_or_default();
            found.push(format!(
                "{} and {} have the same {name} ({value}); start Cohort with another --server-id",
                source.name, target.name
            ));
        }
    }
    Ok(found)
}

/// Which of these databases the source leaves out of its log; `is_whole`: those that are made later are
/// wanted, too.
fn unlogged(
    source: &mut Session,
    flavor: Flavor,
    names: &[String],
    is_whole: bool,
) -> Result<Option<String>, String> {
    let (only, but) = logged(source, flavor)?;
    let is_left_out =
        |name: &&String| but.contains(*name) || !only.is_empty() && !only.contains(*name);
    let mut left_out: Vec<_> = names.iter().filter(is_left_out).cloned().collect();
    if is_whole && !only.is_empty() {
        left_out.push("what is made later".into());
    }
    if left_out.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "{}: its log leaves out {} (binlog-do-db = '{}', binlog-ignore-db = '{}'): start it without these",
        source.name(),
        left_out.join(", "),
        only.join(","),
        but.join(",")
    )))
}

/// Refuses GTIDs with tags, which are not here.
fn refuse_tagged(set: &str) -> Result<(), String> {
    // uuid:1-3:tag:1-2
    let is_tag = |part: &str| !part.starts_with(|c: char| c.is_ascii_digit());
    let is_tagged = |of_one: &&str| of_one.split(':').skip(1).any(is_tag);
    match set.split(',').find(is_tagged) {
        None => Ok(()),
        Some(tagged) => Err(format!(
            "the source has GTIDs with tags ({tagged}), which Cohort does not have"
        )),
    }
}

/// Whether the target follows anything.
pub fn follows(target: &mut Session) -> Result<bool, String> {
    Ok(target.record("SHOW REPLICA STATUS")?.is_some())
}

/// Ends that, and forgets the source.
pub fn end(target: &mut Session) -> Result<(), String> {
    target.execute("STOP REPLICA")?;
    target.execute("RESET REPLICA ALL")
}

/// Notes in the target that it has all transactions before the snapshot.
///
/// # Errors
/// It has some behind it, too: they would be missing in the rows.
pub fn note_executed(target: &mut Session, position: &Position) -> Result<(), String> {
    let Position::Gtids(set) = position else {
        return Ok(());
    };
    let sql = format!(
        "SELECT GTID_SUBTRACT({}, @@GLOBAL.gtid_executed)",
        string(set)
    );
    let new = target
        .value(&sql)?
        .unwrap_or_default()
        .replace(['\n', ' '], "");
    if new.is_empty() {
        return Ok(());
    }
    target.execute(&format!(
        "SET GLOBAL gtid_purged = {}",
        string(&format!("+{new}"))
    ))
}

/// Refuses a target that has transactions of the source which the snapshot does not have: a replica
/// would leave them out.
pub fn check_executed(
    source: &mut Session,
    target: &mut Session,
    position: &Position,
) -> Result<(), String> {
    let Position::Gtids(set) = position else {
        return Ok(());
    };
    refuse_tagged(set)?;
    let uuid = source.variable("server_uuid")?.unwrap_or_default();
    let executed = target
        .value("SELECT @@GLOBAL.gtid_executed")?
        .unwrap_or_default();
    let executed = executed.replace(['\n', ' '], "");
    let begin = format!("{uuid}:");
    let Some(own) = executed.split(',').find(|part| part.starts_with(&begin)) else {
        return Ok(());
    };
    let sql = format!("SELECT GTID_SUBTRACT({}, {})", string(own), string(set));
    match target.value(&sql)?.unwrap_or_default() {
        beyond if beyond.is_empty() => Ok(()),
        beyond => Err(format!(
            "the target has transactions of the source that the source does not have any more \
             ({beyond}): use a target with an empty data directory"
        )),
    }
}

/// Tells the target to follow the source from this place on, when it is started.
pub fn set_source(
    target: &mut Session,
    source: &Server,
    position: &Position,
) -> Result<(), String> {
    let (host, port) = source.address();
    let mut options = vec![
        format!("SOURCE_HOST = {}", string(host)),
        format!("SOURCE_PORT = {port}"),
        format!("SOURCE_USER = {}", string(&source.account.user)),
        format!("SOURCE_PASSWORD = {}", string(&source.account.password)),
    ];
    match position {
        Position::Gtids(_) => options.push("SOURCE_AUTO_POSITION = 1".into()),
        Position::File(file, byte) => {
            options.push("SOURCE_AUTO_POSITION = 0".into());
            options.push(format!("SOURCE_LOG_FILE = {}", string(file)));
            options.push(format!("SOURCE_LOG_POS = {byte}"));
        }
        Position::None => return Err("the source writes no binary log".into()),
    }
    let demand = source.demand.as_ref();
    options.push(format!("SOURCE_SSL = {}", u8::from(demand.is_some())));
    if let Some(demand) = demand {
        if let Some(path) = &demand.authority {
            options.push(format!(
                "SOURCE_SSL_CA = {}",
                string(&path.to_string_lossy())
            ));
        }
        let verify = demand.mode == Mode::VerifyIdentity;
        options.push(format!(
            "SOURCE_SSL_VERIFY_SERVER_CERT = {}",
            u8::from(verify)
        ));
    }
    target.execute(&format!(
        "CHANGE REPLICATION SOURCE TO {}",
        options.join(", ")
    ))
}

/// Tells the target to apply what is of these databases; `None`: everything.
pub fn set_filter(target: &mut Session, databases: Option<&[String]>) -> Result<(), String> {
    let patterns = databases.unwrap_or_default().iter().map(|name| {
        let escaped = name
            .replace('\\', "\\\\")
            .replace('_', "\\_")
            .replace('%', "\\%");
        string(&format!("{escaped}.%"))
    });
    let patterns: Vec<_> = patterns.collect();
    target.execute(&format!(
        "CHANGE REPLICATION FILTER REPLICATE_WILD_DO_TABLE = ({})",
        patterns.join(", ")
    ))
}

/// A target that follows the source.
pub struct Followed {
    flavor: Flavor,
    by_gtid: bool,
}

/// Whether the target follows this source.
pub fn followed(source: &Server, target: &mut Session) -> Result<Option<Followed>, String> {
    let Some(status) = Status::read(target)? else {
        return Ok(None);
    };
    let mut session = source.connect()?;
    let (name, found) = match source.flavor {
        Flavor::MariaDb => ("server_id", status.server_id),
        Flavor::MySql | Flavor::Cohort => ("server_uuid", status.uuid),
    };
    if session.variable(name)?.as_deref() != Some(&*found) {
        return Ok(None);
    }
    Ok(Some(Followed {
        flavor: source.flavor,
        by_gtid: status.by_gtid && has_gtids(&mut session)?,
    }))
}

/// What SHOW REPLICA STATUS says.
struct Status {
    applied: (String, u64),
    /// What has stopped it for good.
    error: Option<String>,
    /// What keeps it from connecting, for now.
    connection: Option<String>,
    behind_seconds: Option<String>,
    server_id: String,
    uuid: String,
    by_gtid: bool,
}

impl Status {
    fn read(target: &mut Session) -> Result<Option<Status>, String> {
        let Some(record) = target.record("SHOW REPLICA STATUS")? else {
            return Ok(None);
        };
        let value = |name: &str| {
            let found = record.iter().find(|(column, _)| column == name);
            found.and_then(|(_, value)| value.clone())
        };
        let text = |name: &str| value(name).unwrap_or_default();
        let errors = [text("Last_SQL_Error"), text("Last_IO_Error")];
        let stopped = text("Replica_SQL_Running") != "Yes" || text("Replica_IO_Running") == "No";
        let told = || {
            let told: Vec<_> = errors
                .iter()
                .filter(|error| !error.is_empty())
                .cloned()
                .collect();
            match told.is_empty() {
                true => "it was stopped".to_owned(),
                false => told.join("; "),
            }
        };
        Ok(Some(Status {
            applied: (
                text("Relay_Source_Log_File"),
                text("Exec_Source_Log_Pos").parse().unwrap_or(0),
            ),
            error: stopped.then(told),
            connection: (text("Replica_IO_Running") == "Connecting").then(|| errors[1].clone()),
            behind_seconds: value("Seconds_Behind_Source"),
            server_id: text("Source_Server_Id"),
            uuid: text("Source_UUID"),
            by_gtid: text("Auto_Position") == "1",
        }))
    }
}

impl Followed {
    /// That has begun at this place.
    pub fn at(flavor: Flavor, begin: &Position) -> Followed {
        Followed {
            flavor,
            by_gtid: matches!(begin, Position::Gtids(_)),
        }
    }

    /// Waits until the target has all that the source's log has now.
    ///
    /// # Errors
    /// The replica has stopped, cannot connect for long, or the user wants it to end.
    pub fn pass(
        &self,
        source: &mut Session,
        target: &mut Session,
        stop: &Stop,
    ) -> Result<(), String> {
        let place = position(source, self.flavor, self.by_gtid)?;
        let (begun, mut told) = (Instant::now(), Instant::now());
        loop {
            if has_passed(target, &place)? {
                return Ok(());
            }
            let status = Status::read(target)?.ok_or("the target does not follow any more")?;
            if let Some(error) = status.error {
                return Err(format!("the replica has stopped: {error}"));
            }
            if let Some(error) = status.connection
                && begun.elapsed() > PATIENCE
            {
                return Err(format!("the replica cannot connect to the source: {error}"));
            }
            if told.elapsed() > TELL {
                told = Instant::now();
                let (file, byte) = &status.applied;
                let seconds = status.behind_seconds.as_deref().unwrap_or("?");
                progress!("the replica is {seconds} s behind, at {file}:{byte} of the source");
            }
            stop.pause(LOOK)?;
        }
    }
}

fn has_passed(target: &mut Session, place: &Position) -> Result<bool, String> {
    match place {
        Position::Gtids(set) => {
            let sql = format!(
                "SELECT GTID_SUBSET({}, @@GLOBAL.gtid_executed)",
                string(set)
            );
            Ok(target.value(&sql)?.as_deref() == Some("1"))
        }
        Position::File(file, byte) => {
            let status = Status::read(target)?.ok_or("the target does not follow any more")?;
            let applied = (source_file_number(&status.applied.0), status.applied.1);
            Ok(applied >= (source_file_number(file), *byte))
        }
        Position::None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gtids_with_tags() {
        let uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
        for (set, is_refused) in [
            (String::new(), false),
            (format!("{uuid}:1-3:5,{uuid}:7"), false),
            (format!("{uuid}:1,{uuid}:tag:1-2"), true),
            (format!("{uuid}:1-3:_t:1"), true),
        ] {
            assert_eq!(refuse_tagged(&set).is_err(), is_refused, "{set}");
        }
    }
}

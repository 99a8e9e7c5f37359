//! A session that follows the log: COM_REGISTER_SLAVE, COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID.
//!
//! What a replica wants it has said in user variables before: `@source_binlog_checksum` that it
//! knows checksums, `@source_heartbeat_period` how long it waits for a sign of life, `@replica_uuid`
//! who it is, `@rpl_semi_sync_replica` that it says what it has. Older ones say `master` and `slave`
//! for source and replica.

use super::Session;
use crate::{error::SqlError, expr::text, privileges::needed, state::Replica};
use cohort_engine::{
    log::{FollowError, Follower, Start, Step, file_name},
    types::{GtidSet, Value},
};
use std::{sync::Arc, time::Duration};

/// Where a replica begins.
#[derive(Clone, Debug)]
pub enum DumpStart {
    /// At a byte of a file; an empty name is the first file's.
    At(String, u64),
    /// Behind the transactions that it has.
    Behind(GtidSet),
}

/// What a replica is sent.
pub struct Dump {
    /// The events.
    pub follower: Follower,
    /// After so long a silence it is told that nothing has happened; `None`: never.
    pub heartbeat: Option<Duration>,
    /// It says what it has (semi-synchronous replication).
    pub answers: bool,
    /// This server's UUID, for error texts.
    source: String,
}

impl Dump {
    /// Goes one step on; 1236 if the log cannot be read there.
    pub fn step(&mut self) -> Result<Step<'_>, SqlError> {
        let source = &self.source;
        let step = self.follower.step();
        step.map_err(|error| follow_error(&error, source))
    }
}

impl Session {
    /// COM_REGISTER_SLAVE.
    pub fn register_replica(
        &mut self,
        server_id: u32,
        host: String,
        port: u16,
    ) -> Result<(), SqlError> {
        self.may_follow()?;
        let uuid = self.told(&["replica_uuid", "slave_uuid"]);
        let replica = Replica {
            server_id,
            host,
            port,
            uuid: uuid.unwrap_or_default(),
        };
        let replicas = &self.state.instance.replicas;
        replicas.register(self.state.id, replica);
        Ok(())
    }

    /// COM_BINLOG_DUMP and COM_BINLOG_DUMP_GTID: begins to follow the log.
    pub fn begin_dump(&mut self, start: DumpStart, server_id: u32) -> Result<Dump, SqlError> {
        let command = match start {
            DumpStart::At(..) => "Binlog Dump",
            DumpStart::Behind(_) => "Binlog Dump GTID",
        };
        self.begin_statement(command, None);
        let begun = self.follow(start, server_id);
        let begun = self.audit_refusal("binlog_dump", "", begun);
        if begun.is_ok() {
            self.audit_connection("binlog_dump")?;
        }
        match begun {
            // It lasts until the connection ends.
            Ok(dump) => Ok(dump),
            Err(error) => self.end_statement(Err(error)),
        }
    }

    /// The end of what a replica was sent that did not want to wait for more.
    pub fn end_dump(&mut self) {
        let ended: Result<(), SqlError> = self.end_statement(Ok(()));
        drop(ended);
    }

    fn follow(&mut self, start: DumpStart, server_id: u32) -> Result<Dump, SqlError> {
        self.may_follow()?;
        let checksum = self.told(&["source_binlog_checksum", "master_binlog_checksum"]);
        let Some(checksum) = checksum else {
            return Err(SqlError::log_cannot_be_read(
                "Replica can not handle replication events with the checksum that source is \
                 configured to log",
            ));
        };
        let sums = !checksum.eq_ignore_ascii_case("NONE");
        let period = self.told(&["source_heartbeat_period", "master_heartbeat_period"]);
        let nanos = period.and_then(|nanos| nanos.parse().ok());
        let heartbeat = nanos.filter(|nanos| *nanos > 0);
        // No more than a thousand a second, as MySQL's replicas ask for at most.
        let heartbeat =
            heartbeat.map(|nanos| Duration::from_nanos(nanos).max(Duration::from_millis(1)));
        let instance = Arc::clone(&self.state.instance);
        let uuid = instance.engine.server_uuid();
        let start = match start {
            DumpStart::At(file, position) => Start::At(file, position),
            DumpStart::Behind(has) => Start::Without(has),
        };
        let follower = instance.engine.log().follow(start, sums);
        let mut follower = follower.map_err(|error| follow_error(&error, uuid))?;
        let answers = self.told(&["rpl_semi_sync_replica", "rpl_semi_sync_slave"]);
        let answers = answers.is_some_and(|said| said != "0");
        if answers {
            follower.answers();
        }
        // Whoever follows for nobody in particular, like mysqlbinlog, is not taken for another.
        let who = self.told(&["replica_uuid", "slave_uuid"]);
        let who = who.or_else(|| (server_id > 0).then(|| server_id.to_string()));
        if let Some(who) = who {
            for left in instance.replicas.follow(self.state.id, &who) {
                instance.sessions.kill_connection(left);
            }
        }
        Ok(Dump {
            follower,
            heartbeat,
            answers,
            source: uuid.to_owned(),
        })
    }

    fn may_follow(&self) -> Result<(), SqlError> {
        self.state.need(needed::REPLICATION_SLAVE)
    }

    /// What the first of these user variables says that is set.
    fn told(&self, names: &[&str]) -> Option<String> {
        let mut values = names.iter().map(|name| self.state.user_variable(name));
        values.find_map(|value| match value {
            Value::Null => None,
            value => {
                let mut out = Vec::new();
                text(&value, 31, &mut out);
                Some(String::from_utf8_lossy(&out).into_owned())
            }
        })
    }
}

/// 1236: why the log cannot be followed, in MySQL's words where it has them.
fn follow_error(error: &FollowError, uuid: &str) -> SqlError {
    SqlError::log_cannot_be_read(match error {
        FollowError::NoFile => "Could not find first log file name in binary log index file".into(),
        FollowError::BeforeEvents => {
            "Client requested source to start replication from position < 4".into()
        }
        FollowError::BehindEnd => {
            "Client requested source to start replication from position > file size".into()
        }
        FollowError::NoEvent(position) => format!(
            "no event begins at position {} of {}, or it is damaged",
            position.offset,
            file_name(position.file)
        ),
        FollowError::Ahead(here) => format!(
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID {uuid}. The \
             source has '{here}': it may have lost its last transactions, or was restored \
             to an earlier time"
        ),
        FollowError::Purged(missing) => format!(
            "Cannot replicate because the source purged required binary logs. Replicate the \
             missing transactions from elsewhere, or provision a new replica from backup. Consider \
             increasing the source's binary log expiration period. The missing \
             transactions are '{missing}'"
        ),
        FollowError::Failed(why) => why.clone(),
    })
}

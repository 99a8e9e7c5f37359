//! A SQL session as a client has it.

use crate::Handler;
use cohort_engine::{
    txn::{Owner, Placed},
    types::{Collation, Value},
};
use cohort_scheduler::Standing;
use cohort_sql::{
    Attributes, Output, Session, SqlError,
    session::{BackUp, BackupKind, Dump, DumpStart, Identity, Prepared},
    statements::LateNote,
    status::Counter,
};
use std::{sync::Arc, time::Duration};

impl Handler for Session {
    fn query(&mut self, sql: &[u8], multi: bool, out: &mut dyn Output) -> Result<(), SqlError> {
        let sql = self.client_charset().decode(sql);
        Session::query(self, &sql, multi, out)
    }
    fn prepare(&mut self, sql: &[u8]) -> Result<Prepared, SqlError> {
        let sql = self.client_charset().decode(sql);
        Session::prepare(self, &sql)
    }
    fn execute(
        &mut self,
        id: u32,
        parameters: &[Value],
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let charset = self.client_charset();
        if charset.is_as_stored() {
            return Session::execute(self, id, parameters, out);
        }
        let decode = |value: &Value| {
            if let Value::Bytes(bytes) = value {
                let text = charset.decode(bytes);
                // What is no text stays as it is.
                if charset.foreign_at(&text).is_none() {
                    return Value::Bytes(text.into_owned());
                }
            }
            value.clone()
        };
        let decoded: Vec<Value> = parameters.iter().map(decode).collect();
        Session::execute(self, id, &decoded, out)
    }
    fn register_replica(
        &mut self,
        server_id: u32,
        host: String,
        port: u16,
    ) -> Result<(), SqlError> {
        Session::register_replica(self, server_id, host, port)
    }
    fn begin_dump(&mut self, start: DumpStart, server_id: u32) -> Result<Dump, SqlError> {
        Session::begin_dump(self, start, server_id)
    }
    fn begin_backup(&mut self, kind: BackupKind) -> Result<BackUp, SqlError> {
        Session::begin_backup(self, kind)
    }
    fn end_dump(&mut self) {
        Session::end_dump(self);
    }
    fn close(&mut self, id: u32) {
        Session::close(self, id);
    }
    fn use_database(&mut self, name: &str) -> Result<(), SqlError> {
        let used = Session::use_database(self, name);
        self.audit_refusal("change_db", name, used)
    }
    fn reset(&mut self, who: Option<Identity>) {
        Session::reset(self, who);
    }
    fn set_attributes(&mut self, attributes: Attributes) {
        Session::set_attributes(self, attributes);
    }
    fn results_collation(&self) -> Option<Collation> {
        Session::results_collation(self)
    }
    fn status(&self) -> u16 {
        Session::status(self)
    }
    fn take_placed(&mut self) -> Option<Placed> {
        Session::take_placed(self)
    }
    fn idle_timeout(&self) -> Duration {
        let settings = self.state().settings();
        let in_transaction = settings.idle_transaction_s_max;
        let seconds = if self.state().in_transaction && in_transaction > 0 {
            settings.idle_s_max.min(in_transaction)
        } else {
            settings.idle_s_max
        };
        Duration::from_secs(seconds)
    }
    fn read_timeout(&self) -> Duration {
        Duration::from_secs(self.state().settings().read_s_max)
    }
    fn write_timeout(&self) -> Duration {
        Duration::from_secs(self.state().settings().write_s_max)
    }
    fn standing(&self) -> Standing {
        let settings = self.state().settings();
        Standing {
            mode: settings.high_priority,
            engaged: self.state().is_engaged(),
            holds_locks: self.holds_locks(),
            tickets: settings.high_priority_tickets,
        }
    }
    fn owner(&self) -> Arc<Owner> {
        Arc::clone(&self.state().owner)
    }
    fn max_allowed_packet(&self) -> usize {
        usize::try_from(self.state().settings().packet_bytes_max).unwrap_or(usize::MAX)
    }
    fn is_over(&self) -> bool {
        self.is_closing()
    }
    fn is_killed(&self) -> bool {
        Session::is_killed(self)
    }
    fn has_first_statements(&self) -> bool {
        Session::has_init_connect(self)
    }
    fn run_first_statements(&mut self) -> Result<(), (SqlError, SqlError)> {
        Session::run_init_connect(self)
    }
    fn count_bytes(&self, received: u64, sent: u64) {
        let counters = self.state().counters();
        counters.add(Counter::BytesReceived, received);
        counters.add(Counter::BytesSent, sent);
    }
    fn take_note(&mut self) -> Option<LateNote> {
        Session::take_note(self)
    }
    fn replied(&mut self) {
        self.tell_ended();
    }
    fn connected(&self, means: &'static str, line: &str) -> Result<(), SqlError> {
        self.state().set_means(means);
        Session::log_command(self, "Connect", line);
        self.audit_connection("connect")
    }
    fn changed_user(&self, line: &str) -> Result<(), SqlError> {
        Session::log_command(self, "Change user", line);
        self.audit_connection("change_user")
    }
    fn log_command(&self, command: &str, argument: &str) {
        Session::log_command(self, command, argument);
    }
}

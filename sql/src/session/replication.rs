//! Statements of a replica, and BINLOG.

use super::Session;
use crate::{
    command::{Encoded, Replication},
    error::SqlError,
    output::Output,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use cohort_engine::{
    log::incoming::{Flaw, Incoming, What},
    types::Value,
};
use std::sync::Arc;

impl Session {
    /// CHANGE REPLICATION SOURCE, START, STOP and RESET REPLICA.
    pub(super) fn replicate(
        &mut self,
        what: &Replication,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        // The applier may be waiting for what this session holds.
        if self.locked.is_some() {
            return Err(SqlError::lock_or_active_transaction());
        }
        let instance = Arc::clone(&self.state.instance);
        let replication = instance.replication()?;
        let warning = match what {
            Replication::Change(options) => {
                replication.change(options)?;
                None
            }
            Replication::Filter(rules) => {
                replication.filter(rules)?;
                None
            }
            Replication::Start(until) => {
                (!replication.start(until.as_ref())?).then(|| SqlError::replica_runs("running"))
            }
            Replication::Stop => {
                let stopped = replication.stop()?;
                (!stopped).then(SqlError::replica_stopped)
            }
            Replication::Reset { all } => {
                replication.reset(*all)?;
                None
            }
        };
        if let Some(warning) = warning {
            self.state.warnings.note(warning);
        }
        self.done(0, String::new(), out)
    }

    /// BINLOG: the events that mysqlbinlog has written, in base64.
    pub(super) fn binlog(
        &mut self,
        encoded: &Encoded,
        out: &mut dyn Output,
    ) -> Result<(), SqlError> {
        let text = match encoded {
            Encoded::Text(text) => text.clone().into_bytes(),
            Encoded::Variables(names) => {
                let values = names.iter().map(|name| self.state.user_variable(name));
                let texts = values.map(|value| match value {
                    Value::Bytes(text) => text,
                    _ => Vec::new(),
                });
                texts.collect::<Vec<_>>().concat()
            }
        };
        let events = decode(&text).ok_or_else(SqlError::base64_decode_failed)?;
        let idempotent = self.state.variables.values().text("rbr_exec_mode") == "IDEMPOTENT";
        self.applying.idempotent = idempotent;
        let mut rest = events.as_slice();
        while !rest.is_empty() {
            let flawed = |flaw: Flaw| SqlError::internal(flaw.to_string());
            let (event, behind) = Incoming::split_first(rest).map_err(flawed)?;
            rest = behind;
            let checksums = self.applying.checksums;
            let event = Incoming::parse(event, checksums.unwrap_or(false)).map_err(flawed)?;
            self.repeat_event(event.what, checksums.is_some())?;
        }
        self.done(0, String::new(), out)
    }

    fn repeat_event(&mut self, what: What<'_>, is_described: bool) -> Result<(), SqlError> {
        let described = |name: &str| match is_described {
            true => Ok(()),
            false => Err(SqlError::no_format_description(name)),
        };
        let refused = |name: &str| Err(SqlError::only_rows_in_binlog(name));
        match what {
            What::Format { checksums, .. } => {
                self.applying.checksums = Some(checksums);
                Ok(())
            }
            What::TableMap(map) => {
                described("Table_map")?;
                // Its rows are refused if they are the server's own.
                let _ = self.map_table(map);
                Ok(())
            }
            What::Rows(rows) => {
                described("Rows")?;
                self.apply_rows(&rows)
            }
            What::Nothing => Ok(()),
            What::Rotate { .. } => refused("Rotate"),
            What::Gtid(_) | What::MariaGtid { .. } | What::Tagged => refused("Gtid"),
            What::Anonymous => refused("Anonymous_Gtid"),
            What::Query(_) => refused("Query"),
            What::Xid => refused("Xid"),
            What::XaPrepare { .. } => refused("XA_prepare"),
            What::Payload(_) => refused("Transaction_payload"),
            What::Heartbeat => refused("Heartbeat"),
            What::Stop => refused("Stop"),
            What::Unknown(name) => refused(&name),
        }
    }
}

/// The bytes of several texts in base64, one after another, with line ends anywhere.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let (groups, []) = digits.as_chunks::<4>() else {
        return None;
    };
    if groups.is_empty() {
        return None;
    }
    // Each may end with padding, in the middle of all.
    let mut bytes = Vec::with_capacity(groups.len() * 3);
    for chunk in groups.chunk_by(|group, _| group[3] != b'=') {
        STANDARD.decode_vec(chunk.as_flattened(), &mut bytes).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn several_texts_are_decoded_as_one() {
        assert_eq!(
            decode(b"YQ==\nYmM=\nZGVm\n").as_deref(),
            Some(&b"abcdef"[..])
        );
        for text in ["", "abc", "!!!!", "YQ=="] {
            assert_eq!(decode(text.as_bytes()).is_some(), text == "YQ==", "{text}");
        }
    }
}

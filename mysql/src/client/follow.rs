//! Following a server's binary log, as a replica does.

use super::{Client, Error, PACKET_MAX, ServerError, put_command};
use crate::{constants::command, packet::Writer, semi_sync};
use cohort_engine::types::GtidSet;

/// Where to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// With the transactions that are not among these.
    Without(GtidSet),
    /// At a byte of a file.
    At {
        /// The file's name; empty for the first one.
        file: String,
        /// The byte.
        position: u32,
    },
}

/// Who follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    /// Its server_id.
    pub server_id: u32,
    /// Its port, for SHOW REPLICAS.
    pub port: u16,
}

impl Client {
    /// Begins to follow (COM_REGISTER_SLAVE, then COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID). What
    /// the server is to know of the replica has been said in user variables.
    pub fn follow(&mut self, who: &Follower, from: &From) -> Result<(), Error> {
        let mut register = who.server_id.to_le_bytes().to_vec();
        register.extend_from_slice(&[0; 3]); // host, user, password: empty
        register.extend_from_slice(&who.port.to_le_bytes());
        register.extend_from_slice(&[0; 8]); // rank, the source's id
        put_command(&mut self.writer, command::REGISTER_SLAVE, &register);
        self.send()?;
        self.reader.next(&mut &self.stream, PACKET_MAX)?;
        if let [0xff, error @ ..] = self.reader.payload() {
            return Err(Error::Server(ServerError::parse(error)));
        }
        request(&mut self.writer, who, from);
        self.send()?;
        Ok(())
    }

    /// Whether another event has come already.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.reader.holds_packet()
    }

    /// Says that this replica has everything up to there. The source counts packets anew then.
    pub fn answer(&mut self, file: &str, position: u64) -> Result<(), Error> {
        self.writer.sequence = 0;
        self.writer.begin();
        let answer = semi_sync::answer(file, position);
        self.writer.buffer.extend_from_slice(&answer);
        self.writer.end();
        self.send()?;
        Ok(())
    }

    /// The next event, with its header; `None`: the server has no more to say.
    pub fn event(&mut self) -> Result<Option<&[u8]>, Error> {
        self.reader.next(&mut &self.stream, PACKET_MAX)?;
        match self.reader.payload() {
            [0, event @ ..] => Ok(Some(event)),
            [0xff, error @ ..] => Err(Error::Server(ServerError::parse(error))),
            [0xfe, ..] => Ok(None),
            _ => Err(super::malformed()),
        }
    }
}

fn request(out: &mut Writer, who: &Follower, from: &From) {
    /// Where events begin in a file.
    const FIRST: u64 = 4;
    const HEARTBEAT_V2: u16 = 2;
    const THROUGH_GTID: u16 = 4;
    let mut bytes = Vec::new();
    match from {
        From::At { file, position } => {
            bytes.extend_from_slice(&position.to_le_bytes());
            bytes.extend_from_slice(&HEARTBEAT_V2.to_le_bytes());
            bytes.extend_from_slice(&who.server_id.to_le_bytes());
            bytes.extend_from_slice(file.as_bytes());
            put_command(out, command::BINLOG_DUMP, &bytes);
        }
        From::Without(set) => {
            bytes.extend_from_slice(&(HEARTBEAT_V2 | THROUGH_GTID).to_le_bytes());
            bytes.extend_from_slice(&who.server_id.to_le_bytes());
            bytes.extend_from_slice(&0_u32.to_le_bytes()); // no file
            bytes.extend_from_slice(&FIRST.to_le_bytes());
            let set = set.encode();
            bytes.extend_from_slice(&u32::try_from(set.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(&set);
            put_command(out, command::BINLOG_DUMP_GTID, &bytes);
        }
    }
}

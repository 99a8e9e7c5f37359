//! Groups of commits, as the binary log tells them: read over the network, as a replica does.

use crate::lab::{control::Control, server::Server};
use cohort_engine::log::{
    Groups, Membership,
    incoming::{Incoming, What},
};
use cohort_mysql::client::follow::{Follower, From};
use serde::Serialize;
use std::time::Duration;

/// How long the server may say nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// The server_id of the one who reads, which no replica has: this, and something of the process.
const SERVER_ID: u32 = 3_900_000_000;

/// A place in the binary log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: String,
    position: u64,
}

/// What the binary log says of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Logged {
    /// Transactions.
    pub transactions: u64,
    /// Groups of them: followers with the same `last_committed` (MariaDB: commit_id).
    pub groups: u64,
    /// The most transactions that a group had.
    pub largest: u64,
    /// That is a group. It is not, if the server writes there which transactions changed the same
    /// rows.
    pub tells_groups: bool,
}

/// Where the log is now.
///
/// # Errors
/// The server does not tell, or writes none.
pub fn place(control: &mut Control) -> Result<Place, String> {
    let asked = control
        .query("SHOW BINARY LOG STATUS")
        .or_else(|_| control.query("SHOW MASTER STATUS"));
    let rows = asked.map_err(|error| error.to_string())?;
    let mut row = rows.into_iter().next().ok_or("it writes none")?.into_iter();
    let file = row.next().flatten();
    let position = row.next().flatten().and_then(|text| text.parse().ok());
    let place = file
        .zip(position)
        .map(|(file, position)| Place { file, position });
    place.ok_or_else(|| "the server does not tell where it is".into())
}

/// Counts groups between two places.
///
/// # Errors
/// The log cannot be read; the text says why.
pub fn groups(
    server: &mut Server,
    has_key: bool,
    (from, to): (&Place, &Place),
) -> Result<Logged, String> {
    let tells_groups = tells_groups(server, has_key)?;
    let mut endpoint = server.endpoint.clone();
    // It need not be there.
    endpoint.account.database.clear();
    let mut client = endpoint.connect().map_err(|error| error.to_string())?;
    let read = read(&mut client, from, to);
    let mut groups = read.map_err(|error| format!("it cannot be read: {error}"))?;
    groups.end();
    Ok(Logged {
        transactions: groups.transactions,
        groups: groups.count,
        largest: groups.largest,
        tells_groups,
    })
}

/// MySQL writes the clock of writesets by default from 8.4 on, and newer ones cannot do otherwise. A
/// table without a key has no writesets.
fn tells_groups(server: &mut Server, has_key: bool) -> Result<bool, String> {
    let is_other = server.is_cohort() || server.version.contains("MariaDB");
    if !has_key || is_other {
        return Ok(true);
    }
    let tracking = server
        .control()
        .variable("binlog_transaction_dependency_tracking");
    let tracking = tracking.map_err(|error| error.to_string())?;
    Ok(tracking.is_some_and(|tracking| tracking == "COMMIT_ORDER"))
}

fn read(client: &mut Control, from: &Place, to: &Place) -> Result<Groups, String> {
    let failed = |error: crate::lab::control::Error| error.to_string();
    client
        .set_answer_timeout(Some(PATIENCE))
        .map_err(|error| error.to_string())?;
    let checksum = client.variable("binlog_checksum").map_err(failed)?;
    let mut sums = checksum.is_some_and(|kind| kind.eq_ignore_ascii_case("CRC32"));
    let kind = if sums { "CRC32" } else { "NONE" };
    for sql in [
        format!("SET @source_binlog_checksum = '{kind}'"),
        format!("SET @master_binlog_checksum = '{kind}'"),
        // It knows GTIDs as MariaDB writes them.
        "SET @mariadb_slave_capability = 4".to_owned(),
    ] {
        client.execute(&sql).map_err(failed)?;
    }
    let who = Follower {
        server_id: SERVER_ID + std::process::id() % 1_000_000,
        port: 0,
    };
    let position = u32::try_from(from.position).map_err(|_| "it is behind 4 GiB of a file")?;
    let file = from.file.clone();
    client
        .follow(&who, &From::At { file, position })
        .map_err(failed)?;
    let mut groups = Groups::default();
    let (mut file, mut end) = (from.file.clone(), from.position);
    while file != to.file || end < to.position {
        let Some(event) = client.event().map_err(failed)? else {
            return Err("it ends before its end".into());
        };
        if let Some(membership) = Membership::of(event) {
            groups.member(membership);
        }
        let incoming = Incoming::parse(event, sums).map_err(|flaw| flaw.to_string())?;
        if incoming.end > 0 {
            end = end.max(incoming.end.into());
        }
        match incoming.what {
            What::Format { checksums, .. } => sums = checksums,
            What::Rotate {
                file: next,
                position,
            } => (file, end) = (next, position),
            _ => {}
        }
    }
    Ok(groups)
}

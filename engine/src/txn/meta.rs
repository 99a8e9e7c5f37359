//! What the Base's `meta` tree holds, beside the dictionary's records (see `dictionary`).
//!
//! | key | value |
//! |---|---|
//! | `m` | JSON of [`Header`] |
//! | `b` | how many times trees were built straight into the Base, 8 bytes little endian |
//! | `x` xid, as text, and its prepare's Seq, 8 bytes big endian | microseconds since 1970 of the prepare, 8 bytes little endian; its events |
//! | `c` table number, 4 bytes big endian | next AUTO_INCREMENT value, next hidden row number: 8 bytes little endian each; none: 1 and 1 |

use super::{
    TxnError,
    dictionary::{Dictionary, is_dictionary_key},
    prepared_list::{Record, Records},
    table_state::{Counters, TableState},
};
use crate::{
    Seq,
    log::{Kept, Position},
    store::base::{BaseSnapshot, BaseWrite},
    types::Xid,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    ops::RangeInclusive,
    sync::{Arc, atomic::Ordering},
};

/// The version of the data directory's format that this program writes.
///
/// 2: prepared transactions are kept. 3: the file has checksums, and it is known to which log the
/// Base belongs and what was built in it. 4: trees can be over others; without any it is as 3 was.
pub(super) const FORMAT: u32 = 4;

/// Those that it reads.
pub(super) const KNOWN_FORMATS: RangeInclusive<u32> = 3..=FORMAT;

const HEADER: &[u8] = b"m";
const BUILDS: &[u8] = b"b";
const COUNTERS: u8 = b'c';
const PREPARED: u8 = b'x';

/// What the Base as a whole is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    /// See `FORMAT`.
    pub format: u32,
    /// It holds all commits up to this one and nothing of later ones.
    pub applied: Seq,
    /// Where in the log to begin looking for later ones.
    pub position: Position,
    /// The next number for a table or tree.
    pub next_id: u32,
    /// The source of the GTIDs in the log that `position` is in: the server's UUID at that time.
    pub log_source: String,
    /// The GTIDs of the commits up to `applied`; none before there were others than the server's
    /// own, which are numbered as the commits are.
    #[serde(default)]
    pub gtids: Option<Kept>,
}

/// Replaces the dictionary.
pub(super) fn write_dictionary(
    write: &BaseWrite<'_>,
    dictionary: &Dictionary,
) -> Result<(), TxnError> {
    let mut meta = write.meta()?;
    let records = dictionary.to_records();
    let kept: HashSet<&[u8]> = records.iter().map(|(key, _)| key.as_slice()).collect();
    for key in meta.keys()? {
        let counters_of = |id: &[u8]| {
            let id = id.try_into().map_or(0, u32::from_be_bytes);
            dictionary.entry(id).is_some()
        };
        let gone = match key.split_first() {
            Some((&COUNTERS, id)) => !counters_of(id),
            _ => is_dictionary_key(&key) && !kept.contains(key.as_slice()),
        };
        if gone {
            meta.remove(&key)?;
        }
    }
    for (key, value) in &records {
        meta.put(key, value)?;
    }
    Ok(())
}

/// Replaces the header.
pub(super) fn write_header(write: &BaseWrite<'_>, header: &Header) -> Result<(), TxnError> {
    let json = serde_json::to_vec(header)
        .map_err(|error| TxnError::Corrupt(format!("the base's header: {error}")))?;
    write.meta()?.put(HEADER, &json)?;
    Ok(())
}

/// Numbers a commit that builds a tree straight into the Base. What such trees hold is not in the
/// log, so the log says up to which number it needs them.
pub(super) fn write_builds(write: &BaseWrite<'_>, builds: u64) -> Result<(), TxnError> {
    write.meta()?.put(BUILDS, &builds.to_le_bytes())?;
    Ok(())
}

/// Counters that a write of the Base has put. They count as written only when it is committed.
#[must_use = "they must be noted as written after the commit"]
pub(super) struct PutCounters(Vec<(Arc<TableState>, Counters)>);

impl PutCounters {
    /// The write was committed.
    pub fn committed(self) {
        for (state, counters) in self.0 {
            *state.written.lock() = counters;
        }
    }
}

/// Puts the tables' counters that are others than the Base has.
pub(super) fn put_counters(
    write: &BaseWrite<'_>,
    dictionary: &Dictionary,
) -> Result<PutCounters, TxnError> {
    let mut meta = write.meta()?;
    let mut put = Vec::new();
    for state in dictionary.states() {
        let counters = state.counters();
        if *state.written.lock() == counters {
            continue;
        }
        let mut key = vec![COUNTERS];
        key.extend_from_slice(&state.id.to_be_bytes());
        let mut value = Vec::with_capacity(16);
        value.extend_from_slice(&counters.auto_increment.to_le_bytes());
        value.extend_from_slice(&counters.next_row.to_le_bytes());
        meta.put(&key, &value)?;
        put.push((Arc::clone(state), counters));
    }
    Ok(PutCounters(put))
}

/// Replaces the prepared transactions. Their events never change, so those that are there stay.
pub(super) fn write_prepared(write: &BaseWrite<'_>, records: &Records) -> Result<(), TxnError> {
    let mut meta = write.meta()?;
    let key_of = |(xid, record): (&Xid, &Arc<Record>)| {
        let mut key = vec![PREPARED];
        key.extend_from_slice(xid.to_string().as_bytes());
        // The same name may have been used again.
        key.extend_from_slice(&record.seq.to_be_bytes());
        key
    };
    let wanted: HashSet<Vec<u8>> = records.iter().map(key_of).collect();
    let mut known = HashSet::new();
    for key in meta.keys()? {
        if key.first() != Some(&PREPARED) {
            continue;
        }
        if !wanted.contains(&key) {
            meta.remove(&key)?;
        }
        known.insert(key);
    }
    for (xid, record) in records {
        let key = key_of((xid, record));
        if known.contains(&key) {
            continue;
        }
        let mut value = Vec::with_capacity(8 + record.events.len());
        value.extend_from_slice(&record.since_us.to_le_bytes());
        value.extend_from_slice(&record.events);
        meta.put(&key, &value)?;
    }
    Ok(())
}

fn read_prepared(key: &[u8], value: &[u8]) -> Option<(Xid, Arc<Record>)> {
    let (xid, seq) = key.split_last_chunk()?;
    let (since_us, events) = value.split_first_chunk()?;
    let record = Record {
        seq: Seq::from_be_bytes(*seq),
        since_us: u64::from_le_bytes(*since_us),
        events: Arc::from(events),
    };
    Some((Xid::parse(xid)?, Arc::new(record)))
}

/// All that `meta` holds.
pub(super) struct Meta {
    pub header: Header,
    /// How many times trees were built straight into the Base.
    pub builds: u64,
    pub dictionary: Dictionary,
    pub prepared: Records,
}

/// Reads all of it.
pub(super) fn read(base: &BaseSnapshot) -> Result<Meta, TxnError> {
    let corrupt = |what: &str| TxnError::Corrupt(format!("the base's {what} cannot be read"));
    let mut builds = 0;
    let mut header = None;
    let mut dictionary = Dictionary::default();
    let mut counters = Vec::new();
    let mut prepared = Records::new();
    for (key, value) in base.meta()? {
        if key == HEADER {
            header = Some(serde_json::from_slice(&value).map_err(|_| corrupt("header"))?);
        } else if key == BUILDS {
            let number = value.as_slice().try_into().map(u64::from_le_bytes);
            builds = number.map_err(|_| corrupt("number of builds"))?;
        } else if is_dictionary_key(&key) {
            dictionary.apply(&key, Some(&value), 0)?;
        } else if let Some((&PREPARED, rest)) = key.split_first() {
            let record = read_prepared(rest, &value);
            let (xid, record) =
                record.ok_or_else(|| corrupt("record of a prepared transaction"))?;
            prepared.insert(xid, record);
        } else if let Some((&COUNTERS, id)) = key.split_first() {
            counters.push((id.try_into().map_or(0, u32::from_be_bytes), value));
        }
    }
    for (id, value) in counters {
        if let Some((_, state)) = dictionary.entry(id) {
            read_counters(state, &value);
        }
    }
    Ok(Meta {
        header: header.ok_or_else(|| corrupt("header"))?,
        builds,
        dictionary,
        prepared,
    })
}

fn read_counters(state: &Arc<TableState>, value: &[u8]) {
    let number = |place: usize| {
        let bytes = value.get(place * 8..place * 8 + 8).unwrap_or_default();
        bytes.try_into().map_or(0, u64::from_le_bytes)
    };
    let written = Counters {
        auto_increment: number(0),
        next_row: number(1),
    };
    let Counters {
        auto_increment,
        next_row,
    } = written;
    state
        .auto_increment
        .fetch_max(auto_increment, Ordering::Relaxed);
    state.next_row.fetch_max(next_row, Ordering::Relaxed);
    *state.written.lock() = written;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::tests::{create, create_table, disk, open};

    #[test]
    fn counters_are_put_when_they_have_changed() {
        let disk = disk();
        let engine = open(&disk.env());
        let table = create(&engine);
        create_table(&engine, "other", true);
        let put = || {
            let write = engine.inner.base.write().expect("a write");
            let put = put_counters(&write, &engine.dictionary()).expect("counters");
            put.0.iter().map(|(state, _)| state.id).collect::<Vec<_>>()
        };
        assert!(put().is_empty(), "of new tables");
        engine.auto_increment(&table, 1);
        assert_eq!(put(), [table.id]);
        assert_eq!(put(), [table.id], "the write was given up");
        create_table(&engine, "third", true);
        engine.checkpoint().expect("a checkpoint");
        assert!(put().is_empty(), "the Base has them");
    }
}

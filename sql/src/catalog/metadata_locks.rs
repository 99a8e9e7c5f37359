//! performance_schema.metadata_locks: what transactions, LOCK TABLES, definitions and GET_LOCK() hold
//! and wait for.

use super::{Rows, number, text};
use crate::state::State;
use cohort_engine::{
    txn::{MetadataLockInfo, MetadataObject, TableLock},
    types::Value,
};

/// A lock in MySQL's words.
struct Lock {
    object_type: &'static str,
    schema: Value,
    name: Value,
    lock_type: &'static str,
    duration: &'static str,
    granted: bool,
    owner: u64,
}

pub(super) fn rows(session: &State) -> Rows {
    let instance = &session.instance;
    let mut locks = Vec::new();
    for lock in instance.engine.metadata_locks() {
        match lock.object {
            MetadataObject::Table(id) => {
                // What is not in the dictionary is gone, or about to come: nobody can ask for it.
                if let Some(table) = instance.engine.dictionary().table_by_id(id) {
                    let names = (text(&table.database), text(&table.name));
                    locks.push(of_table(&lock, names));
                }
            }
            MetadataObject::Writes => {
                locks.push(of_server("GLOBAL", &lock));
                // MySQL has a lock of its own that keeps commits out; here it is the same one.
                if lock.mode == TableLock::ReadOnly && lock.granted {
                    locks.push(of_server("COMMIT", &lock));
                }
            }
            MetadataObject::Definitions => locks.push(of_server("BACKUP LOCK", &lock)),
        }
    }
    let named = instance.user_locks.list().into_iter();
    locks.extend(named.map(|lock| Lock {
        object_type: "USER LEVEL LOCK",
        schema: Value::Null,
        name: text(lock.name),
        lock_type: "EXCLUSIVE",
        duration: "EXPLICIT",
        granted: lock.granted,
        owner: lock.session,
    }));
    let row = |(lock, place): (Lock, u64)| {
        vec![
            text(lock.object_type),
            lock.schema,
            lock.name,
            Value::Null,
            // MySQL has the lock's address, which is only good for telling locks apart.
            number(place),
            text(lock.lock_type),
            text(lock.duration),
            text(if lock.granted { "GRANTED" } else { "PENDING" }),
            Value::Null,
            number(lock.owner),
            Value::Null,
        ]
    };
    locks.into_iter().zip(1..).map(row).collect()
}

fn of_table(lock: &MetadataLockInfo, (schema, name): (Value, Value)) -> Lock {
    Lock {
        object_type: "TABLE",
        schema,
        name,
        lock_type: match lock.mode {
            TableLock::Read => "SHARED_READ",
            TableLock::Write => "SHARED_WRITE",
            TableLock::Changing => "SHARED_UPGRADABLE",
            TableLock::ReadOnly if lock.by_ddl => "SHARED_NO_WRITE",
            TableLock::ReadOnly => "SHARED_READ_ONLY",
            TableLock::Exclusive if lock.by_ddl => "EXCLUSIVE",
            TableLock::Exclusive => "SHARED_NO_READ_WRITE",
        },
        duration: "TRANSACTION",
        granted: lock.granted,
        owner: lock.session,
    }
}

/// Who changes something has an intention lock, who keeps others from that a shared one.
fn of_server(object_type: &'static str, lock: &MetadataLockInfo) -> Lock {
    let (lock_type, duration) = match (lock.mode, lock.object) {
        (TableLock::ReadOnly | TableLock::Exclusive, _) => ("SHARED", "EXPLICIT"),
        (_, MetadataObject::Definitions) => ("INTENTION_EXCLUSIVE", "TRANSACTION"),
        _ => ("INTENTION_EXCLUSIVE", "STATEMENT"),
    };
    Lock {
        object_type,
        schema: Value::Null,
        name: Value::Null,
        lock_type,
        duration,
        granted: lock.granted,
        owner: lock.session,
    }
}

//! Those who follow the log, as SHOW REPLICAS tells of them.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What a replica has said of itself (COM_REGISTER_SLAVE).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// Its server_id.
    pub server_id: u32,
    /// report_host; often empty.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its server_uuid, if it has told it (@replica_uuid).
    pub uuid: String,
}

/// All that are connected.
#[derive(Default)]
pub struct Replicas(Mutex<State>);

#[derive(Default)]
struct State {
    registered: BTreeMap<u64, Replica>,
    /// Who follows the log, by connection: the replica's UUID, or its server_id without one.
    following: BTreeMap<u64, String>,
}

impl Replicas {
    /// A connection is a replica's.
    pub fn register(&self, connection: u64, replica: Replica) {
        self.0.lock().registered.insert(connection, replica);
    }
    /// A connection begins to follow the log; the connections that did for the same replica, which
    /// has left them behind.
    pub fn follow(&self, connection: u64, who: &str) -> Vec<u64> {
        let following = &mut self.0.lock().following;
        let same = |(other, follows): (&u64, &String)| {
            (follows == who && *other != connection).then_some(*other)
        };
        let left = following.iter().filter_map(same).collect();
        following.insert(connection, who.to_owned());
        left
    }
    /// A connection has ended.
    pub fn leave(&self, connection: u64) {
        let mut state = self.0.lock();
        state.registered.remove(&connection);
        state.following.remove(&connection);
    }
    /// Those who have registered.
    #[must_use]
    pub fn list(&self) -> Vec<Replica> {
        self.0.lock().registered.values().cloned().collect()
    }
}

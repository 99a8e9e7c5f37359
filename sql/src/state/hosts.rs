//! The hosts that clients come from, and what went wrong with them: performance_schema.host_cache.
//!
//! Names are not looked up, so that a host is its address. Nobody is kept out for what is in the table, as
//! in MySQL with skip_name_resolve. Of host_cache_size hosts this is known, of those that came last; 0: of
//! none.

use crate::error::SqlError;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// What can go wrong with a client that wants to come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It knows no method by which its account proves who it is.
    NoPlugin,
    /// It went, or spoke nonsense, before it had said who it is.
    Handshake,
    /// Who it is it could not prove.
    Authentication,
    /// max_user_connections.
    UserConnections,
    /// The database that it asked for.
    Database,
    /// init_connect failed.
    InitConnect,
    /// ACCOUNT LOCK.
    Locked,
    /// FAILED_LOGIN_ATTEMPTS.
    TemporarilyLocked,
    /// Another error.
    Other,
}

/// How many kinds of trouble there are.
const TROUBLES: usize = Trouble::Other as usize + 1;

impl Trouble {
    /// What an error that ends a login is.
    #[must_use]
    pub fn of(error: &SqlError) -> Trouble {
        match error.code {
            1251 => Trouble::NoPlugin,
            1043 | 1156 | 1153 => Trouble::Handshake,
            1045 | 1862 | 3159 => Trouble::Authentication,
            1203 => Trouble::UserConnections,
            1044 | 1049 => Trouble::Database,
            1184 => Trouble::InitConnect,
            3118 => Trouble::Locked,
            3955 => Trouble::TemporarilyLocked,
            _ => Trouble::Other,
        }
    }
}

/// What is known of a host. Times are in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Interrupted handshakes since the last login that succeeded.
    pub in_a_row: u64,
    troubles: [u64; TROUBLES],
    /// When it came first.
    pub first_seen: u64,
    /// When it came last.
    pub last_seen: u64,
    /// When something went wrong first; 0: never.
    pub first_error: u64,
    /// When something went wrong last.
    pub last_error: u64,
    /// The number of its last visit, of all visits.
    visit: u64,
}

impl Host {
    /// How often this went wrong.
    #[must_use]
    pub fn count(&self, trouble: Trouble) -> u64 {
        self.troubles.get(trouble as usize).copied().unwrap_or(0)
    }
}

#[derive(Default)]
struct Known {
    hosts: FxHashMap<IpAddr, Host>,
    /// The same by their last visits.
    by_visit: BTreeMap<u64, IpAddr>,
    visits: u64,
}

/// See the module.
#[derive(Default)]
pub struct Hosts(Mutex<Known>);

impl Hosts {
    /// Notes that a client of a host has come in, or what went wrong, at a time in seconds since 1970.
    /// At most `size` hosts are known.
    pub fn note(&self, address: IpAddr, trouble: Option<Trouble>, now: u64, size: usize) {
        if is_own(address) {
            return;
        }
        let mut known = self.0.lock();
        let mut host = known.take(address);
        if host.first_seen == 0 {
            host.first_seen = now;
        }
        host.last_seen = now;
        match trouble {
            None => host.in_a_row = 0,
            Some(trouble) => {
                host.in_a_row += u64::from(trouble == Trouble::Handshake);
                if let Some(count) = host.troubles.get_mut(trouble as usize) {
                    *count += 1;
                }
                if host.first_error == 0 {
                    host.first_error = now;
                }
                host.last_error = now;
            }
        }
        known.put(address, host, size);
    }
    /// TRUNCATE TABLE performance_schema.host_cache. When host_cache_size is set they are forgotten, too, as in
    /// MySQL.
    pub fn forget_all(&self) {
        *self.0.lock() = Known::default();
    }
    /// All that are known, those that came last first.
    #[must_use]
    pub fn list(&self) -> Vec<(IpAddr, Host)> {
        let known = self.0.lock();
        let addresses = known.by_visit.values().rev();
        let hosts = addresses.filter_map(|address| Some((*address, *known.hosts.get(address)?)));
        hosts.collect()
    }
}

impl Known {
    fn take(&mut self, address: IpAddr) -> Host {
        let host = self.hosts.remove(&address).unwrap_or_default();
        self.by_visit.remove(&host.visit);
        host
    }
    fn put(&mut self, address: IpAddr, mut host: Host, size: usize) {
        while self.hosts.len() >= size.max(1)
            && let Some((_, oldest)) = self.by_visit.pop_first()
        {
            self.hosts.remove(&oldest);
        }
        if size > 0 {
            self.visits += 1;
            host.visit = self.visits;
            self.by_visit.insert(host.visit, address);
            self.hosts.insert(address, host);
        }
    }
}

/// This machine's own address is not looked after, as in MySQL: nobody locks operators out of it.
fn is_own(address: IpAddr) -> bool {
    let address = address.to_canonical();
    address == IpAddr::V4(Ipv4Addr::LOCALHOST) || address == IpAddr::V6(Ipv6Addr::LOCALHOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn interrupted_handshakes_in_a_row_are_counted() {
        let hosts = Hosts::default();
        let note = |trouble| hosts.note(address(1), trouble, 7, 10);
        let handshake = Some(Trouble::Handshake);
        note(handshake);
        note(handshake);
        note(Some(Trouble::Authentication));
        assert_eq!(hosts.list().first().map(|(_, host)| host.in_a_row), Some(2));
        // The row has ended.
        note(None);
        note(handshake);
        let known = hosts.list();
        let [(_, host)] = known.as_slice() else {
            panic!("one host is known")
        };
        assert_eq!(
            (
                host.in_a_row,
                host.count(Trouble::Handshake),
                host.first_error
            ),
            (1, 3, 7)
        );
        hosts.forget_all();
        assert!(hosts.list().is_empty());
    }

    #[test]
    fn only_so_many_are_known_and_oneself_is_not() {
        let hosts = Hosts::default();
        for last in 1..=20 {
            hosts.note(address(last), Some(Trouble::Handshake), 1, 3);
        }
        hosts.note(address(18), None, 2, 3);
        let known: Vec<IpAddr> = hosts.list().iter().map(|(known, _)| *known).collect();
        assert_eq!(known, [18, 20, 19].map(address));
        hosts.note(address(1), None, 2, 0);
        assert_eq!(hosts.list().len(), 0, "host_cache_size = 0");
        for own in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            hosts.note(own.parse().unwrap(), Some(Trouble::Handshake), 1, 3);
        }
        assert_eq!(hosts.list().len(), 0);
    }
}

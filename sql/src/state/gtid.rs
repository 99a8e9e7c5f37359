//! gtid_next: which GTID a session's next transaction gets, and who owns which.

use cohort_engine::types::Gtid;
use parking_lot::Mutex;
use std::{collections::HashMap, fmt};

/// gtid_next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GtidNext {
    /// The server numbers it.
    #[default]
    Automatic,
    /// It has this one. If there is such a transaction already, its statements are passed over.
    Given {
        /// Its GTID.
        gtid: Gtid,
        /// There is one.
        executed: bool,
    },
    /// That transaction is over: nothing can be done before gtid_next is set again.
    Used(Gtid),
}

impl GtidNext {
    /// Whether statements need not ask.
    #[inline]
    #[must_use]
    pub fn is_automatic(&self) -> bool {
        matches!(self, GtidNext::Automatic)
    }
    /// The GTID that the session owns (gtid_owned).
    #[must_use]
    pub fn owned(&self) -> Option<Gtid> {
        match self {
            GtidNext::Given {
                gtid,
                executed: false,
            } => Some(*gtid),
            GtidNext::Automatic | GtidNext::Given { .. } | GtidNext::Used(_) => None,
        }
    }
}

/// As `@@gtid_next` shows it.
impl fmt::Display for GtidNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GtidNext::Automatic => f.write_str("AUTOMATIC"),
            GtidNext::Given { gtid, .. } | GtidNext::Used(gtid) => gtid.fmt(f),
        }
    }
}

/// Which session owns which GTID. No two work on the same transaction.
#[derive(Debug, Default)]
pub struct GtidOwners(Mutex<HashMap<Gtid, u64>>);

impl GtidOwners {
    /// Takes one for a session; false if another one has it.
    pub fn take(&self, gtid: Gtid, session: u64) -> bool {
        *self.0.lock().entry(gtid).or_insert(session) == session
    }
    /// Gives it back.
    pub fn give_back(&self, gtid: Gtid) {
        self.0.lock().remove(&gtid);
    }
    /// All of them, as `@@GLOBAL.gtid_owned` shows them: `uuid:5#12,…`.
    #[must_use]
    pub fn shown(&self) -> String {
        let owners = self.0.lock();
        let mut all: Vec<_> = owners.iter().collect();
        all.sort_unstable();
        let all = all
            .iter()
            .map(|(gtid, session)| format!("{gtid}#{session}"));
        all.collect::<Vec<_>>().join(",")
    }
}

//! Which transactions this server has, by their GTIDs.
//!
//! As long as all of them were committed here first, a commit's GTID has its Seq for a number,
//! and there is nothing to keep: the first so many numbers of the own UUID. Once there is one of
//! another server (a replica has them, and whoever restores a dump), a GTID is no function of the
//! Seq any more. Its event says so by a flag, `event::NUMBERED_APART`; the set is kept here, in
//! the head of each file and, by checkpoints, in the base.

use crate::{
    Seq,
    types::{Gtid, GtidSet, ServerUuid, gtid::NUMBER_MAX},
};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, sync::Arc};

/// The GTIDs of all commits placed. Changes in the log's critical section only.
pub(super) struct Executed {
    own: ServerUuid,
    /// `None`: they are the own ones, with the Seqs for numbers.
    apart: Option<Apart>,
    /// How far another server's log is applied, in its own terms.
    source: Option<Arc<str>>,
}

struct Apart {
    placed: GtidSet,
    /// Of those the newest, which may not be visible yet.
    recent: VecDeque<(Seq, Gtid)>,
    /// Those that were never in this log, as a dump that was restored said (gtid_purged).
    elsewhere: GtidSet,
}

/// Which GTID a commit is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// The next of the own ones.
    Next,
    /// The one it has from elsewhere.
    Given(Gtid),
    /// None: sql_log_bin is off.
    None,
}

/// What the base keeps of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// All GTIDs.
    pub executed: GtidSet,
    /// Those among them that were never in this log: somebody has set gtid_purged.
    pub elsewhere: GtidSet,
    /// How far another server's log is applied that has no GTIDs, in its own terms.
    #[serde(default)]
    pub source: Option<Arc<str>>,
}

impl Executed {
    /// Those of the commits up to `last`.
    pub(super) fn new(own: ServerUuid, last: Seq, kept: Kept) -> Executed {
        let plain = kept.executed == GtidSet::first(own, last) && kept.elsewhere.is_empty();
        let apart = (!plain).then(|| Apart {
            placed: kept.executed,
            recent: VecDeque::new(),
            elsewhere: kept.elsewhere,
        });
        Executed {
            own,
            apart,
            source: kept.source,
        }
    }

    /// Whether a GTID is another one than the Seq says.
    pub(super) fn is_apart(&self, gtid: Option<Gtid>, seq: Seq) -> bool {
        gtid.is_none_or(|gtid| gtid.source != self.own || gtid.number != seq)
    }

    /// The GTID of the commit `seq`, the next one, if it is to have one. An error: there is a
    /// commit of that name, or it is none. Commits up to `visible` are visible.
    pub(super) fn place(
        &mut self,
        seq: Seq,
        name: Name,
        visible: Seq,
    ) -> Result<Option<Gtid>, Gtid> {
        let own = self.own;
        let Some(apart) = &mut self.apart else {
            let next = Gtid {
                source: own,
                number: seq,
            };
            return match name {
                Name::Next => Ok(Some(next)),
                Name::Given(given) if given == next => Ok(Some(next)),
                Name::Given(given) if given.source == own && given.number < seq => Err(given),
                Name::Given(_) | Name::None => {
                    self.go_apart(seq - 1, visible);
                    self.place(seq, name, visible)
                }
            };
        };
        let gtid = match name {
            Name::None => return Ok(None),
            Name::Given(given) => given,
            Name::Next => Gtid {
                source: own,
                number: apart.placed.first_missing(&own),
            },
        };
        let is_number = (1..=NUMBER_MAX).contains(&gtid.number);
        if !is_number || apart.placed.contains(gtid) {
            return Err(gtid);
        }
        apart.placed.add(gtid);
        while apart.recent.front().is_some_and(|(at, _)| *at <= visible) {
            apart.recent.pop_front();
        }
        apart.recent.push_back((seq, gtid));
        Ok(Some(gtid))
    }

    /// From now on GTIDs are no function of the Seq.
    fn go_apart(&mut self, last: Seq, visible: Seq) -> &mut Apart {
        let own = self.own;
        self.apart.get_or_insert_with(|| Apart {
            placed: GtidSet::first(own, last),
            recent: (visible + 1..=last)
                .map(|number| {
                    let gtid = Gtid {
                        source: own,
                        number,
                    };
                    (number, gtid)
                })
                .collect(),
            elsewhere: GtidSet::default(),
        })
    }

    /// Adds transactions that this server has without a log of them. `last` is the last commit
    /// placed.
    pub(super) fn add_elsewhere(&mut self, set: &GtidSet, last: Seq, visible: Seq) {
        let apart = self.go_apart(last, visible);
        apart.placed.add_all(set);
        apart.elsewhere.add_all(set);
    }

    /// See `Kept::source`.
    pub(super) fn note_source(&mut self, position: &Arc<str>) {
        self.source = Some(Arc::clone(position));
    }

    /// Those of commits up to `seq`, which must be visible, or the last one placed (`last`).
    pub(super) fn as_of(&self, seq: Seq) -> GtidSet {
        let Some(apart) = &self.apart else {
            return GtidSet::first(self.own, seq);
        };
        let mut set = apart.placed.clone();
        let later = apart.recent.iter().filter(|(at, _)| *at > seq);
        later.for_each(|(_, gtid)| set.remove(*gtid));
        set
    }

    /// Whether a commit of that name is placed. `last` is the last one placed.
    pub(super) fn contains(&self, gtid: Gtid, last: Seq) -> bool {
        match &self.apart {
            Some(apart) => apart.placed.contains(gtid),
            None => gtid.source == self.own && gtid.number <= last,
        }
    }

    /// Those that were never in this log.
    pub(super) fn elsewhere(&self) -> GtidSet {
        let apart = self.apart.as_ref();
        apart.map_or_else(GtidSet::default, |apart| apart.elsewhere.clone())
    }

    /// What a checkpoint keeps of the commits up to `seq`; see `as_of`.
    pub(super) fn kept(&self, seq: Seq) -> Kept {
        Kept {
            executed: self.as_of(seq),
            elsewhere: self.elsewhere(),
            source: self.source.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: ServerUuid = [1; 16];
    const OTHER: ServerUuid = [2; 16];

    fn plain(last: Seq) -> Executed {
        let kept = Kept {
            executed: GtidSet::first(OWN, last),
            elsewhere: GtidSet::default(),
            source: None,
        };
        Executed::new(OWN, last, kept)
    }

    fn gtid(source: ServerUuid, number: u64) -> Gtid {
        Gtid { source, number }
    }

    #[test]
    fn own_numbers_have_no_gaps() {
        let mut executed = plain(2);
        let mut placed = |seq, name, visible| executed.place(seq, name, visible);
        let (next, given) = (Name::Next, Name::Given(gtid(OTHER, 7)));
        assert_eq!(placed(3, next, 2), Ok(Some(gtid(OWN, 3))));
        assert_eq!(placed(4, given, 2), Ok(Some(gtid(OTHER, 7))));
        assert_eq!(placed(5, given, 2), Err(gtid(OTHER, 7)));
        assert_eq!(placed(5, next, 2), Ok(Some(gtid(OWN, 4))));
        let ahead = Name::Given(gtid(OWN, 6));
        assert_eq!(placed(6, ahead, 4), Ok(Some(gtid(OWN, 6))));
        assert_eq!(placed(7, next, 6), Ok(Some(gtid(OWN, 5))));
        assert_eq!(placed(8, next, 6), Ok(Some(gtid(OWN, 7))));
        assert_eq!(placed(9, Name::None, 6), Ok(None));
        let set = |own: u64, others: &[u64]| {
            let mut set = GtidSet::first(OWN, own);
            others.iter().for_each(|n| set.add(gtid(OTHER, *n)));
            set
        };
        assert_eq!(executed.as_of(9), set(7, &[7]));
        assert_eq!(executed.as_of(7), set(6, &[7]));
        let kept = executed.kept(9);
        let again = Executed::new(OWN, 9, kept.clone());
        assert_eq!(again.kept(9), kept);
        assert!(again.apart.is_some());
    }

    #[test]
    fn what_is_not_visible_yet_is_not_executed() {
        let mut executed = plain(5);
        let given = gtid(OTHER, 1);
        assert_eq!(executed.place(6, Name::Given(given), 3), Ok(Some(given)));
        assert_eq!(executed.as_of(3), GtidSet::first(OWN, 3));
        assert_eq!(executed.as_of(5), GtidSet::first(OWN, 5));
        assert!(executed.contains(gtid(OTHER, 1), 6));
    }

    #[test]
    fn what_is_as_without_others_needs_no_set() {
        assert!(plain(4).apart.is_none());
        let mut executed = plain(0);
        executed.add_elsewhere(&GtidSet::first(OTHER, 3), 0, 0);
        assert_eq!(executed.place(1, Name::Next, 0), Ok(Some(gtid(OWN, 1))));
        assert!(executed.contains(gtid(OTHER, 2), 1));
        assert_eq!(executed.elsewhere(), GtidSet::first(OTHER, 3));
    }
}

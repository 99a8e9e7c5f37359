//! What a server counts by itself.

use super::{BUCKET_US, BUCKETS, Calls, Files, kind};
use crate::lab::server::Server;
use serde::Serialize;

const FILES: &str = "SELECT FILE_NAME, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC FROM \
                     performance_schema.file_summary_by_instance";
const HISTOGRAM: &str =
    "SELECT LATENCY_US_FROM, FSYNCS FROM information_schema.COHORT_LOG_FSYNC_HISTOGRAM";
/// Groups of commits: Cohort's and MariaDB's counter.
const GROUPS: [&str; 2] = ["Cohort_log_groups", "Binlog_group_commits"];
/// Transactions in them.
const COMMITS: [&str; 2] = ["Cohort_log_commits", "Binlog_commits"];
/// Syncs of the log: Cohort's.
const SYNCS: &str = "Cohort_log_fsyncs";

/// Counters at a moment, or between two.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Inside {
    /// Transactions in the binary log.
    pub commits: Option<u64>,
    /// Groups of them.
    pub groups: Option<u64>,
    /// Syncs of the binary log.
    pub log_syncs: Option<u64>,
    /// Calls by kind of file; none, if the server does not count them.
    pub files: Files,
    /// Syncs of the log by how long they took, if the server counts that.
    pub histogram: Option<[u64; BUCKETS]>,
}

impl Inside {
    /// Reads the counters.
    ///
    /// # Errors
    /// The server cannot be asked.
    pub fn read(server: &mut Server) -> Result<Inside, String> {
        let names: Vec<&str> = GROUPS.into_iter().chain(COMMITS).chain([SYNCS]).collect();
        let status = server.status(&names)?;
        let first = |names: [&str; 2]| names.iter().find_map(|name| status.get(*name)).copied();
        let mut inside = Inside {
            commits: first(COMMITS),
            groups: first(GROUPS),
            log_syncs: status.get(SYNCS).copied(),
            ..Inside::default()
        };
        // Not every server has these tables, and not every account may read them: what there is to
        // say of that is said where nothing was found.
        let rows = server.control().query(FILES).unwrap_or_default();
        for row in rows {
            let mut row = row.into_iter();
            let Some(path) = row.next().flatten() else {
                continue;
            };
            let mut number = || {
                row.next()
                    .flatten()
                    .and_then(|text| text.parse().ok())
                    .unwrap_or(0)
            };
            let (writes, bytes, syncs) = (number(), number(), number());
            let calls = inside.files.entry(kind(&path)).or_default();
            calls.writes += writes;
            calls.bytes += bytes;
            calls.syncs += syncs;
        }
        if server.is_cohort() {
            let rows = server
                .control()
                .query(HISTOGRAM)
                .map_err(|error| error.to_string())?;
            let mut histogram = [0; BUCKETS];
            for row in rows {
                let mut row = row.into_iter().map(|value| value?.parse::<u64>().ok());
                let (from, count) = (row.next().flatten(), row.next().flatten());
                let (Some(from), Some(count)) = (from, count) else {
                    return Err("COHORT_LOG_FSYNC_HISTOGRAM has other columns".into());
                };
                let bucket = usize::try_from(from / BUCKET_US).unwrap_or(usize::MAX);
                histogram[bucket.min(BUCKETS - 1)] += count;
            }
            inside.histogram = Some(histogram);
        }
        Ok(inside)
    }

    /// What has come since an earlier moment. Files that nothing happened to are left out.
    #[must_use]
    pub fn since(&self, before: &Inside) -> Inside {
        let more = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let files = self.files.iter().filter_map(|(name, now)| {
            let then = before.files.get(name).copied().unwrap_or_default();
            let calls = Calls {
                writes: now.writes.saturating_sub(then.writes),
                bytes: now.bytes.saturating_sub(then.bytes),
                syncs: now.syncs.saturating_sub(then.syncs),
            };
            (calls.writes + calls.syncs > 0).then(|| (name.clone(), calls))
        });
        let histogram = self.histogram.zip(before.histogram);
        Inside {
            commits: more(self.commits, before.commits),
            groups: more(self.groups, before.groups),
            log_syncs: more(self.log_syncs, before.log_syncs),
            files: files.collect(),
            histogram: histogram.map(|(mut now, then)| {
                for (now, then) in now.iter_mut().zip(then) {
                    *now = now.saturating_sub(then);
                }
                now
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_since() {
        let inside = |n: u64| Inside {
            commits: Some(n),
            groups: (n > 5).then_some(n),
            files: Files::from([
                (
                    "a".into(),
                    Calls {
                        writes: n,
                        bytes: 10 * n,
                        syncs: 0,
                    },
                ),
                ("b".into(), Calls::default()),
            ]),
            histogram: Some([n; BUCKETS]),
            ..Inside::default()
        };
        let more = inside(9).since(&inside(4));
        assert_eq!((more.commits, more.groups), (Some(5), None));
        let expected = Calls {
            writes: 5,
            bytes: 50,
            syncs: 0,
        };
        assert_eq!(more.files, Files::from([("a".into(), expected)]));
        assert_eq!(more.histogram, Some([5; BUCKETS]));
    }
}

//! Which transactions are meant.

use super::{
    super::model::{Micros, Status},
    rows::{NO_TIME, moment, text},
};
use cohort_engine::types::Value;

/// Which transactions are meant: those to which all of this applies.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this one.
    pub gid: Option<String>,
    /// Only those whose names begin so.
    pub prefix: Option<String>,
    /// Only of this status.
    pub status: Option<String>,
    /// Only of this kind.
    pub pattern: Option<String>,
    /// Created at or after.
    pub from: Option<Micros>,
    /// Created before or at.
    pub to: Option<Micros>,
    /// Only those that have not ended.
    pub unfinished: bool,
    /// Only dead letters.
    pub dead: bool,
    /// Only those that are paused.
    pub paused: bool,
    /// Only those that wait for this host.
    pub host: Option<String>,
    /// Only those that have this in the URL of a branch, or of their client.
    pub url: Option<String>,
    /// With an id below this.
    pub below: Option<u64>,
    /// So many at most.
    pub limit: u64,
}

impl Filter {
    /// Whether it leaves nothing out.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.conditions().1.is_empty() && !self.looks_at_branches()
    }

    /// Whether only the branches of a transaction tell whether it is meant.
    #[must_use]
    pub fn looks_at_branches(&self) -> bool {
        self.host.is_some() || self.url.is_some()
    }

    /// Whether all that are meant are unfinished.
    #[must_use]
    pub fn is_of_unfinished(&self) -> bool {
        let status = self.status.as_deref().and_then(Status::parse);
        let is_underway = status.is_some_and(|status| !status.is_final());
        self.unfinished || self.dead || self.paused || self.host.is_some() || is_underway
    }

    /// What SQL can tell: conditions on `global_transactions`, and their values. There are only
    /// those that are asked for, so that there is an index for what there are few of.
    pub(super) fn conditions(&self) -> (String, Vec<Value>) {
        let words = [
            ("gid = ?", &self.gid),
            ("gid >= ?", &self.prefix),
            ("status = ?", &self.status),
            ("trans_type = ?", &self.pattern),
        ];
        let words = words.map(|(condition, word)| (condition, word.as_deref().map(text)));
        // No name that begins so comes after this one.
        let last = self.prefix.as_ref().map(|prefix| {
            let after = prefix.chars().chain(std::iter::repeat_n(char::MAX, 128));
            text(&after.take(128).collect::<String>())
        });
        let others = [
            ("gid <= ?", last),
            ("create_time >= ?", self.from.map(moment)),
            ("create_time <= ?", self.to.map(moment)),
            (
                "next_run_us <= ?",
                self.is_of_unfinished().then_some(Value::UInt(NO_TIME)),
            ),
            // For the sake of one value for each condition.
            ("pause_time > ?", self.paused.then(|| moment(0))),
            ("dead_time > ?", self.dead.then(|| moment(0))),
            ("id < ?", self.below.map(Value::UInt)),
        ];
        let given = words.into_iter().chain(others);
        let (conditions, values): (Vec<_>, Vec<_>) = given
            .filter_map(|(condition, value)| Some((condition, value?)))
            .unzip();
        match conditions.is_empty() {
            true => ("TRUE".to_owned(), values),
            false => (conditions.join(" AND "), values),
        }
    }
}

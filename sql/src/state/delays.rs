//! Wrong logins in a row make the next ones wait, as MySQL's connection_control has it: the variables
//! `connection_control_…`.
//!
//! They are counted for each user name and place that it comes from, whether there is such an
//! account or not. They are counted when the password was looked at, before the answer is held
//! back: of many guesses at once each waits longer than the one before.
//!
//! So many are remembered at most. Then the one with the fewest wrong logins is forgotten, the
//! oldest of these first: who wants to be forgotten after n of them has to fail n times under
//! each of so many other names, which is more work than the guesses that it gains.

use cohort_engine::types::Value;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::{collections::BTreeMap, net::Ipv6Addr, time::Duration};

/// So many names and places are remembered.
const REMEMBERED_MAX: usize = 16_384;
/// Names that are longer are no account's, and count as one when they begin alike.
const NAME_CHARS_MAX: usize = 32;

/// A user name and where it comes from.
pub type Who = (String, String);

/// connection_control_…: when delays begin, and how long they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// connection_control_failed_connections_threshold; 0: there are no delays.
    pub threshold: u64,
    /// connection_control_min_connection_delay, in milliseconds.
    pub min_ms: u64,
    /// connection_control_max_connection_delay, in milliseconds.
    pub max_ms: u64,
}

impl Rule {
    /// How long a login waits after so many wrong ones: a second for each from the threshold on.
    fn delay(&self, failed: u64) -> Duration {
        if self.threshold == 0 || failed < self.threshold {
            return Duration::ZERO;
        }
        let wanted = (failed + 1 - self.threshold).saturating_mul(1000);
        Duration::from_millis(wanted.max(self.min_ms).min(self.max_ms))
    }
}

/// What is remembered of one.
#[derive(Clone, Copy)]
struct Failures {
    in_a_row: u64,
    /// The number of the last of them, of all wrong logins.
    last: u64,
}

#[derive(Default)]
struct Known {
    failures: FxHashMap<Who, Failures>,
    /// The same by what is forgotten first.
    by_weight: BTreeMap<(u64, u64), Who>,
    counted: u64,
    /// Connection_control_delay_generated.
    delayed: u64,
}

/// See the module.
#[derive(Default)]
pub struct Delays(Mutex<Known>);

impl Delays {
    /// Counts a login with a right or a wrong password, which has waited already; how long its answer
    /// still has to wait.
    pub fn note(
        &self,
        user: &str,
        host: &str,
        (is_right, waited): (bool, Duration),
        rule: Rule,
    ) -> Duration {
        if rule.threshold == 0 {
            return Duration::ZERO;
        }
        let who = who(user, host);
        let mut known = self.0.lock();
        let before = known.forget(&who);
        if !is_right {
            known.remember(who, before + 1);
        }
        let delay = rule.delay(before);
        known.delayed += u64::from(!delay.is_zero() && waited.is_zero());
        delay.saturating_sub(waited)
    }
    /// How long one that comes now waits before anything is said to it.
    pub fn before(&self, user: &str, host: &str, rule: Rule) -> Duration {
        let mut known = self.0.lock();
        let failures = known.failures.get(&who(user, host));
        let delay = failures.map_or(Duration::ZERO, |failures| rule.delay(failures.in_a_row));
        known.delayed += u64::from(!delay.is_zero());
        delay
    }
    /// Forgets all, and how many were delayed.
    pub fn reset(&self) {
        *self.0.lock() = Known::default();
    }
    /// Connection_control_delay_generated.
    #[must_use]
    pub fn generated(&self) -> u64 {
        self.0.lock().delayed
    }
    /// Who has failed how often, as MySQL writes them.
    #[must_use]
    pub fn list(&self) -> Vec<(String, u64)> {
        let known = self.0.lock();
        let list = known.failures.iter();
        let list =
            list.map(|((user, host), failures)| (format!("'{user}'@'{host}'"), failures.in_a_row));
        let mut list: Vec<_> = list.collect();
        list.sort();
        list
    }
}

impl Known {
    /// Takes one out; how often it had failed.
    fn forget(&mut self, who: &Who) -> u64 {
        match self.failures.remove(who) {
            Some(failures) => {
                self.by_weight.remove(&(failures.in_a_row, failures.last));
                failures.in_a_row
            }
            None => 0,
        }
    }
    fn remember(&mut self, who: Who, in_a_row: u64) {
        if self.failures.len() >= REMEMBERED_MAX
            && let Some((_, lightest)) = self.by_weight.pop_first()
        {
            self.failures.remove(&lightest);
        }
        self.counted += 1;
        let last = self.counted;
        self.by_weight.insert((in_a_row, last), who.clone());
        self.failures.insert(who, Failures { in_a_row, last });
    }
}

/// As it is remembered. Whoever has one address of IPv6 has all that begin like it: they are one
/// place.
fn who(user: &str, host: &str) -> Who {
    let user = user.chars().take(NAME_CHARS_MAX).collect();
    let host = match host.parse::<Ipv6Addr>() {
        Ok(address) if !address.is_loopback() => {
            let network = u128::from(address) >> 64 << 64;
            format!("{}/64", Ipv6Addr::from(network))
        }
        _ => host.to_owned(),
    };
    (user, host)
}

/// Whether a variable of these may be set to this value, with the others as they are; one that is out
/// of range is refused and not cut.
#[must_use]
pub fn may_be(name: &str, value: &Value, rule: Rule) -> bool {
    const MAX: u64 = 2_147_483_647;
    let number = match *value {
        Value::Int(number) => u64::try_from(number).ok(),
        Value::UInt(number) => Some(number),
        // No number: refused as for other variables.
        _ => return true,
    };
    let within = |least, most| number.is_some_and(|number| (least..=most).contains(&number));
    match name {
        "connection_control_failed_connections_threshold" => within(0, MAX),
        "connection_control_min_connection_delay" => within(1000, rule.max_ms),
        "connection_control_max_connection_delay" => within(rule.min_ms, MAX),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule {
        threshold: 3,
        min_ms: 1000,
        max_ms: 2500,
    };

    fn seconds(delays: &Delays, user: &str, is_right: bool) -> f32 {
        delays
            .note(user, "10.0.0.1", (is_right, Duration::ZERO), RULE)
            .as_secs_f32()
    }

    #[test]
    fn from_the_threshold_on_each_waits_longer() {
        let delays = Delays::default();
        let waited: Vec<f32> = (0..7).map(|_| seconds(&delays, "u", false)).collect();
        assert_eq!(waited, [0.0, 0.0, 0.0, 1.0, 2.0, 2.5, 2.5]);
        // The right one waits as well, and is the end of the row.
        assert_eq!(seconds(&delays, "u", true), 2.5);
        assert_eq!(seconds(&delays, "u", true), 0.0);
        assert_eq!(delays.generated(), 5);
        for wrong in 0..4 {
            let waited = delays.before("v", "10.0.0.1", RULE);
            assert_eq!(
                waited.as_secs(),
                u64::from(wrong > 2),
                "before its proof is looked at"
            );
            let left = delays.note("v", "10.0.0.1", (false, waited), RULE);
            assert_eq!(left, Duration::ZERO);
        }
        assert_eq!(delays.generated(), 6);
        assert_eq!(
            delays
                .note("v", "10.0.0.1", (true, Duration::ZERO), RULE)
                .as_secs(),
            2
        );
        assert!(delays.list().is_empty());
        assert_eq!(
            delays.note("u", "10.0.0.2", (false, Duration::ZERO), RULE),
            Duration::ZERO,
            "another place"
        );
        let off = Rule {
            threshold: 0,
            ..RULE
        };
        delays.note("u", "10.0.0.2", (false, Duration::ZERO), off);
        assert_eq!(delays.list(), [("'u'@'10.0.0.2'".to_owned(), 1)]);
    }

    #[test]
    fn a_flood_of_names_takes_bounded_memory_and_forgives_nobody() {
        let delays = Delays::default();
        for _ in 0..5 {
            seconds(&delays, "victim", false);
        }
        let long = "x".repeat(100_000);
        for n in 0..REMEMBERED_MAX * 2 {
            seconds(&delays, &format!("{n} {long}"), false);
        }
        assert_eq!(delays.0.lock().failures.len(), REMEMBERED_MAX);
        assert_eq!(delays.0.lock().by_weight.len(), REMEMBERED_MAX);
        assert!(delays.list().iter().all(|(who, _)| who.len() < 64));
        assert_eq!(seconds(&delays, "victim", false), 2.5);
    }

    #[test]
    fn the_addresses_of_one_network_are_one_place() {
        let delays = Delays::default();
        for n in 0..4 {
            delays.note(
                "u",
                &format!("2001:db8::{n}"),
                (false, Duration::ZERO),
                RULE,
            );
        }
        assert_eq!(delays.list(), [("'u'@'2001:db8::/64'".to_owned(), 4)]);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let min = "connection_control_min_connection_delay";
        for (value, may) in [(999, false), (1000, true), (2500, true), (2501, false)] {
            assert_eq!(may_be(min, &Value::Int(value), RULE), may, "{value}");
        }
        let max = "connection_control_max_connection_delay";
        assert!(!may_be(max, &Value::Int(999), RULE) && may_be(max, &Value::Int(1000), RULE));
    }
}

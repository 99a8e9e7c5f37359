//! Counters in Prometheus' text format, under DTM's names. All labels come from short lists, so
//! that no client can make them many.

use super::{
    exposition::{Exposition, Kind},
    model::{Micros, Pattern, Status},
    store::Unfinished,
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Upper bounds of a histogram's buckets, in microseconds.
const BOUNDS: [Micros; 11] = [
    1_000, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 10_000_000,
    60_000_000,
];
/// Names of requests; whatever else is asked for is `other`.
const REQUESTS: [&str; 22] = [
    "newGid",
    "prepare",
    "submit",
    "abort",
    "registerBranch",
    "registerXaBranch",
    "registerTccBranch",
    "prepareWorkflow",
    "forceStop",
    "resetNextCronTime",
    "resetCronTime",
    "query",
    "all",
    "subscribe",
    "unsubscribe",
    "json-rpc",
    "list",
    "show",
    "retry",
    "skip",
    "force",
    "compensate",
];
/// Operations of branches; those of workflows have names of their own, and are `other`.
const OPERATIONS: [&str; 7] = [
    "action",
    "compensate",
    "confirm",
    "cancel",
    "commit",
    "rollback",
    "msg",
];

fn known<const N: usize>(names: [&'static str; N], name: &str) -> &'static str {
    let found = names
        .into_iter()
        .find(|known| known.eq_ignore_ascii_case(name));
    found.unwrap_or("other")
}

fn result(is_success: bool) -> &'static str {
    if is_success { "success" } else { "fail" }
}

/// How often something took how long.
#[derive(Clone, Copy, Default)]
struct Histogram {
    /// One for each bound, and the rest.
    counts: [u64; BOUNDS.len() + 1],
    sum_us: u64,
}

impl Histogram {
    fn note(&mut self, took: Micros) {
        let place = BOUNDS.partition_point(|&bound| bound < took);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum_us = self.sum_us.saturating_add(took);
    }
}

/// By the values of `N` labels.
type Family<const N: usize, T> = BTreeMap<[&'static str; N], T>;

#[derive(Default)]
struct Counts {
    requests: Family<3, u64>,
    request_times: Family<2, Histogram>,
    transactions: Family<2, u64>,
    transaction_times: Family<1, Histogram>,
    branches: Family<3, u64>,
    alerts: Family<1, u64>,
    end_webhooks: Family<1, u64>,
    spans: Family<1, u64>,
    /// `None`: nobody has counted them.
    unfinished: Option<Vec<Unfinished>>,
}

/// The counters.
#[derive(Default)]
pub(super) struct Metrics(Mutex<Counts>);

impl Metrics {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request was answered. `port`: http or grpc; `name`: the end of its path.
    pub fn request(&self, port: &'static str, name: &str, is_success: bool, took: Micros) {
        let name = known(REQUESTS, name);
        let mut counts = self.counts();
        let labels = [port, name, result(is_success)];
        *counts.requests.entry(labels).or_default() += 1;
        counts
            .request_times
            .entry([port, name])
            .or_default()
            .note(took);
    }

    /// A global transaction has ended.
    pub fn transaction(&self, pattern: Pattern, is_success: bool, took: Micros) {
        let mut counts = self.counts();
        let labels = [pattern.name(), result(is_success)];
        *counts.transactions.entry(labels).or_default() += 1;
        let labels = [pattern.name()];
        counts
            .transaction_times
            .entry(labels)
            .or_default()
            .note(took);
    }

    /// A branch was called.
    pub fn branch(&self, pattern: Pattern, op: &str, is_success: bool) {
        let labels = [pattern.name(), known(OPERATIONS, op), result(is_success)];
        *self.counts().branches.entry(labels).or_default() += 1;
    }

    /// An alert had this outcome.
    pub fn alert(&self, outcome: &'static str) {
        *self.counts().alerts.entry([outcome]).or_default() += 1;
    }

    /// So many spans had this outcome.
    pub fn spans(&self, outcome: &'static str, count: u64) {
        *self.counts().spans.entry([outcome]).or_default() += count;
    }

    /// Telling of an end had this outcome.
    pub fn end_webhook(&self, outcome: &'static str) {
        *self.counts().end_webhooks.entry([outcome]).or_default() += 1;
    }

    /// So many transactions are unfinished.
    pub fn unfinished(&self, counted: Option<Vec<Unfinished>>) {
        self.counts().unfinished = counted;
    }

    /// All of them; `driven` transactions are being driven now.
    pub fn tell(&self, driven: usize, out: &mut Exposition) {
        let counts = self.counts();
        let labels = ["type", "api", "status"];
        let name = "dtm_server_process_total";
        let help = "Requests by port and outcome.";
        write_family(out, (name, help), Kind::Counter, labels, &counts.requests);
        let name = "dtm_server_response_duration";
        let help = "Seconds that requests took.";
        write_histograms(out, (name, help), ["type", "api"], &counts.request_times);
        let name = "dtm_transaction_process_total";
        let help = "Global transactions that have ended.";
        let labels = ["model", "status"];
        write_family(
            out,
            (name, help),
            Kind::Counter,
            labels,
            &counts.transactions,
        );
        let name = "dtm_transaction_handled_duration";
        let help = "Seconds from the begin of global transactions to their end.";
        write_histograms(out, (name, help), ["model"], &counts.transaction_times);
        let name = "dtm_branch_process_total";
        let help = "Calls of branches.";
        let labels = ["model", "branchtype", "status"];
        write_family(out, (name, help), Kind::Counter, labels, &counts.branches);
        let name = "cohort_alerts_total";
        let help = "Alerts to the webhook.";
        write_family(out, (name, help), Kind::Counter, ["status"], &counts.alerts);
        let name = "cohort_end_webhooks_total";
        let help = "Calls that tell of the end of a global transaction.";
        write_family(
            out,
            (name, help),
            Kind::Counter,
            ["status"],
            &counts.end_webhooks,
        );
        let name = "cohort_spans_total";
        let help = "Spans for OpenTelemetry.";
        write_family(out, (name, help), Kind::Counter, ["status"], &counts.spans);
        if let Some(counted) = &counts.unfinished {
            write_unfinished(out, counted);
        }
        let gauge = ("cohort_transactions_driven", Kind::Gauge);
        out.single(
            gauge,
            "Global transactions that are being driven now.",
            driven,
        );
    }
}

/// Kinds and statuses without any are there, too: as zeros, which alarms can be set on.
fn write_unfinished(out: &mut Exposition, counted: &[Unfinished]) {
    const STATUSES: [Status; 3] = [Status::Prepared, Status::Submitted, Status::Aborting];
    let (mut unfinished, mut dead) = (Family::default(), Family::default());
    let mut paused = Family::default();
    for pattern in Pattern::ALL {
        dead.insert([pattern.name()], 0);
        paused.insert([pattern.name()], 0);
        for status in STATUSES {
            unfinished.insert([pattern.name(), status.name()], 0);
        }
    }
    for found in counted {
        let labels = [found.pattern.name(), found.status.name()];
        *unfinished.entry(labels).or_default() += found.count;
        *dead.entry([found.pattern.name()]).or_default() += found.dead;
        *paused.entry([found.pattern.name()]).or_default() += found.paused;
    }
    let name = "cohort_transactions_unfinished";
    let help = "Global transactions that have not ended.";
    write_family(
        out,
        (name, help),
        Kind::Gauge,
        ["model", "status"],
        &unfinished,
    );
    let name = "cohort_transactions_dead";
    let help = "Unfinished global transactions that are not tried any more.";
    write_family(out, (name, help), Kind::Gauge, ["model"], &dead);
    let name = "cohort_transactions_paused";
    let help = "Unfinished global transactions that an operator has paused.";
    write_family(out, (name, help), Kind::Gauge, ["model"], &paused);
}

/// A family's name, and what it means.
type Meaning = (&'static str, &'static str);

fn write_family<const N: usize>(
    out: &mut Exposition,
    (name, help): Meaning,
    kind: Kind,
    labels: [&str; N],
    counts: &Family<N, u64>,
) {
    out.family(name, kind, help);
    for (values, count) in counts {
        out.value(name, &labelled(labels, values), count);
    }
}

fn labelled<'a, const N: usize>(
    names: [&'a str; N],
    values: &[&'a str; N],
) -> Vec<(&'a str, &'a str)> {
    names.into_iter().zip(values.iter().copied()).collect()
}

/// In seconds, as Prometheus wants times.
fn write_histograms<const N: usize>(
    out: &mut Exposition,
    (name, help): Meaning,
    labels: [&str; N],
    histograms: &Family<N, Histogram>,
) {
    let seconds = |us: Micros| us as f64 / 1e6;
    out.family(name, Kind::Histogram, help);
    for (values, histogram) in histograms {
        let labels = labelled(labels, values);
        let bounds = BOUNDS.map(seconds);
        let sum = seconds(histogram.sum_us);
        out.histogram(name, &labels, bounds, histogram.counts, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_dtms_names_and_few_labels() {
        let metrics = Metrics::default();
        metrics.request("http", "submit", true, 700);
        metrics.request("http", "x?gid=1", false, 2_000_000);
        metrics.request("http", "y?gid=2", false, 90_000_000);
        metrics.transaction(Pattern::Saga, false, 30_000);
        metrics.branch(Pattern::Workflow, "anything", true);
        metrics.alert("dropped");
        let text = |metrics: &Metrics| {
            let mut out = Exposition::default();
            metrics.tell(3, &mut out);
            out.into_text()
        };
        assert!(
            !text(&metrics).contains("_unfinished"),
            "nobody has counted"
        );
        let found = |pattern, status, count, dead| Unfinished {
            pattern,
            status,
            count,
            dead,
            paused: dead / 2,
        };
        metrics.unfinished(Some(vec![
            found(Pattern::Saga, Status::Aborting, 1_000_000, 7),
            found(Pattern::Saga, Status::Submitted, 5, 1),
        ]));
        let text = text(&metrics);
        for line in [
            "dtm_server_process_total{type=\"http\",api=\"submit\",status=\"success\"} 1",
            "dtm_server_process_total{type=\"http\",api=\"other\",status=\"fail\"} 2",
            "dtm_server_response_duration_bucket{type=\"http\",api=\"other\",le=\"1\"} 0",
            "dtm_server_response_duration_bucket{type=\"http\",api=\"other\",le=\"10\"} 1",
            "dtm_server_response_duration_bucket{type=\"http\",api=\"other\",le=\"+Inf\"} 2",
            "dtm_server_response_duration_sum{type=\"http\",api=\"other\"} 92",
            "dtm_transaction_process_total{model=\"saga\",status=\"fail\"} 1",
            "dtm_transaction_handled_duration_count{model=\"saga\"} 1",
            "dtm_branch_process_total{model=\"workflow\",branchtype=\"other\",status=\"success\"} 1",
            "cohort_transactions_driven 3",
            "cohort_alerts_total{status=\"dropped\"} 1",
            "cohort_transactions_unfinished{model=\"saga\",status=\"aborting\"} 1000000",
            "cohort_transactions_unfinished{model=\"tcc\",status=\"prepared\"} 0",
            "cohort_transactions_dead{model=\"saga\"} 8",
            "cohort_transactions_paused{model=\"saga\"} 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}

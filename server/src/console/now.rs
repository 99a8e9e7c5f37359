//! Now: what the server does this moment, and has done in the last ten minutes.

use super::{
    chart::{self, Line},
    history::{SAMPLES, Sample},
    page::{self, Page, View},
};
use cohort_engine::log::LogError;
use maud::{Markup, html};

/// Rates are averages over so many samples.
const SMOOTH: usize = 3;
/// The histogram of syncs is of so many of the last seconds.
const LATELY: usize = 60;

pub fn page(view: &View<'_>) -> Page {
    // Whoever may log in may read SHOW GLOBAL STATUS; the pool is for those who see all sessions.
    if let Err(error) = view.desk.ask("SHOW GLOBAL STATUS LIKE 'Uptime'") {
        return Page::live(page::trouble(&error));
    }
    let samples = view.console.history.all();
    let Some(last) = samples.last() else {
        return Page::live(html! { p.note { "The first numbers come in a second." } });
    };
    let sees_all = view.desk.sees_all();
    Page::live(html! {
        (verdict(view, last, sees_all))
        div.charts {
            (chart::lines("A second", &[
                rate(&samples, "commits", "Cohort_log_commits"),
                rate(&samples, "SELECTs", "Com_select"),
                rate(&samples, "statements", "Questions"),
            ], SAMPLES, page::per_second))
            (chart::lines("Commits in a group", &[per_group(&samples)], SAMPLES, |n| format!("{n:.1}")))
            @if sees_all {
                (fsyncs(&samples))
                (chart::lines("Slots and their queue", &[
                    level(&samples, "taken", |s| s.pool.map_or(0, |(_, taken, _)| taken), plain),
                    level(&samples, "waiting", |s| s.pool.map_or(0, |(.., waiting)| waiting), plain),
                    level(&samples, "slots", |s| s.pool.map_or(0, |(slots, ..)| slots), plain),
                ], SAMPLES, page::per_second))
            }
            (chart::lines("Sessions", &[
                level(&samples, "executing", |s| s.get("Threads_running"), plain),
                level(&samples, "waiting for row locks", |s| s.get("Innodb_row_lock_current_waits"), plain),
                level(&samples, "connected", |s| s.get("Threads_connected"), plain),
            ], SAMPLES, page::per_second))
            (chart::lines("Delta", &[
                level(&samples, "recent changes", |s| s.get("Cohort_delta_bytes"), page::bytes),
                level(&samples, "being merged", |s| s.get("Cohort_delta_sealed_bytes"), page::bytes),
            ], SAMPLES, |n| page::bytes(n as u64)))
            @if sees_all {
                (chart::lines("Memory of the process", &[
                    level(&samples, "resident", |s| s.memory.unwrap_or(0), page::bytes),
                ], SAMPLES, |n| page::bytes(n as u64)))
            }
            (chart::lines("Log", &[
                Line { name: "bytes a second", points: rates(&samples, "Cohort_log_bytes"),
                    now: page::bytes(rates(&samples, "Cohort_log_bytes").last().copied().unwrap_or(0.0) as u64) },
            ], SAMPLES, |n| page::bytes(n as u64)))
        }
        (checkpoint(last))
    })
}

fn plain(value: u64) -> String {
    page::grouped(value)
}

/// The growth of a counter, in a second, at each moment.
fn rates(samples: &[Sample], name: &str) -> Vec<f64> {
    let pairs = samples.iter().zip(samples.iter().skip(SMOOTH));
    pairs.map(|(before, now)| now.rate(before, name)).collect()
}

fn rate<'a>(samples: &[Sample], name: &'a str, counter: &str) -> Line<'a> {
    let points = rates(samples, counter);
    let now = page::per_second(points.last().copied().unwrap_or(0.0));
    Line { name, points, now }
}

fn level<'a>(
    samples: &[Sample],
    name: &'a str,
    of: fn(&Sample) -> u64,
    shown: fn(u64) -> String,
) -> Line<'a> {
    let now = samples.last().map_or(0, of);
    Line {
        name,
        points: samples.iter().map(|sample| of(sample) as f64).collect(),
        now: shown(now),
    }
}

/// How many commits shared a group.
fn per_group(samples: &[Sample]) -> Line<'static> {
    let pairs = samples.iter().zip(samples.iter().skip(SMOOTH));
    let share = |(before, now): (&Sample, &Sample)| {
        let grown = |name| now.get(name).saturating_sub(before.get(name)) as f64;
        let groups = grown("Cohort_log_groups");
        if groups > 0.0 {
            grown("Cohort_log_commits") / groups
        } else {
            0.0
        }
    };
    let points: Vec<f64> = pairs.map(share).collect();
    let now = format!("{:.1}", points.last().copied().unwrap_or(0.0));
    Line {
        name: "on average",
        points,
        now,
    }
}

/// How long syncs took in the last minute.
fn fsyncs(samples: &[Sample]) -> Markup {
    let (Some(last), Some(first)) = (
        samples.last(),
        samples.iter().rev().take(LATELY).next_back(),
    ) else {
        return html! {};
    };
    let counts = last.fsync_us.buckets.iter().zip(first.fsync_us.buckets);
    let counts: Vec<u64> = counts
        .map(|(now, before)| now.saturating_sub(before))
        .collect();
    // From 64 microseconds up to a second; what is shorter or longer is at the ends.
    let (from, to) = (6, 20);
    let bars = (from..=to).map(|bucket| {
        let range = match bucket {
            bucket if bucket == from => 0..=from,
            bucket if bucket == to => to..=counts.len() - 1,
            bucket => bucket..=bucket,
        };
        let count = counts.get(range).unwrap_or_default().iter().sum();
        let end = 1_u64 << bucket;
        let label = match end {
            0..1_000 => format!("{end}\u{b5}"),
            // One label has not room beside the next.
            1_000..1_000_000 if bucket % 2 == 1 => String::new(),
            1_000..1_000_000 => format!("{}ms", end / 1000),
            _ => "1s".to_owned(),
        };
        (label, count)
    });
    let bars: Vec<(String, u64)> = bars.collect();
    chart::bars(
        "Syncs of the log by how long they took, last minute",
        &bars,
        " none",
    )
}

fn checkpoint(last: &Sample) -> Markup {
    let (done, total) = (
        last.get("Cohort_checkpoint_keys_done"),
        last.get("Cohort_checkpoint_keys_total"),
    );
    let runs = last.get("Cohort_delta_sealed_bytes") > 0;
    html! {
        p.note {
            (page::grouped(last.get("Cohort_checkpoints"))) " checkpoints since the start; "
            @if runs { "one runs: " (page::grouped(done)) " of " (page::grouped(total)) " keys are merged. " }
            @else { "none runs. " }
            (page::grouped(last.get("Cohort_delta_versions"))) " versions of rows in the delta."
        }
    }
}

/// That nothing can be committed. Where and why is for those who see all sessions: it names files.
fn log_trouble(view: &View<'_>, sees_all: bool) -> Option<Markup> {
    let trouble = view
        .console
        .shared
        .backend
        .instance
        .engine
        .log()
        .stopped()?;
    Some(html! {
        strong {
            @match trouble {
                LogError::Full(_) => "The disk is full: commits wait, and further ones are refused, until \
                                      there is room.",
                LogError::Failed(_) | LogError::Executed(_) => "The log has failed: nothing can be \
                    committed until the server is started again; it reads what it has.",
            }
        }
        @if sees_all { " " (trouble) }
    })
}

/// What there is to do, in a sentence: the first thing an operator wants to know.
fn verdict(view: &View<'_>, last: &Sample, sees_all: bool) -> Markup {
    let mut said = Vec::new();
    said.extend(log_trouble(view, sees_all));
    let waiting = last.get("Innodb_row_lock_current_waits");
    if waiting > 0 {
        said.push(html! {
            (waiting) " statements wait for row locks: " a href="/sessions" { "who makes them wait" } "."
        });
    }
    if let Some((slots, taken, queued)) = last.pool.filter(|_| sees_all)
        && queued > 0
    {
        said.push(html! {
            (queued) " statements wait for one of " (slots) " slots, of which " (taken) " are taken: "
            a href="/statements" { "what executes longest" } "."
        });
    }
    let behind = last
        .get("Cohort_visible")
        .saturating_sub(last.get("Cohort_oldest_snapshot"));
    if behind > 100_000 {
        said.push(html! {
            "A transaction still looks at what was " (page::grouped(behind)) " commits ago, and old \
             versions are kept for it: " a href="/sessions" { "which one" } "."
        });
    }
    if view
        .desk
        .ask("SHOW GLOBAL STATUS LIKE 'Cohort_broken_invariants'")
        .is_ok_and(|rows| rows.iter().any(|row| row.number("Value") > 0))
    {
        said.push(html! { "The server has met a mistake of its own: the error log says which." });
    }
    html! {
        @if said.is_empty() {
            p.well { "Nothing waits." }
        } @else {
            ul.verdict { @for one in said { li { (one) } } }
        }
    }
}

//! Lists of transactions with what they wait for, and groups of them.

use super::{Coordinator, Refusal, Result, filter, text};
use crate::{
    model::Micros,
    store::{Awaited, CHUNK, Filter, Found, Summary},
    when::time,
};
use cohort_coordinator_core::outside::Outside;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Groups that are told; what is in none of them is told as one.
const GROUPS_MAX: usize = 1_000;
/// Of an error so much makes a group.
const KEY_CHARACTERS_MAX: usize = 200;

/// What transactions are grouped by.
#[derive(Clone, Copy)]
enum By {
    Host,
    Status,
    Pattern,
    Error,
}

impl By {
    fn parse(name: &str) -> Result<Option<By>> {
        Ok(Some(match name {
            "" => return Ok(None),
            "host" => By::Host,
            "status" => By::Status,
            "trans_type" => By::Pattern,
            "error" => By::Error,
            other => {
                let what = format!("group_by: host, status, trans_type or error, not {other}");
                return Err(Refusal::Bad(what));
            }
        }))
    }

    /// The groups that a transaction is in.
    fn keys(self, summary: &Summary) -> BTreeSet<String> {
        let of_awaited = |key: fn(&Awaited) -> &str| {
            let keys = summary.awaited.iter().map(key);
            let keys = keys.map(|key| key.chars().take(KEY_CHARACTERS_MAX).collect());
            let mut keys: BTreeSet<String> = keys.collect();
            if keys.is_empty() {
                keys.insert(String::new());
            }
            keys
        };
        match self {
            By::Host => of_awaited(Awaited::host),
            By::Error => of_awaited(|awaited| &awaited.last_error),
            By::Status => [summary.global.status.name().to_owned()].into(),
            By::Pattern => [summary.global.pattern.name().to_owned()].into(),
        }
    }
}

/// Transactions that have something in common.
struct Group {
    count: u64,
    dead: u64,
    oldest: Micros,
    oldest_gid: String,
    /// The error of the one that was written last.
    last_error: String,
    updated: Micros,
}

/// Lists transactions, or groups of them.
pub(super) async fn list(
    coordinator: &Arc<Coordinator>,
    fields: &Map<String, Value>,
) -> Result<Value> {
    let by = By::parse(&text(fields, "group_by"))?;
    let mut filter = filter(coordinator, fields)?;
    // Nothing else waits for anything.
    filter.unfinished |= by.is_some() && filter.status.is_none();
    let Found { gids, has_more } = coordinator.store.find(filter.clone()).await?;
    let limit = usize::try_from(filter.limit).unwrap_or(usize::MAX);
    let mut found = gids.len();
    let mut listed = Vec::new();
    let mut groups = HashMap::new();
    if by.is_some() || filter.looks_at_branches() {
        found = 0;
        for chunk in gids.chunks(CHUNK) {
            for summary in look_into(coordinator, chunk, &filter).await? {
                found += 1;
                if let Some(by) = by {
                    count(&mut groups, by, &summary);
                } else if listed.len() < limit {
                    listed.push(summary);
                }
            }
        }
    } else {
        for chunk in gids
            .get(..limit.min(found))
            .unwrap_or_default()
            .chunks(CHUNK)
        {
            listed.extend(look_into(coordinator, chunk, &filter).await?);
        }
    }
    let mut answer = json!({
        "time": time(coordinator.now()),
        "found": found,
        "has_more": has_more,
    });
    if by.is_some() {
        answer["groups"] = groups_json(groups);
    } else {
        answer["transactions"] = listed.iter().map(summary_json).collect();
    }
    Ok(answer)
}

async fn look_into(
    coordinator: &Arc<Coordinator>,
    gids: &[String],
    filter: &Filter,
) -> Result<Vec<Summary>> {
    let (gids, filter) = (gids.to_vec(), filter.clone());
    let moment = coordinator.moment();
    Ok(coordinator.store.look_into(gids, filter, moment).await?)
}

fn count(groups: &mut HashMap<String, Group>, by: By, summary: &Summary) {
    let global = &summary.global;
    for mut key in by.keys(summary) {
        if groups.len() >= GROUPS_MAX && !groups.contains_key(&key) {
            "others".clone_into(&mut key);
        }
        let group = groups.entry(key).or_insert_with(|| Group {
            count: 0,
            dead: 0,
            oldest: Micros::MAX,
            oldest_gid: String::new(),
            last_error: String::new(),
            updated: 0,
        });
        group.count += 1;
        group.dead += u64::from(global.dead_since.is_some());
        if global.created < group.oldest {
            group.oldest = global.created;
            group.oldest_gid.clone_from(&global.gid);
        }
        let mut errors = summary.awaited.iter().map(|awaited| &awaited.last_error);
        if global.updated >= group.updated
            && let Some(error) = errors.find(|error| !error.is_empty())
        {
            group.updated = global.updated;
            group.last_error.clone_from(error);
        }
    }
}

/// The largest first.
fn groups_json(groups: HashMap<String, Group>) -> Value {
    let mut groups: Vec<(String, Group)> = groups.into_iter().collect();
    groups.sort_by(|(a, first), (b, second)| (second.count, a).cmp(&(first.count, b)));
    let shown = groups.into_iter().map(|(key, group)| {
        json!({
            "group": key,
            "count": group.count,
            "dead": group.dead,
            "oldest_time": time(group.oldest),
            "oldest_gid": group.oldest_gid,
            "last_error": group.last_error,
        })
    });
    shown.collect()
}

/// A transaction in few words, and what it waits for.
pub(super) fn summary_json(summary: &Summary) -> Value {
    let global = &summary.global;
    let is_held = global.dead_since.is_some() || global.paused_since.is_some();
    let is_time = |at: &Micros| *at != Micros::MAX && !is_held;
    let mut shown = json!({
        "gid": global.gid,
        "trans_type": global.pattern.name(),
        "status": global.status.name(),
        "create_time": time(global.created),
        "update_time": time(global.updated),
    });
    let mut put = |name: &str, value: Value| shown[name] = value;
    if let Some(at) = global.dead_since {
        put("dead_time", time(at).into());
    }
    if let Some(at) = global.paused_since.filter(|_| !global.status.is_final()) {
        put("pause_time", time(at).into());
    }
    if !global.rollback_reason.is_empty() {
        put("rollback_reason", global.rollback_reason.as_str().into());
    }
    if let Some(until) = summary.until.filter(is_time) {
        put("waits_until", time(until).into());
    }
    if !summary.awaited.is_empty() {
        let awaited = summary.awaited.iter().map(|awaited| {
            let next_call = Some(awaited.next_call).filter(is_time);
            json!({
                "branch_id": awaited.branch_id,
                "op": awaited.op,
                "url": awaited.url,
                "host": awaited.host(),
                "attempts": awaited.attempts,
                "last_error": awaited.last_error,
                "next_call": next_call.map(time),
            })
        });
        put("waits_for", awaited.collect());
    }
    shown
}

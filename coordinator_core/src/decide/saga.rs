//! Saga: steps that are done one after another, or as their order allows, and compensated if one
//! of them fails.
//!
//! A step is a pair of branches, `compensate` and `action`. `custom_data` may say that steps run
//! concurrently, and which must come before which: `{"concurrent":true,"orders":{"2":[0,1]}}`.
//! Compensation goes the other way. An action *may have run* if all that must come before it
//! have succeeded: such a step is compensated whatever its status, so that nothing needs to be
//! saved before an action is called. The failed step itself is among them. Where successes may be
//! unknown, because whoever learned of them is gone, every action may have run.

use super::{BranchStatus, Global, Micros, Moment, Next, Status, Transaction, custom, timed_out};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Custom {
    concurrent: bool,
    orders: Option<BTreeMap<String, Vec<usize>>>,
}

/// Steps before others, if steps do not follow one another.
type Orders = Option<BTreeMap<usize, Vec<usize>>>;

/// The steps, and what comes before what. It is made for each event, and there may be thousands of
/// both: it keeps nothing for each step that can be told when it is asked for.
struct Steps {
    count: usize,
    orders: Arc<Orders>,
}

fn orders(global: &Global) -> Orders {
    let custom: Custom = custom(global).unwrap_or_default();
    let is_concurrent = custom.concurrent || global.options.concurrent;
    let orders = custom.orders.unwrap_or_default().into_iter();
    let orders = orders.filter_map(|(step, mut before)| {
        // They are looked at for each event, and one may be named half a million times.
        before.sort_unstable();
        before.dedup();
        Some((step.parse().ok()?, before))
    });
    is_concurrent.then(|| orders.collect())
}

impl Steps {
    fn of(transaction: &Transaction) -> Steps {
        Steps {
            count: transaction.branches.len() / 2,
            orders: transaction.custom.get(|| orders(&transaction.global)),
        }
    }
    /// The position of a step's compensation: each step is a pair of branches, in their order.
    fn compensation(step: usize) -> usize {
        2 * step
    }
    /// The position of a step's action.
    fn action(step: usize) -> usize {
        2 * step + 1
    }
    /// The steps that must be done before this one.
    fn before(&self, step: usize) -> impl Iterator<Item = usize> {
        let (last, ordered) = match &*self.orders {
            None => (step.checked_sub(1), None),
            Some(orders) => (None, orders.get(&step)),
        };
        last.into_iter()
            .chain(ordered.into_iter().flatten().copied())
    }
    /// Whether all before it have succeeded, as far as is known: it may run.
    fn is_open(&self, transaction: &Transaction, step: usize) -> bool {
        let mut before = self.before(step);
        before.all(|other| transaction.has_succeeded(Steps::action(other)))
    }
    fn may_have_run(&self, transaction: &Transaction, step: usize) -> bool {
        !transaction.knows_all || self.is_open(transaction, step)
    }
}

/// Whether the steps can be done in the order that is asked for; why not.
pub(super) fn check(transaction: &Transaction) -> Result<(), String> {
    let custom: Custom = custom(&transaction.global)?;
    let steps = Steps::of(transaction);
    let count = steps.count;
    let is_step = |name: &String| name.parse().is_ok_and(|step: usize| step < count);
    let orders = custom.orders.unwrap_or_default();
    // Two names of one step would be one of them.
    let is_plain = |name: &String| {
        name.parse()
            .is_ok_and(|step: usize| step.to_string() == *name)
    };
    if let Some(name) = orders.keys().find(|name| is_step(name) && !is_plain(name)) {
        return Err(format!("orders: {name} is no plain number"));
    }
    if !orders.keys().all(is_step) || orders.values().flatten().any(|&step| step >= count) {
        return Err(format!("orders: steps are numbered from 0, below {count}"));
    }
    // Steps whose predecessors are all done are done, until there are none (Kahn, 1962).
    let mut after = vec![Vec::new(); count];
    let mut missing: Vec<usize> = (0..count).map(|step| steps.before(step).count()).collect();
    for step in 0..count {
        for other in steps.before(step) {
            after[other].push(step);
        }
    }
    let mut open: Vec<usize> = (0..count).filter(|&step| missing[step] == 0).collect();
    let mut done = 0;
    while let Some(step) = open.pop() {
        done += 1;
        for &next in &after[step] {
            missing[next] -= 1;
            if missing[next] == 0 {
                open.push(next);
            }
        }
    }
    if done < count {
        return Err("orders: steps wait for one another in a circle".into());
    }
    Ok(())
}

pub(super) fn next(transaction: &Transaction, moment: Moment) -> Next {
    let now = moment.now;
    let steps = Steps::of(transaction);
    match transaction.global.status {
        Status::Submitted => forward(transaction, &steps, now),
        Status::Aborting => backward(transaction, &steps),
        // It is prepared only to be submitted.
        _ => Next::Wait(Micros::MAX),
    }
}

fn forward(transaction: &Transaction, steps: &Steps, now: Micros) -> Next {
    if let Some(reason) = must_abort(transaction, steps, now) {
        return Next::Become(Status::Aborting, reason);
    }
    let mut wanted = Vec::new();
    let mut all = true;
    for step in 0..steps.count {
        let place = Steps::action(step);
        if transaction.has_succeeded(place) {
            continue;
        }
        all = false;
        if steps.is_open(transaction, step) {
            wanted.push(place);
        }
    }
    if all {
        return Next::Become(Status::Succeed, String::new());
    }
    Next::Call(wanted)
}

fn must_abort(transaction: &Transaction, steps: &Steps, now: Micros) -> Option<String> {
    let global = &transaction.global;
    let failed = (0..steps.count).find_map(|step| {
        let branch = transaction.branches.get(Steps::action(step))?;
        (branch.status == BranchStatus::Failed).then(|| branch.last_error.clone())
    });
    if failed.is_some() {
        return failed;
    }
    let limit = global.options.retry_limit;
    if limit > 0 && global.retry_count > limit {
        return Some(format!(
            "RetryCount is greater than RetryLimit, RetryLimit: {limit}"
        ));
    }
    let timeout = global.options.timeout_to_fail;
    (now >= transaction.deadline(Micros::MAX)).then(|| timed_out(timeout.0))
}

fn backward(transaction: &Transaction, steps: &Steps) -> Next {
    // What is under way must have ended before it is undone.
    let is_action = |place: &usize| !place.is_multiple_of(2);
    if transaction.calling.iter().any(is_action) {
        return Next::Call(Vec::new());
    }
    let left: Vec<usize> = (0..steps.count)
        .filter(|&step| steps.may_have_run(transaction, step))
        .filter(|&step| !transaction.has_succeeded(Steps::compensation(step)))
        .collect();
    if left.is_empty() {
        return Next::Become(Status::Failed, String::new());
    }
    // What came before one of them waits for it.
    let mut waits = vec![false; steps.count];
    for before in left.iter().flat_map(|&step| steps.before(step)) {
        if let Some(waits) = waits.get_mut(before) {
            *waits = true;
        }
    }
    let ready = left.into_iter().filter(|&step| !waits[step]);
    Next::Call(ready.map(Steps::compensation).collect())
}

//! The scheduler's variables, and what SQL can see of it.

use crate::{connections::Connections, database::Database};
use cohort_engine::types::Value;
use cohort_process::limits;
use cohort_scheduler::{Class, Rules, Scheduler, Threads, waits};
use cohort_sql::{Group, Instance, Pool, Queued, WaitClass};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};

/// Slots for each core, unless thread_pool_size says otherwise; see
/// docs/decisions/0017.
pub const SLOTS_PER_CORE: usize = 2;
/// So many connections for each core that talk are a crowd: fewer keep their threads while they
/// talk, and nobody queues.
pub const CROWD_PER_CORE: usize = 64;
/// A thread's stack. Only touched pages take memory; unoptimised code has larger frames.
pub const STACK: usize = if cfg!(debug_assertions) {
    8 << 20
} else {
    1 << 20
};

/// The threads of a scheduler: of those that the machine allows, some are kept for connections
/// that hold locks.
pub fn threads(name: &'static str) -> Threads {
    Threads {
        name,
        stack: STACK,
        max: *limits::THREADS,
    }
}

/// The limits of statements, from the global variables.
pub fn rules(instance: &Instance) -> Rules {
    let values = instance.globals.values();
    let number = |name| usize::try_from(values.number(name)).unwrap_or(usize::MAX);
    Rules {
        size: number("thread_pool_size"),
        oversubscribe: number("thread_pool_oversubscribe"),
        kickup: values
            .number("thread_pool_prio_kickup_timer")
            .saturating_mul(1000),
        threads: number("thread_pool_max_threads"),
    }
}

/// Gives the variables that are the scheduler's or the connections' to them when they are set.
pub fn obey_variables(instance: &Arc<Instance>, connections: &Arc<Connections<Database>>) {
    let weak = Arc::downgrade(connections);
    instance.on_set_global(Box::new(move |name, value| {
        if let (Some(connections), Value::UInt(n)) = (weak.upgrade(), value) {
            set(&connections, name, *n);
        }
        Ok(())
    }));
}

fn set(connections: &Connections<Database>, name: &str, value: u64) {
    use std::sync::atomic::Ordering::Relaxed;
    let n = usize::try_from(value).unwrap_or(usize::MAX);
    let scheduler = &connections.shared.backend.scheduler;
    match name {
        "max_connections" => connections.max.store(n, Relaxed),
        "cohort_admission_timeout" => connections.admission_ms.store(value, Relaxed),
        "thread_pool_size" => scheduler.set_rules(|rules| rules.size = n),
        "thread_pool_max_threads" => scheduler.set_rules(|rules| rules.threads = n),
        "thread_pool_oversubscribe" => scheduler.set_rules(|rules| rules.oversubscribe = n),
        "thread_pool_prio_kickup_timer" => {
            scheduler.set_rules(|rules| rules.kickup = value.saturating_mul(1000));
        }
        "thread_pool_idle_timeout" => scheduler.set_idle_time(Duration::from_secs(value)),
        _ => {}
    }
}

/// The schedulers of statements and of logins, as SQL sees them.
pub struct View {
    /// Both.
    pub schedulers: [Arc<Scheduler>; 2],
    /// Whose waits they count.
    pub waits: Arc<waits::Waits>,
    /// The connections.
    pub connections: Weak<Connections<Database>>,
}

impl Pool for View {
    fn groups(&self) -> Vec<Group> {
        let connections = self.connections.upgrade().map_or(0, |c| c.count() as u64);
        let group = |scheduler: &Arc<Scheduler>| {
            let report = scheduler.report();
            Group {
                connections: 0,
                threads: report.threads,
                active: report.running,
                standby: report.idle,
                queued: report.waiting,
                slots: report.size,
                created: report.created,
                returned: report.returned,
                high: report.high,
                kicked_up: report.kicked_up,
                low: report.low,
                yields: report.yields,
                lent: report.lent,
            }
        };
        let mut groups: Vec<Group> = self.schedulers.iter().map(group).collect();
        let logged_in = self.connections.upgrade().map_or(0, |c| {
            let sessions = &c.shared.backend.instance.sessions;
            sessions.counts().0
        });
        let shares = [logged_in, connections.saturating_sub(logged_in)];
        for (group, share) in groups.iter_mut().zip(shares) {
            group.connections = share;
        }
        groups
    }

    fn queued(&self) -> Vec<Queued> {
        let groups = self.schedulers.iter().zip(0..);
        let queued = groups.flat_map(|(scheduler, group)| {
            let waiting = scheduler.queued().into_iter().zip(0..);
            waiting.map(move |(waiter, position)| Queued {
                group,
                position,
                priority: match waiter.class {
                    Class::Returning => 0,
                    Class::High => 1,
                    Class::Low => 2,
                },
                connection: waiter.session,
                micros: waiter.micros,
            })
        });
        queued.collect()
    }

    fn waits(&self) -> Vec<WaitClass> {
        let class = |(wait, name): &(waits::Wait, &'static str)| WaitClass {
            name,
            micros: self.waits.of(*wait).now(),
        };
        waits::CLASSES.iter().map(class).collect()
    }
}

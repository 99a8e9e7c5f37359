//! Whether a session's next statement is high or low: thread_pool_high_prio_mode and
//! thread_pool_high_prio_tickets.

use super::Class;
use cohort_sql::variables::HighPriority;

/// What a session's priority depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its thread_pool_high_prio_mode.
    pub mode: HighPriority,
    /// Whether others may wait for it: a transaction is open, or it holds locks otherwise.
    pub engaged: bool,
    /// Whether it holds locks.
    pub holds_locks: bool,
    /// Its thread_pool_high_prio_tickets.
    pub tickets: u32,
}

/// How often a session may still go high: one ticket for each time it queues there. When none is
/// left it queues low once, and gets all of them back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tickets {
    used: u32,
}

impl Tickets {
    /// The queue for the next statement.
    pub fn class(&mut self, standing: Standing) -> Class {
        let high = match standing.mode {
            HighPriority::Transactions => standing.engaged && self.used < standing.tickets,
            HighPriority::Statements => true,
            HighPriority::None => false,
        };
        if high {
            self.used = self.used.saturating_add(1);
            Class::High
        } else {
            self.used = 0;
            Class::Low
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_used_up_and_come_back() {
        let mut tickets = Tickets::default();
        let mut standing = Standing {
            mode: HighPriority::Transactions,
            engaged: true,
            holds_locks: false,
            tickets: 2,
        };
        let classes: Vec<Class> = (0..4).map(|_| tickets.class(standing)).collect();
        assert_eq!(classes, [Class::High, Class::High, Class::Low, Class::High]);
        standing.engaged = false;
        assert_eq!(tickets.class(standing), Class::Low);
        standing.mode = HighPriority::Statements;
        assert_eq!(tickets.class(standing), Class::High);
        standing.mode = HighPriority::None;
        standing.engaged = true;
        assert_eq!(tickets.class(standing), Class::Low);
    }
}

//! Decisions on a fake clock, as scripts tell them (`golden/*.txt`).
//!
//! A line of a script is a command and, after `→`, what it decides:
//!
//! * `rules size oversubscribe kickup_us [threads]` begins anew, with nobody running
//! * `size n` changes the number of slots
//! * `at us` sets the clock
//! * `returning|high|low name…` queues work; a name with `!` is urgent, and `returning` always is
//! * `next` lets run whom the core chooses, all there are, until it chooses nobody
//! * `done` ends one that runs; then as `next`
//! * `waits` gives up the slot of one that runs, which keeps its thread; then as `next`

use super::*;
use std::fmt::Write;

struct Script {
    queues: Queues<String>,
    now: Micros,
    running: usize,
    threads: usize,
}

impl Script {
    fn decide(&mut self) -> String {
        let mut decided = String::new();
        while let Some(Grant { who, why, waited }) =
            self.queues.next(self.now, self.running, self.threads)
        {
            self.running += 1;
            self.threads += usize::from(why != Why::Returned);
            let _ = write!(decided, " {who} ({why:?} after {waited})");
        }
        if decided.is_empty() {
            decided += " nobody";
        }
        decided
    }

    fn obey(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |n: usize| words[n].parse::<u64>().unwrap();
        match words[0] {
            "rules" => {
                let rules = Rules {
                    size: number(1) as usize,
                    oversubscribe: number(2) as usize,
                    kickup: number(3),
                    threads: words.get(4).map_or(usize::MAX, |_| number(4) as usize),
                };
                self.queues = Queues::new(rules);
                (self.now, self.running, self.threads) = (0, 0, 0);
            }
            "size" => self.queues.rules.size = number(1) as usize,
            "at" => self.now = number(1),
            "next" => return self.decide(),
            "done" => {
                self.running -= 1;
                self.threads = self.threads.saturating_sub(1);
                return self.decide();
            }
            "waits" => {
                self.running -= 1;
                return self.decide();
            }
            class => {
                let class = match class {
                    "returning" => Class::Returning,
                    "high" => Class::High,
                    "low" => Class::Low,
                    other => panic!("{other}?"),
                };
                for name in &words[1..] {
                    let urgent = class == Class::Returning || name.ends_with('!');
                    self.queues
                        .enter(self.now, class, urgent, (*name).to_owned());
                }
            }
        }
        String::new()
    }
}

#[test]
fn decisions_are_as_the_scripts_tell() {
    let script = include_str!("golden/decisions.txt");
    let rules = Rules {
        size: 1,
        oversubscribe: 0,
        kickup: 0,
        threads: usize::MAX,
    };
    let mut state = Script {
        queues: Queues::new(rules),
        now: 0,
        running: 0,
        threads: 0,
    };
    let mut decided = String::new();
    for line in script.lines() {
        let command = line.split(" →").next().unwrap();
        if command.is_empty() || command.starts_with('#') {
            let _ = writeln!(decided, "{line}");
            continue;
        }
        let answer = state.obey(command);
        let arrow = if answer.is_empty() { "" } else { " →" };
        let _ = writeln!(decided, "{command}{arrow}{answer}");
    }
    for (told, found) in script.lines().zip(decided.lines()) {
        assert_eq!(told, found);
    }
}

/// Low work under a flood of high work, on a fake clock: every statement takes 50 µs, and there is
/// always more high work than slots.
#[test]
fn low_work_waits_for_the_kick_up_time_at_most() {
    const KICKUP: Micros = 100_000;
    const STATEMENT: Micros = 50;
    let mut queues = Queues::new(Rules {
        size: 2,
        oversubscribe: 1,
        kickup: KICKUP,
        threads: usize::MAX,
    });
    let (mut longest, mut served) = (0, 0);
    for _ in 0..64 {
        queues.enter(0, Class::Low, false, "low");
    }
    for step in 0..40_000 {
        let now = step * STATEMENT;
        for _ in 0..3 {
            queues.enter(now, Class::High, false, "high");
        }
        for running in 0..2 {
            let grant = queues.next(now, running, 0).unwrap();
            if grant.who == "low" {
                longest = longest.max(grant.waited);
                served += 1;
                queues.enter(now, Class::Low, false, "low");
            }
        }
    }
    assert!(served > 1000);
    assert!(longest <= KICKUP + KICKUP / 10, "{longest}");
}

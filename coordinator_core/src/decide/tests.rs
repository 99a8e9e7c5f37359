//! Golden scripts: stories of transactions, and what is decided at each step.
//!
//! ```text
//! saga 2 {"timeout_to_fail":10}     a transaction with so many steps and these options
//! 5 reply action 01 failure no      at second 5 the branch's call came to this
//! 7 answer success                  so did the question to the client
//! 9 look                            time has passed
//! 9 read back                       its driver was lost; another one has it from its rows
//! 9 let go                          its driver saved all, and another one has it
//! 9 client submit                   its client does this: submit, abort, forceStop
//! 9 operator pause                  an operator does this: pause, resume, retry, compensate
//! ```
//!
//! After each line: the actions, the status, and the branches' statuses as one letter each.

use super::*;
use crate::model::{Options, Pattern};
use std::{collections::BTreeMap, fmt::Write, fs, path::Path, sync::Arc};

/// Times are seconds after this.
const START: Micros = 1_000_000 * SECOND;

fn global(pattern: Pattern, status: Status, options: &str, custom_data: &str) -> Global {
    Global {
        id: 1,
        query_prepared: "http://client/query".to_owned(),
        custom_data: custom_data.to_owned(),
        options: serde_json::from_str::<Options>(options).expect("options"),
        ..Global::new("g", pattern, status, START)
    }
}

/// `pattern steps [status] [options] [custom data]`
fn begin(line: &str) -> Transaction {
    let mut words = line.split(' ');
    let pattern = Pattern::parse(words.next().unwrap_or_default()).expect("a pattern");
    let steps: usize = words.next().expect("steps").parse().expect("a number");
    let status = Status::parse(words.next().expect("a status")).expect("a status");
    let options = words.next().unwrap_or("{}");
    let custom = words.next().unwrap_or("{}");
    let ops = pattern.rules().ops;
    let mut branches = Vec::new();
    for step in 1..=steps {
        for op in ops {
            branches.push(Branch::new(
                &format!("{step:02}"),
                op,
                "http://b",
                Vec::new(),
            ));
        }
    }
    Transaction::new(global(pattern, status, options, custom), branches)
}

/// As its rows have it, if nothing was saved but the global transaction.
fn read_back(transaction: &Transaction) -> Transaction {
    let fresh = |branch: &CopyOnWrite<Branch>| {
        Branch::new(
            &branch.branch_id,
            &branch.op,
            &branch.url,
            branch.body.clone(),
        )
    };
    let branches = transaction.branches.iter().map(fresh).collect();
    Transaction::read_back((*transaction.global).clone(), branches)
}

/// As its rows have it, if everything was saved.
fn let_go(transaction: &mut Transaction) -> Transaction {
    transaction.settle();
    let branches = transaction.branches.iter();
    let branches = branches.map(|branch| (**branch).clone()).collect();
    Transaction::read_back((*transaction.global).clone(), branches)
}

fn reply(word: &str, why: String) -> Reply {
    match word {
        "success" => Reply::Success(why),
        "failure" => Reply::Failure(why),
        "ongoing" => Reply::Ongoing,
        "unsent" => Reply::Unsent,
        "error" => Reply::Error(why),
        other => panic!("{other} is no reply"),
    }
}

fn event(transaction: &Transaction, line: &str) -> (Event, Moment) {
    let words: Vec<&str> = line.split(' ').collect();
    let seconds: u64 = words[0].parse().expect("a time in seconds");
    let moment = Moment {
        now: START + seconds * SECOND,
        // A quarter of the interval: intervals as they are.
        random: 0,
        rules: Rules {
            dead_letter_after: 3,
            alert_after: 2,
            ..Rules::default()
        },
    };
    let rest = |from: usize| words.get(from..).unwrap_or_default().join(" ");
    let event = match words[1] {
        "look" | "read" | "let" | "client" | "operator" => Event::Look,
        "answer" => Event::Answer(reply(words[2], rest(3))),
        "reply" => {
            let is_it = |branch: &CopyOnWrite<Branch>| {
                branch.op == words[2] && branch.branch_id == words[3]
            };
            let place = transaction.branches.iter().position(is_it);
            Event::Reply(place.expect("a branch"), reply(words[4], rest(5)))
        }
        other => panic!("{other} is no event"),
    };
    (event, moment)
}

fn tell(transaction: &Transaction, actions: &[Action]) -> String {
    let mut out = String::new();
    for action in actions {
        let told = match action {
            Action::Save => "save".to_owned(),
            Action::Refresh => "save and read again".to_owned(),
            Action::Call(place) => {
                let branch = &transaction.branches[*place];
                format!("call {} {}", branch.op, branch.branch_id)
            }
            Action::Ask => "ask".to_owned(),
            Action::Wait(until) if *until == Micros::MAX => "wait for ever".to_owned(),
            Action::Wait(until) => {
                format!(
                    "wait until {}",
                    until.saturating_sub(START) as f64 / SECOND as f64
                )
            }
            Action::Alert(Some(place), why) => {
                let branch = &transaction.branches[*place];
                format!("alert {} {}: {why}", branch.op, branch.branch_id)
            }
            Action::Alert(None, why) => format!("alert: {why}"),
            Action::End => "end".to_owned(),
        };
        let _ = write!(out, "{told}; ");
    }
    let letters = transaction
        .branches
        .iter()
        .map(|branch| match branch.status {
            BranchStatus::Prepared => 'P',
            BranchStatus::Succeed => 'S',
            BranchStatus::Failed => 'F',
        });
    let letters: String = letters.collect();
    let _ = write!(out, "{} {letters}", transaction.global.status.name());
    if !transaction.global.rollback_reason.is_empty() {
        let _ = write!(out, " ({})", transaction.global.rollback_reason);
    }
    out
}

/// Does what a client or an operator wants; why it cannot be done.
fn do_outside(transaction: &mut Transaction, line: &str) -> Result<(), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let seconds: u64 = words[0].parse().expect("a time in seconds");
    let now = START + seconds * SECOND;
    match (words[1], words.get(2).copied().unwrap_or_default()) {
        ("client", "submit") => transaction.obey(&Wish::Submit(None), now).map(drop),
        ("client", "abort") => transaction.obey(&Wish::Abort("no".into()), now).map(drop),
        ("client", "forceStop") => transaction.obey(&Wish::Stop, now).map(drop),
        ("operator", "pause") => transaction.operate(&Operation::Pause, "why", now),
        ("operator", "resume") => transaction.operate(&Operation::Resume, "why", now),
        ("operator", "retry") => transaction.operate(&Operation::Retry, "why", now),
        ("operator", "compensate") => transaction.operate(&Operation::Compensate, "why", now),
        _ => Ok(()),
    }
}

/// Plays the lines that begin with `>` and answers each.
fn play(script: &str) -> String {
    let mut out = String::new();
    let mut transaction: Option<Transaction> = None;
    for line in script.lines() {
        let Some(command) = line.strip_prefix("> ") else {
            if line.starts_with('#') || line.is_empty() {
                let _ = writeln!(out, "{line}");
            }
            continue;
        };
        let _ = writeln!(out, "{line}");
        if !command.starts_with(|c: char| c.is_ascii_digit()) {
            transaction = Some(begin(command));
            continue;
        }
        let transaction = transaction.as_mut().expect("a transaction");
        if command.ends_with(" read back") {
            *transaction = read_back(transaction);
        } else if command.ends_with(" let go") {
            *transaction = let_go(transaction);
        }
        if let Err(why) = do_outside(transaction, command) {
            let _ = writeln!(out, "refused: {why}");
        }
        let (event, moment) = event(transaction, command);
        let actions = transaction.decide([event], moment);
        let _ = write!(out, "{}", tell(transaction, &actions));
        for note in transaction.notes.drain(..) {
            let (cause, from, to) = (note.cause.name(), note.from.name(), note.to.name());
            let _ = write!(out, "; noted: {cause}, {from} to {to}");
            if !note.reason.is_empty() {
                let _ = write!(out, ", {}", note.reason);
            }
        }
        out.push('\n');
    }
    out
}

/// `GOLDEN=write` writes what is decided, to be read before it is believed.
#[test]
fn stories() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/decide/golden");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the folder of stories") {
        let path = entry.expect("an entry").path();
        let script = fs::read_to_string(&path).expect("a story");
        let played = play(&script);
        if std::env::var_os("GOLDEN").is_some_and(|what| what == "write") {
            fs::write(&path, &played).expect("writing a story");
        } else {
            assert_eq!(played, script, "{}", path.display());
        }
        count += 1;
    }
    assert!(count >= 4, "{count} stories");
}

/// Whoever has it from its rows has set its clock back by a day.
#[test]
fn a_clock_that_is_set_back_makes_nobody_wait() {
    let moment = |now| Moment {
        now,
        random: 0,
        rules: Rules::default(),
    };
    let mut saga = begin(r#"saga 1 submitted {"timeout_to_fail":60}"#);
    saga.decide([Event::Look], moment(START));
    let away = Event::Reply(1, Reply::Error("away".into()));
    saga.decide([away], moment(START + 20 * SECOND));
    saga.global.updated = START + 20 * SECOND;
    let mut saga = let_go(&mut saga);
    let back = START + 25 * SECOND - 86_400 * SECOND;
    saga.rebase(back);
    let retry = back + SECOND * 15 / 2;
    let waits = [Action::Wait(retry)];
    assert_eq!(saga.decide([Event::Look], moment(back)), waits);
    assert_eq!(
        saga.decide([Event::Look], moment(retry)),
        [Action::Call(1), Action::Wait(back + 40 * SECOND)],
        "of its sixty seconds twenty had gone by"
    );
    // What was written by a clock that is right is left alone.
    let as_it_is = saga.clone();
    saga.rebase(back + SECOND);
    assert_eq!(saga, as_it_is);
}

/// By step: those before it.
type Orders = BTreeMap<usize, Vec<usize>>;

/// A saga of three steps that are called at the same time, but for its orders, begins with these calls;
/// the moment, and the orders as they were read.
fn begin_in_order(orders: &str, calls: [usize; 2]) -> (Transaction, Moment, Arc<Option<Orders>>) {
    let custom = format!(r#"{{"concurrent":true,"orders":{orders}}}"#);
    let mut saga = begin(&format!("saga 3 submitted {{}} {custom}"));
    let moment = Moment {
        now: START,
        random: 0,
        rules: Rules::default(),
    };
    let begun = saga.decide([Event::Look], moment);
    assert_eq!(begun, calls.map(Action::Call));
    let read = saga.custom.get(|| panic!("it was read"));
    (saga, moment, read)
}

/// There may be a megabyte of orders, and thousands of replies.
#[test]
fn what_a_transaction_says_is_read_once() {
    let (mut saga, moment, read) = begin_in_order(r#"{"1":[0]}"#, [1, 5]);
    let done = Event::Reply(1, Reply::Success(String::new()));
    assert_eq!(saga.decide([done], moment), [Action::Call(3)]);
    assert!(Arc::strong_count(&read) > 1, "it is the same");
}

/// A step's predecessors are looked at for each event.
#[test]
fn what_comes_before_a_step_is_taken_once_however_often_it_is_named() {
    let (saga, _, read) = begin_in_order(r#"{"2":[1,0,0,1,0]}"#, [1, 3]);
    assert_eq!(*read, Some(BTreeMap::from([(2, vec![0, 1])])));
    assert_eq!(saga.check(), Ok(()));
}

#[test]
fn who_answers_not_yet_has_not_failed_since_before() {
    let moment = |seconds| Moment {
        now: START + seconds * SECOND,
        random: 0,
        rules: Rules {
            dead_letter_age: 60 * SECOND,
            ..Rules::default()
        },
    };
    let error = || Reply::Error("away".into());
    for (line, event) in [
        (
            "saga 1 submitted",
            (|reply| Event::Reply(1, reply)) as fn(_) -> _,
        ),
        ("msg 1 prepared", Event::Answer),
    ] {
        let mut one = begin(line);
        one.decide([event(error())], moment(0));
        one.decide([event(Reply::Ongoing)], moment(50));
        one.decide([event(error())], moment(100));
        assert_eq!(one.global.dead_since, None, "{line}");
        one.decide([event(error())], moment(160));
        assert!(one.global.dead_since.is_some(), "{line}");
    }
}

#[test]
fn an_answer_that_the_tables_refuse_is_a_call_that_came_to_nothing() {
    let moment = |seconds| Moment {
        now: START + seconds * SECOND,
        random: 0,
        rules: Rules {
            dead_letter_after: 2,
            ..Rules::default()
        },
    };
    let mut saved = begin(r#"saga 2 submitted {"pass_results":true,"retry_limit":1}"#);
    let mut now = 0;
    for errors in 1..=2 {
        let mut known = saved.clone();
        known.decide([Event::Look], moment(now));
        let long = Event::Reply(1, Reply::Success("long".into()));
        known.decide([long], moment(now));
        assert_eq!(saved.called(&known), [1]);
        let told = saved.refused(1, &known.branches[1], "too long", moment(now));
        let branch = &saved.branches[1];
        assert_eq!(branch.status, BranchStatus::Prepared);
        assert_eq!((branch.attempts, branch.errors), (errors, errors));
        assert_eq!(branch.last_error, "too long");
        let is_last = errors == 2;
        assert_eq!(saved.global.dead_since.is_some(), is_last);
        let alert = Action::Alert(Some(1), "too long".into());
        assert_eq!(told.contains(&alert), is_last);
        assert!(branch.not_before > moment(now).now);
        now += 600;
    }
    // No service failed.
    assert_eq!(saved.global.retry_count, 0);
}

#[test]
fn what_the_tables_refuse_as_a_whole_waits_longer_each_time() {
    let moment = |now| Moment {
        now,
        random: 0,
        rules: Rules {
            dead_letter_age: 600 * SECOND,
            ..Rules::default()
        },
    };
    let saved = begin(r#"saga 2 submitted {"retry_interval":40}"#);
    let (mut known, mut now, mut pauses) = (None, START, Vec::new());
    let dead = loop {
        let mut one = saved.clone();
        let (trouble, alert) = one.troubled(known.as_ref(), ("no", false), moment(now));
        assert_eq!(one.notes.is_empty(), known.is_some() && alert.is_none());
        assert_eq!(
            (one.global.retry_count, one.global.failing_since),
            (0, None)
        );
        pauses.push((trouble.until - now) / SECOND);
        if alert.is_some() {
            assert!(trouble.is_dead);
            known = Some(trouble);
            break one;
        }
        assert!(!trouble.is_dead);
        assert_eq!(one.global.next_run, trouble.until);
        now = trouble.until;
        known = Some(trouble);
    };
    assert_eq!(pauses, [30, 60, 120, 225, 225, 225]);
    assert_eq!(dead.global.dead_since, Some(now));
    assert_eq!(dead.global.next_run, Micros::MAX);
    // Its row does not take that: it stays one, and it was told.
    let (trouble, alert) =
        saved
            .clone()
            .troubled(known.as_ref(), ("no", false), moment(now + SECOND));
    assert!(trouble.is_dead && alert.is_none());
}

/// What one coordinator remembers of a transaction is no more true once somebody else has got further
/// with it, or an operator at another one has had it tried again. It stays true if another coordinator
/// waits with it, too.
#[test]
fn a_trouble_ends_when_somebody_else_gets_further() {
    let leases = crate::lease::Leases::default();
    let moment = Moment {
        now: START,
        random: 0,
        rules: Rules::default(),
    };
    let mut one = begin("saga 1 submitted");
    let (trouble, _) = one.troubled(None, ("no", true), moment);
    let mut other = one.clone();
    other.global.created += 1;
    let mut called = one.clone();
    called.branches[1].attempts += 1;
    let mut waits = one.clone();
    waits.global.next_run = START;
    waits.global.updated += 1;
    for (progress, remains) in [
        (None, true),
        (Some(one.progress(3)), true),
        (Some(waits.progress(3)), true),
        (Some(one.progress(2)), false),
        (Some(called.progress(3)), false),
        (Some(other.progress(3)), false),
    ] {
        let mut known = trouble.clone();
        known.progress = progress;
        leases.set_trouble(&one.global.gid, known);
        leases.end_trouble_before(&one.global.gid, one.progress(3));
        let found = leases.trouble(&one.global.gid);
        assert_eq!(
            found.is_some_and(|known| known.is_dead),
            remains,
            "{progress:?}"
        );
    }
}

/// Later calls are sent all of it.
#[test]
fn answers_that_are_passed_on_have_a_limit() {
    let moment = Moment {
        now: START,
        random: 0,
        rules: Rules::default(),
    };
    let large = || Reply::Success("x".repeat(RESULTS_BYTES_MAX / 2));
    let mut saga = begin(r#"saga 3 submitted {"pass_results":true}"#);
    saga.decide([Event::Look], moment);
    for action in [1, 3] {
        let actions = saga.decide([Event::Reply(action, large())], moment);
        assert_eq!(actions, [Action::Save, Action::Call(action + 2)]);
    }
    let one_more = Event::Reply(5, Reply::Success("x".into()));
    let actions = saga.decide([one_more], moment);
    // It has done its work: it is the first to be undone.
    assert_eq!(actions, [Action::Save, Action::Call(4)]);
    let global = &saga.global;
    assert_eq!(global.status, Status::Aborting);
    let why = "pass_results: the steps' answers may have 4194304 bytes together";
    assert!(
        global.rollback_reason.starts_with(why),
        "{}",
        global.rollback_reason
    );
    assert!(saga.branches[5].answer.is_empty());
    // Who passes nothing on keeps nothing.
    let mut saga = begin("saga 1 submitted");
    saga.decide([Event::Look], moment);
    let answer = Reply::Success("x".repeat(RESULTS_BYTES_MAX + 1));
    saga.decide([Event::Reply(1, answer)], moment);
    assert_eq!(saga.global.status, Status::Succeed);
}

//! A few runs, and that they repeat themselves.

use super::{moves::Move, plan::Do, world::Lasting, *};

#[test]
fn a_seed_decides_everything() {
    for seed in 1..200 {
        let (first, second) = (by_chance(seed, true), by_chance(seed, true));
        assert_eq!(first, second, "seed {seed}");
        assert_eq!(first.1, Ok(()), "seed {seed}");
    }
}

#[test]
fn a_walk_takes_each_path_once() {
    let mut walk = Chooser::Walk(Walk::new(1));
    let mut paths = Vec::new();
    loop {
        paths.push([walk.below(2), walk.below(3)]);
        let Chooser::Walk(walk) = &mut walk else {
            unreachable!("it is a walk")
        };
        if !walk.next() {
            break;
        }
    }
    assert_eq!(paths, [[0, 0], [0, 1], [0, 2], [1, 0]]);
}

/// The table of promises names every fault that the model has.
#[test]
fn the_documents_name_all_that_may_fail() {
    let page = include_str!("../../../docs/coordinator.md");
    let source = include_str!("moves.rs");
    let names = source.split("=> (\"").skip(1);
    let names = names.map(|rest| rest.split('"').next().expect("the name's end"));
    // What repairs, and what goes well, fails nobody.
    const NO_FAULTS: [&str; 13] = [
        "tables used",
        "calls that succeed",
        "looks for what is due",
        "news heard",
        "client's requests",
        "restarts",
        "ends of pauses",
        "cut off no more",
        "transactions that go on",
        "saves taken again",
        "dead letters retried",
        "runs",
        "declared dead",
    ];
    let mut count = 0;
    for name in names.filter(|name| !NO_FAULTS.contains(name)) {
        assert!(
            page.contains(&format!("*{name}*")),
            "{name} is not in the table"
        );
        count += 1;
    }
    assert!(count >= 14, "{count} faults");
}

/// Has moves happen in this order, and then a calm; what is wrong. `tables`: all that was asked of
/// the tables; `&`: before anybody can go on.
fn play(plan: Plan, script: &[&str]) -> Result<(), String> {
    let mut chooser = Chooser::Random(Noise::new(1));
    let mut run = Run::new(plan, &mut chooser, 100, false);
    for word in script {
        let (word, is_sudden) = match word.strip_prefix('&') {
            Some(word) => (word, true),
            None => (*word, false),
        };
        loop {
            if !is_sudden {
                run.settle()?;
            }
            let moves = run.moves();
            let is_wanted = |chosen: &&Move| match word {
                "tables" => matches!(chosen, Move::Apply(_)),
                word => format!("{chosen:?}") == word,
            };
            match moves.iter().find(is_wanted) {
                Some(chosen) => run.make(*chosen),
                None if word == "tables" => break,
                None => panic!("{word} is not among {moves:?}"),
            }
            if word != "tables" {
                break;
            }
        }
    }
    run.settle()?;
    run.calm()
}

#[test]
fn what_is_learned_while_rows_are_read_again_is_saved_before_what_it_allows() {
    let plan = Plan::new(Pattern::Saga, 4, 1);
    let script = [
        "Client(0)",
        "tables",
        "Take(0, Garbage)",
        "tables", // its rows are exact from now on
        "Advance",
        "Tick(0)",
        "tables",
        "Take(0, Success)",
        "tables", // 02 is called
        "Again(0)",
        "tables",
        "Take(0, Success)",
        "tables", // and has succeeded: 03 is called
        "Crash(0)",
        "Arrive(0)",
        "Restart(0)",
        "Tick(0)",
        "tables",
        "Take(0, Failure)",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn a_coordinator_declared_dead_does_not_drive_on_what_it_made_known() {
    let plan = Plan::new(Pattern::Saga, 2, 2);
    let script = [
        "Client(1)",
        "Pause(1)",
        "tables",
        "Bury(2)",
        "Tick(0)",
        "tables", // 0 drives it
        "Resume(1)",
        "&Heal(1)",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn calls_under_way_are_waited_for_when_the_tables_fail() {
    let mut plan = Plan::new(Pattern::Saga, 2, 1);
    plan.custom_data = r#"{"concurrent":true}"#;
    let script = [
        "Client(0)",
        "tables",
        "Take(0, Failure)",
        "Refuse(0)",
        "Again(0)",
        "tables",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn of_two_who_submit_at_once_nobody_is_told_that_it_failed() {
    let plan = Plan::new(Pattern::Message, 1, 2);
    let script = [
        "Client(0)",
        "tables",
        "Client(0)", // prepared, and committed by its client
        "Client(0)",
        "Apply(0)",
        "Apply(0)",
        "Again(1)",
        "Apply(1)",
        "Apply(1)",
        "tables",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn what_somebody_else_drove_meanwhile_may_have_been_called() {
    let plan = Plan::new(Pattern::Saga, 3, 2);
    let script = [
        "Client(0)",
        "tables",
        "CutOff(0)",
        "Bury(1)", // 01 is being called by 0
        "Tick(1)",
        "tables",
        "Take(1, Success)",
        "Take(1, Success)", // 1 gets as far as 03
        "Crash(1)",
        "tables",
        "Arrive(1)",
        "Heal(0)",
        "Bury(2)",
        "Take(0, Success)",
        "tables",
        "Take(0, Failure)",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn an_operator_elsewhere_gets_the_lease_after_the_call_under_way() {
    let plan = Plan::new(Pattern::Saga, 3, 2);
    let script = [
        "Client(0)",
        "tables",
        "Operate(1, Pause)",
        "tables",
        "Hear(0)",
        "Advance",
        "tables",
        "Hear(0)",
        "Take(0, Success)",
        "tables", // 0 lets go, and does not take it up again
        "Advance",
        "tables",
        "Operate(0, Resume)",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn what_an_operator_had_retried_is_no_dead_letter_because_of_a_client_that_knew_it_as_one() {
    let mut plan = Plan::new(Pattern::Tcc, 1, 1);
    plan.dead_letter_after = 1;
    plan.script = vec![Do::Prepare, Do::Register(0), Do::Try(0), Do::Abort];
    let script = [
        "Client(0)",
        "tables",
        "Client(0)",
        "tables",
        "Client(0)",
        "Break(Status)",
        "Advance",
        "Tick(0)",
        "tables", // it is too late to decide: that is refused, and it is a dead letter
        "Mend",
        "Operate(0, Revive)",
        "Apply(0)", // the operator's coordinator reads it
        "Client(0)",
        "Apply(1)", // so does the client's, before it is written
        "tables",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

#[test]
fn who_is_not_allowed_to_let_a_dead_letter_go_tells_of_it_once() {
    let mut plan = Plan::new(Pattern::Saga, 1, 2);
    plan.dead_letter_after = 1;
    let script = [
        "Client(0)",
        "tables",
        "Take(0, Garbage)",
        "Apply(0)", // its row says that it is a dead letter
        "Break(All)",
        "tables",
    ];
    assert_eq!(play(plan, &script), Ok(()));
}

/// However often its client asks, and whom.
#[test]
fn what_the_tables_refuse_is_called_once_by_each_coordinator() {
    let mut chooser = Chooser::Random(Noise::new(1));
    let mut run = Run::new(Plan::new(Pattern::Saga, 1, 2), &mut chooser, 100, false);
    run.again = 20;
    let mut calls = 0;
    let mut go_on = |run: &mut Run<'_>| {
        loop {
            run.settle()?;
            let moves = run.moves();
            let is_next = |chosen: &&Move| matches!(chosen, Move::Apply(_) | Move::Take(..));
            let Some(chosen) = moves.iter().find(is_next) else {
                return Ok::<_, String>(());
            };
            calls += usize::from(matches!(chosen, Move::Take(..)));
            run.make(*chosen);
        }
    };
    run.make(Move::Break(Lasting::Branches));
    run.make(Move::Client(0));
    go_on(&mut run).expect("submitted");
    for index in 0..20 {
        run.make(Move::Again(index % 2));
        go_on(&mut run).expect("asked again");
    }
    assert_eq!(calls, 2);
    assert_eq!(run.calm(), Ok(()));
}

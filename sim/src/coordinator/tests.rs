//! A few runs, and that they repeat themselves.

use super::*;

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
    const NO_FAULTS: [&str; 11] = [
        "tables used",
        "calls that succeed",
        "looks for what is due",
        "news heard",
        "client's requests",
        "restarts",
        "ends of pauses",
        "cut off no more",
        "transactions that go on",
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

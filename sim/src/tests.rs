//! A few histories, and that they repeat themselves.

use super::*;
use crate::options::Kinds;

fn kinds(list: &str) -> Kinds {
    Kinds::parse(list).expect("a list of faults")
}

#[test]
fn a_seed_decides_everything() {
    for seed in 1..4 {
        let run = || {
            let mut history = History::new(seed, kinds("crash,power,tear,eio,enospc"), false);
            let result = history.run();
            (result, history.trace, history.figures)
        };
        let (first, second) = (run(), run());
        assert_eq!(first, second, "seed {seed}");
        assert_eq!(first.0, Ok(()), "seed {seed}");
    }
    let trace = |seed| {
        let mut history = History::new(seed, kinds("crash"), false);
        assert_eq!(history.run(), Ok(()), "seed {seed}");
        history.trace
    };
    assert_ne!(trace(1), trace(2));
}

#[test]
fn arguments_are_read() {
    let parse = |line: &str| Options::parse(line.split_whitespace().map(String::from));
    assert_eq!(parse("--help"), Ok(None));
    let options = parse("--seed 7 --histories 1 --faults crash,flip --twice").unwrap();
    let options = options.expect("no help is wanted");
    assert_eq!(
        (options.seed, options.histories, options.twice),
        (7, 1, true)
    );
    assert_eq!(options.kinds.list(), "crash,flip");
    for wrong in [
        "--seed",
        "--seed x",
        "--faults rust",
        "--faults eio",
        "--what",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

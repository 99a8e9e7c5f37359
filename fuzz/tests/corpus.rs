//! Every target with its corpus, and with changes of it for a moment.

use cohort_engine::env::splitmix::SplitMix64;
use cohort_fuzz::{TARGETS, Target};
use std::{
    fs,
    path::Path,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// How long an input may take until it counts as one that does not end.
const ENDLESS: Duration = Duration::from_secs(60);
/// No input gets longer by changes.
const LENGTH_MAX: usize = 65_536;

/// Random numbers that repeat themselves.
struct Random(SplitMix64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }
    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// An input changed at some places: bytes set, a part left out, repeated, or taken from another.
fn change(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = corpus[random.below(corpus.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(32)).min(input.len());
        match random.below(5) {
            0 if at < input.len() => input[at] = random.next() as u8,
            1 if at < input.len() => input[at] ^= 1 << random.below(8),
            2 => drop(input.drain(at..end)),
            3 => {
                let part = input[at..end].repeat(1 + random.below(200));
                input.splice(at..at, part);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let to = (from + random.below(64)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
        }
    }
    input.truncate(LENGTH_MAX);
    input
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let files = fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let inputs: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    assert!(!inputs.is_empty(), "{} has a corpus", target.name);
    inputs
}

/// Gives a target its corpus and changes of it; an input that fails is named.
fn run(target: Target) {
    let seconds = std::env::var("COHORT_FUZZ_SECONDS").ok();
    let seconds = seconds.map_or(1, |n| n.parse().expect("COHORT_FUZZ_SECONDS is a number"));
    let (begin, begun) = channel::<Option<Vec<u8>>>();
    let running = thread::Builder::new()
        .stack_size(16 << 20)
        .spawn(move || {
            let corpus = corpus(&target);
            for input in &corpus {
                begin.send(Some(input.clone())).unwrap();
                target.check(input);
            }
            let until = Instant::now() + Duration::from_secs(seconds);
            let mut random = Random(SplitMix64(7));
            while Instant::now() < until {
                let input = change(&corpus, &mut random);
                begin.send(Some(input.clone())).unwrap();
                target.check(&input);
            }
            begin.send(None).unwrap();
        })
        .unwrap();
    let mut last = Vec::new();
    loop {
        match begun.recv_timeout(ENDLESS) {
            Ok(Some(input)) => last = input,
            Ok(None) => break,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{}: no end with {}", target.name, shown(&last))
            }
        }
    }
    if running.join().is_err() {
        panic!("{} fails with {}", target.name, shown(&last));
    }
}

fn shown(input: &[u8]) -> String {
    let path = std::env::temp_dir().join("cohort-fuzz-input");
    let kept =
        fs::write(&path, input).map_or_else(|e| e.to_string(), |()| path.display().to_string());
    format!("\"{}\" ({kept})", input.escape_ascii())
}

#[test]
fn before_login() {
    run(Target::named("before_login").unwrap());
}

#[test]
fn after_login() {
    run(Target::named("after_login").unwrap());
}

#[test]
fn packed() {
    run(Target::named("packed").unwrap());
}

#[test]
fn sql() {
    run(Target::named("sql").unwrap());
}

#[test]
fn log() {
    run(Target::named("log").unwrap());
}

#[test]
fn log_file() {
    run(Target::named("log_file").unwrap());
}

#[test]
fn incoming() {
    run(Target::named("incoming").unwrap());
}

#[test]
fn row() {
    run(Target::named("row").unwrap());
}

#[test]
fn every_target_has_a_test_here() {
    assert_eq!(TARGETS.len(), 8);
}

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

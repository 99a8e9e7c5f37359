//! Who decides what happens next: chance, or a walk through all that can happen.

use cohort_engine::env::fake::Noise;

/// See the module.
pub enum Chooser {
    /// By chance.
    Random(Noise),
    /// Everything, as far as it leaves the first alternative at most so often: delay bounding
    /// (Emmi, Qadeer, Rakamarić: Delay-bounded scheduling, POPL 2011).
    Walk(Walk),
}

/// A walk through a tree of choices, one path after another.
pub struct Walk {
    /// What was chosen on this path, and of how many.
    path: Vec<(usize, usize)>,
    /// How far on it we are.
    at: usize,
    /// Other choices than the first that a path may have.
    deviations: usize,
}

impl Walk {
    /// One with so many other choices than the first on each path.
    pub fn new(deviations: usize) -> Walk {
        Walk {
            path: Vec::new(),
            at: 0,
            deviations,
        }
    }

    fn choose(&mut self, count: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, count));
        }
        let (chosen, known) = self.path[self.at];
        assert_eq!(known, count, "a run does not repeat itself");
        self.at += 1;
        chosen
    }

    /// The choices of this path that are not the first, by their places.
    pub fn shown(&self) -> String {
        let chosen = self.path.iter().enumerate();
        let other = chosen.filter(|(_, (chosen, _))| *chosen > 0);
        let words = other.map(|(place, (chosen, count))| format!("{place}: {chosen}/{count}"));
        words.collect::<Vec<_>>().join(", ")
    }

    /// Goes to the next path. False: that was the last one.
    pub fn next(&mut self) -> bool {
        self.path.truncate(self.at);
        self.at = 0;
        loop {
            let Some((chosen, count)) = self.path.pop() else {
                return false;
            };
            let used = self.path.iter().filter(|(chosen, _)| *chosen > 0).count();
            if chosen + 1 < count && used < self.deviations {
                self.path.push((chosen + 1, count));
                return true;
            }
        }
    }
}

impl Chooser {
    /// A number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        match self {
            Chooser::Random(noise) => noise.below(count as u64) as usize,
            Chooser::Walk(walk) => walk.choose(count),
        }
    }

    /// One of these, whose weights only chance looks at.
    pub fn weighted(&mut self, weights: impl Iterator<Item = u64> + Clone) -> usize {
        match self {
            Chooser::Random(noise) => {
                let mut rest = noise.below(weights.clone().sum());
                for (index, weight) in weights.enumerate() {
                    if rest < weight {
                        return index;
                    }
                    rest -= weight;
                }
                unreachable!("the rest is below the sum")
            }
            Chooser::Walk(walk) => walk.choose(weights.count()),
        }
    }
}

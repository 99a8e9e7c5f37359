//! A plan as steps, each with those that it takes its rows from.

use serde_json::{Map, Value as Json};

/// A step: what it does, and where its rows come from.
#[derive(Debug, Default)]
pub struct Step {
    /// What stands before it on a line of its own: which subquery it is the root of.
    pub heading: Option<String>,
    /// What it does, as EXPLAIN says it.
    pub operation: String,
    /// Of which kind it is, for the form in JSON.
    pub kind: &'static str,
    /// What else is known of it, for the form in JSON.
    pub facts: Map<String, Json>,
    /// About how many rows it gives each time.
    pub rows: Option<f64>,
    /// Where its figures are found once it has run.
    pub point: Option<Point>,
    /// Where its rows come from; subqueries of its conditions come last.
    pub inputs: Vec<Step>,
    /// Subqueries of the select list, shown beside it.
    pub beside: Vec<Step>,
}

/// A place in a plan where rows are counted, by the address of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// The block's address.
    pub block: usize,
    /// Where its rows are counted.
    pub place: Place,
    /// Of a join: the first and the last of its sources, whose times together are its time.
    pub joins: Option<(usize, usize)>,
}

/// Where rows are counted in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// The rows that a source reads.
    Read(usize),
    /// Those of them that its conditions admit.
    Passed(usize),
    /// What a source computes or reads before its rows are tried: those of a derived table, or of a stored
    /// one whose rows are kept.
    Computed(usize),
    /// Those of them that are kept.
    Kept(usize),
    /// The rows of the join of all sources up to this one, if that is no outer join's.
    Joined(usize),
    /// The rows of the outer join that begins at this source.
    Outer(usize),
    /// What of these the conditions admit that are checked behind it.
    After(usize),
    /// The groups.
    Grouped,
    /// The rows that HAVING admits.
    Admitted,
    /// Those of them that conditions on window functions' results admit.
    Windowed,
    /// The result.
    Result,
    /// The result of a query of several blocks, of which it is the first.
    Combined,
}

/// What was measured of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// How often it ran.
    pub loops: u64,
    /// How many rows it gave in all.
    pub rows: u64,
    /// The time to its first row and to its last, of all runs, in seconds.
    pub first: f64,
    /// See `first`.
    pub last: f64,
}

impl Step {
    /// One that takes its rows from others.
    pub fn new(kind: &'static str, operation: impl Into<String>, inputs: Vec<Step>) -> Step {
        Step {
            operation: operation.into(),
            kind,
            inputs,
            ..Step::default()
        }
    }

    /// One that needs no table.
    pub fn no_table() -> Step {
        let operation = "Rows fetched before execution";
        Step::new("rows_fetched_before_execution", operation, Vec::new())
    }

    /// The same on top of another one.
    pub fn above(self, kind: &'static str, operation: impl Into<String>) -> Step {
        let beside = Vec::new();
        let rows = self.rows;
        Step {
            rows,
            beside,
            ..Step::new(kind, operation, vec![self])
        }
    }

    /// With what else is known of it.
    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Step {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// With the place where its rows are counted.
    pub fn at(mut self, block: usize, place: Place) -> Step {
        self.point = Some(Point {
            block,
            place,
            joins: None,
        });
        self
    }

    /// The same for a join, or what is checked behind it: its first source and its last.
    pub fn at_join(self, block: usize, place: Place, joins: (usize, usize)) -> Step {
        let mut step = self.at(block, place);
        if let Some(point) = &mut step.point {
            point.joins = Some(joins);
        }
        step
    }

    /// With about so many rows.
    pub fn giving(mut self, rows: Option<f64>) -> Step {
        self.rows = rows;
        self
    }
}

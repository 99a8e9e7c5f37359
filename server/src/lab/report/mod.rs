//! What an experiment has found, in one form for all of them: sentences, tables and plots, and what
//! must be known to judge them. A terminal ([`text`]), a JSON file and an HTML file ([`html`]) show
//! the same, and [`compare`] puts two JSON files side by side.
//!
//! A cell of a table keeps the value of each round, so that everybody sees how far they are apart.
//! A sentence says so itself: what the rounds do not agree about is not told as a finding
//! ([`Sample::times`]).

pub mod compare;
mod environment;
mod html;
pub mod join;
mod keeper;
mod plot;
mod sample;
mod text;

pub use environment::{Environment, sync_times};
pub use keeper::{Keeper, Output};
pub use sample::{Sample, distinct, number};
pub use text::aligned;

use serde::{Deserialize, Serialize};

/// The form of the JSON file; another number is another form.
pub const FORMAT: u32 = 1;

/// The outcome of a run: what is in a JSON file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`FORMAT`].
    pub format: u32,
    /// Where, when and how it was made.
    pub environment: Environment,
    /// What was found, one for each experiment.
    pub experiments: Vec<Section>,
}

/// What one experiment found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Its name, as on the command line.
    pub experiment: String,
    /// What it is about.
    pub title: String,
    /// What it found, computed from the measurements: the first one is the most important.
    pub findings: Vec<String>,
    /// How it was made: names and values.
    pub settings: Vec<(String, String)>,
    /// What was measured.
    pub servers: Vec<Described>,
    /// The figures.
    pub tables: Vec<Table>,
    /// The same, to be seen.
    pub plots: Vec<Plot>,
    /// What must be known to judge them.
    pub notes: Vec<String>,
    /// What could not be measured, and why.
    pub gaps: Vec<String>,
    /// Every single measurement, in a form of the experiment's own.
    pub data: serde_json::Value,
}

/// A server that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Described {
    /// Its name in tables and plots.
    pub name: String,
    /// What it says it is.
    pub version: String,
    /// Variables that matter for durability and speed, where it has them.
    pub variables: Vec<(String, String)>,
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The names of the columns.
    pub head: Vec<String>,
    /// Its rows. The first cell names the row.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A value of each round: the median is shown, and the spread.
    Rounds(Sample),
    /// Text.
    Text(String),
}

impl Cell {
    /// Text.
    pub fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    /// How it is shown.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Cell::Rounds(sample) => sample.to_string(),
            Cell::Text(text) => text.clone(),
        }
    }
}

impl From<Sample> for Cell {
    fn from(sample: Sample) -> Cell {
        Cell::Rounds(sample)
    }
}

impl Table {
    /// A table without rows.
    pub fn new<T: Into<String>>(
        title: impl Into<String>,
        head: impl IntoIterator<Item = T>,
    ) -> Table {
        Table {
            title: title.into(),
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// How many columns, from the left, have names, which stand to the left; figures stand to the
    /// right.
    #[must_use]
    pub fn names(&self) -> usize {
        let is_name = |cell: &Cell| match cell {
            Cell::Text(text) => !text.starts_with(|c: char| c.is_ascii_digit() || "-+".contains(c)),
            Cell::Rounds(_) => false,
        };
        let is_named = |column: &usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(*column));
            cells.all(is_name)
        };
        let others = (1..self.head.len()).take_while(is_named);
        1 + others.count()
    }
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// As a line through them.
    Lines,
    /// As bars beside each other.
    Bars,
    /// As bars that lie one above the other, with room for long names of places.
    Lying,
}

/// A plot: for each place on the horizontal axis a value of each series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// What is on the horizontal axis.
    pub x: String,
    /// What is on the vertical axis.
    pub y: String,
    /// How it is drawn.
    pub shape: Shape,
    /// The places on the horizontal axis.
    pub places: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
}

/// A line of a plot, or all bars of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// A value for each place; an empty one is not drawn. Where rounds differ, a stroke goes from the
    /// least to the most.
    pub points: Vec<Sample>,
}

//! EXPLAIN FORMAT=TREE: a step on each line, indented below the one that takes its rows.
//!
//! ```text
//! -> Filter: (t.b > 3)  (rows=33.3) (actual time=0.02..0.1 rows=30 loops=1)
//!     -> Table scan on t  (rows=100) (actual time=0.02..0.09 rows=100 loops=1)
//! ```

use super::step::{Figures, Point, Step};
use std::fmt::Write;

/// What was measured at a point of the plan; `None`: it never ran.
pub type Measured<'m> = &'m dyn Fn(Point) -> Option<Figures>;

/// The text of a tree; with figures if it has run.
#[must_use]
pub fn text(step: &Step, measured: Option<Measured<'_>>) -> String {
    let mut out = String::new();
    put(step, 0, measured, &mut out);
    out
}

fn put(step: &Step, depth: usize, measured: Option<Measured<'_>>, out: &mut String) {
    /// How far each level is indented.
    const INDENT: usize = 4;
    let mut depth = depth;
    // Writing to a String cannot fail.
    if let Some(heading) = &step.heading {
        let _ = writeln!(out, "{:1$}-> {heading}", "", depth * INDENT);
        depth += 1;
    }
    let _ = write!(out, "{:1$}-> {2}", "", depth * INDENT, step.operation);
    if let Some(rows) = step.rows {
        let _ = write!(out, "  (rows={})", number(rows));
    }
    if let (Some(measured), Some(point)) = (measured, step.point) {
        let space = if step.rows.is_some() { " " } else { "  " };
        match measured(point) {
            Some(figures) => {
                let _ = write!(out, "{space}{}", actual(figures));
            }
            None => {
                let _ = write!(out, "{space}(never executed)");
            }
        }
    }
    out.push('\n');
    for input in &step.inputs {
        put(input, depth + 1, measured, out);
    }
    for beside in &step.beside {
        put(beside, depth, measured, out);
    }
}

/// The averages of all runs; times in milliseconds.
fn actual(figures: Figures) -> String {
    let loops = figures.loops.max(1) as f64;
    format!(
        "(actual time={}..{} rows={} loops={})",
        number(figures.first / loops * 1e3),
        number(figures.last / loops * 1e3),
        number(figures.rows as f64 / loops),
        figures.loops
    )
}

/// A number with three digits that count: as it is between a thousandth and a million, else with an
/// exponent that is a multiple of three.
fn number(x: f64) -> String {
    const DIGITS: i32 = 3;
    if x <= 0.0 || !x.is_finite() {
        return "0".to_owned();
    }
    let exponent = |x: f64| {
        let text = format!("{:.*e}", DIGITS as usize - 1, x);
        let exponent = text.split_once('e').and_then(|(_, e)| e.parse().ok());
        exponent.unwrap_or(0_i32)
    };
    let plain = |x: f64| {
        let decimals = usize::try_from(DIGITS - 1 - exponent(x)).unwrap_or(0);
        let text = format!("{x:.decimals$}");
        match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        }
    };
    match exponent(x) {
        -3..=5 => plain(x),
        by => {
            let thousands = by.div_euclid(3) * 3;
            let sign = if thousands > 0 { "+" } else { "" };
            format!("{}e{sign}{thousands}", plain(x / 10_f64.powi(thousands)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_mysql_shows_them() {
        let of_mysql = [
            (33.3333, "33.3"),
            (0.667, "0.667"),
            (0.00318, "0.00318"),
            (185e-6, "185e-6"),
            (51e-6, "51e-6"),
            (10.0, "10"),
            (333_300.0, "333300"),
            (3.367e6, "3.37e+6"),
            (33.33e6, "33.3e+6"),
            (333e9, "333e+9"),
            (0.0, "0"),
        ];
        for (x, expected) in of_mysql {
            assert_eq!(number(x), expected, "{x}");
        }
    }
}

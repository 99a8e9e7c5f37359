//! A report on a terminal.

use super::Section;
use std::fmt::Write;

/// The sentences and tables as text.
#[must_use]
pub fn render(section: &Section) -> String {
    let mut out = format!("{}\n", section.title);
    for finding in &section.findings {
        let _ = writeln!(out, "* {finding}");
    }
    for server in &section.servers {
        let _ = writeln!(out, "{}: {}", server.name, server.version);
    }
    for table in section.tables.iter().filter(|table| !table.rows.is_empty()) {
        let mut rows = vec![table.head.clone()];
        let shown = |row: &Vec<super::Cell>| row.iter().map(super::Cell::shown).collect();
        rows.extend(table.rows.iter().map(shown));
        let _ = write!(out, "\n{}\n{}", table.title, columns(&rows, table.names()));
    }
    if !section.notes.is_empty() {
        out.push('\n');
    }
    for note in &section.notes {
        let _ = writeln!(out, "{note}");
    }
    if !section.gaps.is_empty() {
        out.push_str("\nNot measured:\n");
    }
    for gap in &section.gaps {
        let _ = writeln!(out, "  {gap}");
    }
    out
}

/// Columns under each other, the first to the left, the others to the right.
#[must_use]
pub fn aligned(rows: &[Vec<String>]) -> String {
    columns(rows, 1)
}

/// Columns under each other, the first `names` to the left, the others to the right.
fn columns(rows: &[Vec<String>], names: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if i < names {
                write!(out, "  {cell:<width$}")
            } else {
                write!(out, "  {cell:>width$}")
            };
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Sample, Table};
    use super::*;

    #[test]
    fn sections() {
        let mut table = Table::new("speed", ["connections", "cohort"]);
        let sample = Sample::of([1000.0, 1100.0, 900.0]);
        table.rows = vec![vec![Cell::text("64"), sample.into()]];
        let section = Section {
            title: "A title".into(),
            findings: vec!["It is so.".into()],
            tables: vec![table],
            gaps: vec!["x: y".into()],
            ..Section::default()
        };
        let expected = "A title\n* It is so.\n\nspeed\n  connections      cohort\n  64           \
                        1,000 ±10%\n\nNot measured:\n  x: y\n";
        assert_eq!(render(&section), expected);
    }
}

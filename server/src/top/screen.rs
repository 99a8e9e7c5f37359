//! How pages are drawn in a terminal, and printed.

use super::pages::{Kind, Line, Page, Table};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    style::{Modifier, Style},
    text::Line as Text,
    widgets::{Block, Paragraph, Row, Sparkline, Table as Grid, Tabs},
};
use std::fmt::Write;

/// Columns of a grid of lines, and lines of each.
const LINE_WIDTH: u16 = 40;
const LINE_HEIGHT: u16 = 4;

/// Draws a page.
pub fn draw(frame: &mut Frame<'_>, page: &Page, kind: Kind, (is_paused, scroll): (bool, u16)) {
    let areas = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
    ]);
    let [menu, title, rest] = areas.areas(frame.area());
    let names = Kind::ALL.iter().zip(1..);
    let names = names.map(|(kind, n)| format!("{n} {}", kind.title()));
    let tabs = Tabs::new(names)
        .select(kind as usize)
        .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    frame.render_widget(tabs, menu);
    let paused = if is_paused {
        "  (paused: p goes on)"
    } else {
        ""
    };
    frame.render_widget(Text::raw(format!("{}{paused}", page.title)), title);
    if page.lines.is_empty() {
        draw_tables(frame, rest, &page.tables, scroll);
    } else {
        draw_lines(frame, rest, &page.lines);
    }
}

/// Each line with its name, its last value, and as many of its points as there is room for.
fn draw_lines(frame: &mut Frame<'_>, area: Rect, lines: &[Line]) {
    let columns = (area.width / LINE_WIDTH).max(1);
    let width = area.width / columns;
    for (line, n) in lines.iter().zip(0_u16..) {
        let (x, y) = (
            area.x + n % columns * width,
            area.y + n / columns * LINE_HEIGHT,
        );
        if y + LINE_HEIGHT > area.bottom() {
            return;
        }
        let place = Rect::new(x, y, width.saturating_sub(1), LINE_HEIGHT);
        let room = usize::from(place.width);
        let first = line.points.len().saturating_sub(room);
        let points = line.points.get(first..).unwrap_or_default();
        let title = format!("{} {}", line.name, line.now);
        let sparkline = Sparkline::default()
            .block(Block::new().title(title))
            .data(points);
        frame.render_widget(sparkline, place);
    }
}

/// As wide as the longest cell; the last column has the rest.
fn widths(table: &Table, rows: &[Vec<String>]) -> Vec<Constraint> {
    let last = table.headings.len().saturating_sub(1);
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let cells = cells.map(|cell| cell.chars().count());
        let heading = table.headings.get(at).map_or(0, |heading| heading.len());
        cells.max().unwrap_or(0).max(heading)
    };
    let all = (0..=last).map(|at| match at == last {
        true => Constraint::Min(10),
        false => Constraint::Length(u16::try_from(width(at).min(30)).unwrap_or(30)),
    });
    all.collect()
}

fn draw_tables(frame: &mut Frame<'_>, area: Rect, tables: &[Table], scroll: u16) {
    let height = |table: &Table| match &table.rows {
        Ok(rows) => Constraint::Max(
            u16::try_from(rows.len())
                .unwrap_or(u16::MAX)
                .saturating_add(3),
        ),
        Err(_) => Constraint::Max(3),
    };
    let areas = Layout::vertical(tables.iter().map(height)).split(area);
    for (table, place) in tables.iter().zip(areas.iter()) {
        let block = Block::new().title(Text::raw(table.title).style(Modifier::BOLD));
        match &table.rows {
            Err(why) => {
                let text = Paragraph::new(format!("  not shown: {why}")).block(block);
                frame.render_widget(text, *place);
            }
            Ok(rows) => {
                let passed = usize::from(scroll).min(rows.len().saturating_sub(1));
                let shown = rows.iter().skip(passed);
                let shown = shown.map(|row| Row::new(row.iter().map(String::as_str)));
                let heading = Row::new(table.headings.iter().copied());
                let grid = Grid::new(shown, widths(table, rows))
                    .header(heading.style(Modifier::UNDERLINED))
                    .column_spacing(2)
                    .block(block);
                frame.render_widget(grid, *place);
            }
        }
    }
}

/// A page as text.
pub fn plain(page: &Page) -> String {
    // Writing to a string does not fail.
    let mut out = format!("{}\n", page.title);
    for line in &page.lines {
        let _ = writeln!(out, "  {:<24} {}", line.name, line.now);
    }
    for table in &page.tables {
        let _ = writeln!(out, "{}", table.title);
        match &table.rows {
            Err(why) => {
                let _ = writeln!(out, "  not shown: {why}");
            }
            Ok(rows) => {
                let headings = table.headings.iter().map(|heading| (*heading).to_owned());
                let heading: Vec<String> = headings.collect();
                let all: Vec<&Vec<String>> = [&heading].into_iter().chain(rows).collect();
                let mut widths = vec![0; heading.len()];
                for row in &all {
                    for (width, cell) in widths.iter_mut().zip(*row) {
                        *width = (*width).max(cell.chars().count());
                    }
                }
                for row in all {
                    let cells = row.iter().zip(&widths);
                    let cells = cells.map(|(cell, width)| format!("{cell:<width$}"));
                    let text = cells.collect::<Vec<_>>().join("  ");
                    let _ = writeln!(out, "  {}", text.trim_end());
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::{Terminal, backend::TestBackend};

    fn drawn(page: &Page, kind: Kind) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 12)).unwrap();
        terminal
            .draw(|frame| draw(frame, page, kind, (true, 0)))
            .unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn a_table_fits_into_the_window() {
        let long = "x".repeat(200);
        let page = Page {
            title: "Sessions: here".into(),
            lines: Vec::new(),
            tables: vec![
                Table {
                    title: "Some",
                    headings: vec!["id", "what"],
                    rows: Ok(vec![vec!["1".into(), long], vec!["2".into(), "y".into()]]),
                },
                Table {
                    title: "Others",
                    headings: vec!["id"],
                    rows: Err("not told".into()),
                },
            ],
        };
        let text = drawn(&page, Kind::Sessions);
        for part in [
            "3 Sessions and locks",
            "(paused",
            "Some",
            "id",
            "not shown: not told",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
        let text = plain(&page);
        assert!(
            text.contains("\n  2   y\n") && text.contains("  not shown: not told\n"),
            "{text}"
        );
    }

    #[test]
    fn lines_have_their_last_value() {
        let line = |name| Line {
            name,
            now: "42".into(),
            points: (0..300).collect(),
        };
        let page = Page {
            title: "Now".into(),
            lines: vec![line("commits/s"), line("SELECT/s"), line("connected")],
            tables: Vec::new(),
        };
        let text = drawn(&page, Kind::Now);
        for part in ["commits/s 42", "SELECT/s 42", "connected 42", "\u{2588}"] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }
}

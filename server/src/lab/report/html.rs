//! A report as one page, which needs nothing else: no script, no font, no picture from elsewhere.
//! It follows the reader's choice of light or dark, and fits a phone and paper.

use super::{Cell, Plot, Report, Section, Table, plot};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2024;--quiet:#59616b;--ground:#fff;--line:#d9dde2;--head:#f4f6f8}\
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--quiet:#a2abb5;--ground:#14171a;--line:#3a4047;--head:#1d2125}}\
*{box-sizing:border-box}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);margin:0 auto;padding:1rem;max-width:64rem}\
h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.3rem;margin-top:3rem;border-top:1px solid var(--line);padding-top:1.5rem}\
h3,figcaption,caption{font-size:1rem;font-weight:600;text-align:left}\
.finding{font-size:1.1rem}.quiet,.unsure{color:var(--quiet)}.quiet{font-size:.875rem}\
.wide{overflow-x:auto;margin:1.5rem 0}\
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}\
caption{padding-bottom:.4rem}th,td{padding:.25rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
thead th{background:var(--head);white-space:normal;vertical-align:bottom}\
.name,.pairs td{text-align:left}.pairs td{white-space:normal;overflow-wrap:anywhere}\
figure{margin:1.5rem 0;break-inside:avoid}svg{width:100%;max-width:640px;height:auto;display:block}\
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;list-style:none;padding:0;margin:.3rem 0;font-size:.875rem}\
.legend span{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em;print-color-adjust:exact;-webkit-print-color-adjust:exact}\
code{font-family:ui-monospace,monospace;font-size:.875em;overflow-wrap:anywhere}\
@media print{body{max-width:none;font-size:11pt}.wide{overflow:visible}h2{break-after:avoid}details{display:block}tr{break-inside:avoid}}";

/// The page.
///
/// # Errors
/// A plot cannot be drawn.
pub fn page(report: &Report) -> Result<String, String> {
    let sections: Vec<Markup> = report
        .experiments
        .iter()
        .map(section)
        .collect::<Result<_, _>>()?;
    let style = format!("{STYLE}{}", plot::style("var(--ink)", "var(--line)"));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "cohort lab: " (names(report)) }
                style { (PreEscaped(style)) }
            }
            body {
                h1 { "cohort lab: " (names(report)) }
                p.quiet {
                    "Figures are medians of the rounds; ± is half of the distance between the least and \
                     the most, in percent. What the rounds do not agree about is not told as a finding."
                }
                @if !report.environment.remark.is_empty() { p { (report.environment.remark) } }
                ul {
                    @for section in &report.experiments {
                        @for finding in section.findings.iter().take(1) {
                            li { a href={ "#" (section.experiment) } { (section.title) } ": " (finding) }
                        }
                    }
                }
                @for section in &sections { (section) }
                h2 { "The machine and the run" }
                (pairs(report.environment.rows().into_iter()))
            }
        }
    };
    Ok(page.into_string())
}

fn names(report: &Report) -> String {
    let names: Vec<&str> = report
        .experiments
        .iter()
        .map(|s| s.experiment.as_str())
        .collect();
    names.join(", ")
}

fn section(section: &Section) -> Result<Markup, String> {
    let plots: Vec<Markup> = section.plots.iter().map(figure).collect::<Result<_, _>>()?;
    Ok(html! {
        h2 id=(section.experiment) { (section.title) }
        @for finding in &section.findings { p.finding { (finding) } }
        @for plot in &plots { (plot) }
        @for shown in section.tables.iter().filter(|table| !table.rows.is_empty()) { (table(shown)) }
        @for note in &section.notes { p { (note) } }
        @if !section.gaps.is_empty() {
            h3 { "Not measured" }
            ul { @for gap in &section.gaps { li { (gap) } } }
        }
        h3 { "How it was made" }
        (pairs(section.settings.iter().map(|(name, value)| (name.as_str(), value.clone()))))
        @for server in &section.servers {
            h3 { (server.name) ": " (server.version) }
            (pairs(server.variables.iter().map(|(name, value)| (name.as_str(), value.clone()))))
        }
    })
}

fn figure(plot: &Plot) -> Result<Markup, String> {
    let svg = plot::svg(plot)?;
    Ok(html! {
        figure role="group" aria-label=(plot.title) {
            figcaption { (plot.title) }
            ul.legend {
                @for (series, colour) in plot.series.iter().zip(plot::COLOURS.iter().cycle()) {
                    li { span style={ "background:" (colour) } {} (series.name) }
                }
            }
            (PreEscaped(svg))
        }
    })
}

fn table(table: &Table) -> Markup {
    html! {
        div.wide {
            table {
                caption { (table.title) }
                thead { tr { @for (i, name) in table.head.iter().enumerate() {
                    th scope="col" .name[i < table.names()] { (name) }
                } } }
                tbody {
                    @for row in &table.rows {
                        tr { @for (i, cell) in row.iter().enumerate() { (data(cell, i < table.names())) } }
                    }
                }
            }
        }
    }
}

/// A cell, with the value of each round for those who point at it.
fn data(cell: &Cell, is_name: bool) -> Markup {
    match cell {
        Cell::Rounds(sample) => html! {
            td title=(format!("{} to {}", super::number(sample.low()), super::number(sample.high()))) {
                (sample)
            }
        },
        Cell::Text(text) => html! { td .name[is_name] { (text) } },
    }
}

fn pairs<'a>(rows: impl Iterator<Item = (&'a str, String)>) -> Markup {
    let rows: Vec<_> = rows.collect();
    html! {
        @if !rows.is_empty() {
            div.wide {
                table.pairs {
                    tbody {
                        @for (name, value) in &rows {
                            tr { td { (name) } td { code { (value) } } }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::report::{Described, Environment, FORMAT, Sample, Series, Shape};

    #[test]
    fn a_page_needs_nothing_else_and_runs_nothing() {
        let evil = "<script>alert(1)</script>\"'&";
        let mut figures = Table::new(evil, [evil]);
        figures.rows = vec![vec![Cell::text(evil), Sample::of([1.0, 2.0]).into()]];
        let report = Report {
            format: FORMAT,
            environment: Environment {
                command: evil.into(),
                remark: evil.into(),
                ..Environment::default()
            },
            experiments: vec![Section {
                experiment: "x".into(),
                title: evil.into(),
                findings: vec![evil.into()],
                servers: vec![Described {
                    name: evil.into(),
                    version: evil.into(),
                    variables: vec![(evil.into(), evil.into())],
                }],
                tables: vec![figures],
                plots: vec![Plot {
                    title: evil.into(),
                    x: evil.into(),
                    y: evil.into(),
                    shape: Shape::Lines,
                    places: vec![evil.into()],
                    series: vec![Series {
                        name: evil.into(),
                        points: vec![Sample::of([1.0])],
                    }],
                }],
                notes: vec![evil.into()],
                gaps: vec![evil.into()],
                ..Section::default()
            }],
        };
        let page = page(&report).unwrap();
        assert!(!page.contains("<script"), "{page}");
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
        for outside in ["src=", "url(", "@import", "<link", "href=\"http"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(
            page.contains("prefers-color-scheme:dark") && page.contains("1.50 ±33%"),
            "{page}"
        );
    }
}

//! Lines, bars and stacks, as SVG. Each says in words what it shows, and its last values stand beside it
//! as text: who does not see it misses nothing.

use maud::{Markup, html};

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 110.0;
/// Where the plot begins, beside the numbers of the axis.
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 16.0;

/// A line: what it is, and its points, the last one last.
pub struct Line<'a> {
    pub name: &'a str,
    pub points: Vec<f64>,
    /// Its last value, in words.
    pub now: String,
}

/// Lines over the last minutes; `most` is how many points there can be, `shown` writes numbers of the
/// axis.
pub fn lines(title: &str, lines: &[Line<'_>], most: usize, shown: fn(f64) -> String) -> Markup {
    let all = lines.iter().flat_map(|line| &line.points);
    let top = round_up(all.fold(0.0_f64, |top, value| top.max(*value)));
    let (width, height) = (WIDTH - LEFT, HEIGHT - BOTTOM);
    let step = width / most.saturating_sub(1).max(1) as f64;
    let path = |points: &[f64]| {
        let first = WIDTH - step * points.len().saturating_sub(1) as f64;
        let at = |(n, value): (usize, &f64)| {
            let (x, y) = (
                first + step * n as f64,
                height - value / top * (height - 6.0),
            );
            format!("{x:.1},{y:.1}")
        };
        let points: Vec<String> = points.iter().enumerate().map(at).collect();
        points.join(" ")
    };
    let words: Vec<String> = lines
        .iter()
        .map(|line| format!("{} now {}", line.name, line.now))
        .collect();
    html! {
        figure {
            figcaption {
                strong { (title) }
                @for (n, line) in lines.iter().enumerate() {
                    span class={ "key k" (n) } { (line.name) " " b { (line.now) } }
                }
            }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (title) ": " (words.join(", ")) } {
                @for (part, y) in [(1.0, 6.0), (0.5, 6.0 + (height - 6.0) / 2.0), (0.0, height)] {
                    line.axis x1=(LEFT) x2=(WIDTH) y1=(y) y2=(y) {}
                    text.scale x=(LEFT - 4.0) y=(y + 3.5) text-anchor="end" { (shown(top * part)) }
                }
                text.scale x=(LEFT) y=(HEIGHT - 3.0) { (most / 60) " min ago" }
                text.scale x=(WIDTH) y=(HEIGHT - 3.0) text-anchor="end" { "now" }
                @for (n, line) in lines.iter().enumerate() {
                    polyline class={ "l" (n) } points=(path(&line.points)) {}
                }
            }
        }
    }
}

/// The next number that is easy to read.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let unit = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps.into_iter().find(|step| value <= step * unit);
    step.unwrap_or(10.0) * unit
}

/// How often something was how large: bars with their labels.
pub fn bars(title: &str, bars: &[(String, u64)], nothing: &str) -> Markup {
    let top = bars
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let each = (WIDTH - LEFT) / bars.len().max(1) as f64;
    let height = HEIGHT - BOTTOM;
    let total: u64 = bars.iter().map(|(_, count)| count).sum();
    let words = bars.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = words
        .map(|(label, count)| format!("{label}: {count}"))
        .collect();
    html! {
        figure {
            figcaption { strong { (title) } @if total == 0 { span.note { (nothing) } } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (title) ": " (words.join(", ")) } {
                line.axis x1=(LEFT) x2=(WIDTH) y1=(height) y2=(height) {}
                @for (n, (label, count)) in bars.iter().enumerate() {
                    @let tall = *count as f64 / top * (height - 12.0);
                    @let x = LEFT + each * n as f64;
                    rect.b0 x=(x + 1.0) y=(height - tall) width=(each - 2.0) height=(tall) {
                        title { (label) ": " (count) }
                    }
                    text.scale x=(x + each / 2.0) y=(HEIGHT - 3.0) text-anchor="middle" { (label) }
                    @if *count > 0 {
                        text.scale x=(x + each / 2.0) y=(height - tall - 2.0) text-anchor="middle" { (count) }
                    }
                }
            }
        }
    }
}

/// Parts of a whole beside one another: names and sizes. The whole is as wide as its part of `most`.
pub fn stack(label: &str, parts: &[(&str, u64)], most: u64) -> Markup {
    const BAR: f64 = 400.0;
    let total: u64 = parts.iter().map(|(_, size)| size).sum();
    let scale = BAR / most.max(1) as f64;
    let words = parts.iter().filter(|(_, size)| *size > 0);
    let words: Vec<String> = words
        .map(|(name, size)| format!("{name} {:.0}%", *size as f64 * 100.0 / total.max(1) as f64))
        .collect();
    let mut x = 0.0;
    let places = parts.iter().enumerate().map(|(n, (name, size))| {
        let (from, wide) = (x, *size as f64 * scale);
        x += wide;
        (n, *name, *size, from, wide)
    });
    let places: Vec<_> = places.collect();
    html! {
        svg.stack viewBox="0 0 400 14" preserveAspectRatio="none" role="img"
            aria-label={ (label) ": " (words.join(", ")) } {
            @for (n, name, size, from, wide) in places {
                @if wide > 0.0 {
                    rect class={ "b" (n) } x=(from) y="0" width=(wide) height="14" {
                        title { (name) " " (super::page::nanos(size)) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_numbers_that_are_easy_to_read() {
        for (value, end) in [
            (0.0, 1.0),
            (0.7, 1.0),
            (1.0, 1.0),
            (37.0, 50.0),
            (51.0, 100.0),
            (120.0, 200.0),
        ] {
            assert!((round_up(value) - end).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn lines_end_at_the_right() {
        let line = Line {
            name: "x",
            points: vec![0.0, 10.0],
            now: "10".into(),
        };
        let drawn = lines("t", &[line], 600, |value| value.to_string()).into_string();
        assert!(drawn.contains("420.0,6.0"), "{drawn}");
        assert!(drawn.contains("t: x now 10"), "{drawn}");
    }
}

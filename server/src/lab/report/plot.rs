//! A plot as SVG.
//!
//! The colours are placeholders that nothing else has: the page's style sheet puts its own in their
//! place, so that the same drawing is readable on light and on dark ground ([`STYLE`]).

use super::{Plot, Sample, Shape, number};
use plotters::{
    coord::{
        Shift,
        ranged1d::{DefaultFormatting, KeyPointHint, Ranged},
    },
    prelude::*,
};
use std::ops::Range;

/// In units of the page, which shows it at most as wide as itself.
const SIZE: (u32, u32) = (520, 320);
/// The height of a lying bar, and of what is below them all.
const LYING: u32 = 22;
const BELOW: u32 = 70;
const TEXT: u32 = 16;
/// Of the room of a place on the horizontal axis, how much its bars take.
const BARS: f64 = 0.8;
/// Half of the end of a stroke for the spread, in places.
const END: f64 = 0.04;

/// Axes and text.
const INK: RGBColor = RGBColor(1, 2, 3);
const GRID: RGBColor = RGBColor(1, 2, 4);
/// The first of the series.
const FIRST: RGBColor = RGBColor(1, 3, 0);
/// Colours of the series: readable on white and on black, and apart for those who see few colours.
pub const COLOURS: [&str; 8] = [
    "#3b76c4", "#d9730d", "#2f8f5b", "#b5489a", "#8a7b16", "#5f6b7a", "#c23b3b", "#1d98a8",
];

/// The rules of the style sheet that give the placeholders their colours; `ink` and `grid` are
/// values of its own.
#[must_use]
pub fn style(ink: &str, grid: &str) -> String {
    let rule = |from: RGBColor, to: &str| {
        let RGBColor(r, g, b) = from;
        let from = format!("#{r:02X}{g:02X}{b:02X}");
        format!("svg [fill=\"{from}\"]{{fill:{to}}}svg [stroke=\"{from}\"]{{stroke:{to}}}")
    };
    let mut out = rule(INK, ink) + &rule(GRID, grid);
    for (i, colour) in COLOURS.iter().enumerate() {
        out += &rule(placeholder(i), colour);
    }
    out
}

/// Names on the horizontal axis, at most.
const NAMES: usize = 12;

/// The horizontal axis: numbered places, each as wide as the others, some with names.
struct Places {
    count: usize,
    /// Names, at most: those of many places would run into one another.
    names: usize,
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (left, right): (i32, i32)) -> i32 {
        let share = (value + 0.5) / self.count.max(1) as f64;
        left + (share * f64::from(right - left)).round() as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        let every = self.count.div_ceil(self.names.max(1)).max(1);
        (0..self.count)
            .step_by(every)
            .map(|place| place as f64)
            .collect()
    }
    fn range(&self) -> Range<f64> {
        -0.5..self.count as f64 - 0.5
    }
}

fn placeholder(series: usize) -> RGBColor {
    let RGBColor(r, g, b) = FIRST;
    RGBColor(r, g, b + (series % COLOURS.len()) as u8)
}

/// The drawing, without a legend.
///
/// # Errors
/// It cannot be drawn; the text says why.
pub fn svg(plot: &Plot) -> Result<String, String> {
    let mut out = String::new();
    let size = match plot.shape {
        Shape::Lines | Shape::Bars => SIZE,
        Shape::Lying => (SIZE.0, BELOW + LYING * bars(plot)),
    };
    let root = SVGBackend::with_string(&mut out, size).into_drawing_area();
    let drawn = match plot.shape {
        Shape::Lines | Shape::Bars => draw(plot, &root),
        Shape::Lying => draw_lying(plot, &root),
    };
    drawn
        .and_then(|()| root.present().map_err(|error| error.to_string()))
        .map_err(|error| format!("{}: cannot be drawn: {error}", plot.title))?;
    drop(root);
    Ok(out)
}

/// The drawing as a file of its own, with its colours: a picture of a document.
///
/// # Errors
/// As [`svg`].
pub fn picture(plot: &Plot) -> Result<String, String> {
    let (light, dark) = (style("#222", "#ddd"), style("#ddd", "#444"));
    let style = format!("<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>");
    let drawn = svg(plot)?;
    let end = drawn.find('>').map_or(0, |end| end + 1);
    let (head, rest) = drawn.split_at(end);
    Ok(format!("{head}{style}{rest}"))
}

/// How many bars there are.
fn bars(plot: &Plot) -> u32 {
    (plot.places.len() * plot.series.len()) as u32
}

/// Lying bars, the first place at the top.
fn draw_lying(plot: &Plot, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), String> {
    let count = plot.places.len();
    let points = || plot.series.iter().flat_map(|series| &series.points);
    let drawn = points().filter(|point| !point.is_empty());
    let top = drawn.map(Sample::high).fold(f64::MIN_POSITIVE, f64::max);
    let mut chart = ChartBuilder::on(root)
        .margin(10)
        .x_label_area_size(46)
        .y_label_area_size(200)
        .build_cartesian_2d(
            0.0..1.06 * top,
            Places {
                count,
                names: count,
            },
        )
        .map_err(|error| error.to_string())?;
    let text = ("sans-serif", TEXT).into_font().color(&INK);
    let from_top = |place: usize| (count - 1 - place) as f64;
    let name = |place: &f64| {
        let found = plot.places.get(from_top(place.round() as usize) as usize);
        found.cloned().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_y_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .x_labels(8)
        .y_labels(count)
        .x_label_formatter(&|value| number(*value))
        .y_label_formatter(&name)
        .x_desc(&plot.y)
        .label_style(text.clone())
        .axis_desc_style(text)
        .draw()
        .map_err(|error| error.to_string())?;
    for (i, series) in plot.series.iter().enumerate() {
        let thick = BARS / plot.series.len() as f64;
        let shown = series.points.iter().enumerate();
        for (place, point) in shown.filter(|(_, point)| !point.is_empty()) {
            let above = from_top(place) + BARS / 2.0 - i as f64 * thick;
            let middle = above - thick / 2.0;
            let corners = [(0.0, above), (point.median(), above - 0.94 * thick)];
            let bar = Rectangle::new(corners, placeholder(i).filled()).into_dyn();
            let spread = vec![(point.low(), middle), (point.high(), middle)];
            let spread = PathElement::new(spread, INK.stroke_width(1)).into_dyn();
            chart
                .draw_series([bar, spread])
                .map_err(|error| error.to_string())?;
        }
    }
    Ok(())
}

fn draw(plot: &Plot, root: &DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), String> {
    let count = plot.places.len();
    let points = plot.series.iter().flat_map(|series| &series.points);
    let drawn: Vec<&Sample> = points.filter(|point| !point.is_empty()).collect();
    let top = drawn.iter().map(|point| point.high()).fold(0.0, f64::max);
    let bottom = drawn.iter().map(|point| point.low()).fold(0.0, f64::min);
    let room = 0.06 * (top - bottom).max(f64::MIN_POSITIVE);
    let y = (if bottom < 0.0 { bottom - room } else { 0.0 })..(top + room).max(bottom + 1e-9);
    let mut chart = ChartBuilder::on(root)
        .margin(10)
        .x_label_area_size(46)
        .y_label_area_size(76)
        .build_cartesian_2d(
            Places {
                count,
                names: NAMES,
            },
            y,
        )
        .map_err(|error| error.to_string())?;
    let text = ("sans-serif", TEXT).into_font().color(&INK);
    let name = |place: &f64| {
        let found = plot.places.get(place.round() as usize);
        found.cloned().unwrap_or_default()
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(INK)
        .x_labels(NAMES)
        .y_labels(6)
        .x_label_formatter(&name)
        .y_label_formatter(&|value| number(*value))
        .x_desc(&plot.x)
        .y_desc(&plot.y)
        .label_style(text.clone())
        .axis_desc_style(text)
        .draw()
        .map_err(|error| error.to_string())?;
    for (i, series) in plot.series.iter().enumerate() {
        let colour = placeholder(i);
        let width = BARS / plot.series.len() as f64;
        let left = |place: usize| place as f64 - BARS / 2.0 + i as f64 * width;
        let shown = series.points.iter().enumerate();
        let shown = shown.filter(|(_, point)| !point.is_empty());
        let mut elements = Vec::new();
        let mut line = Vec::new();
        for (place, point) in shown {
            let middle = match plot.shape {
                Shape::Lines => place as f64,
                Shape::Bars | Shape::Lying => left(place) + width / 2.0,
            };
            let value = point.median();
            match plot.shape {
                Shape::Lines => {
                    line.push((middle, value));
                    elements.push(Circle::new((middle, value), 4, colour.filled()).into_dyn());
                }
                Shape::Bars | Shape::Lying => {
                    let corners = [(left(place), 0.0), (left(place) + 0.94 * width, value)];
                    elements.push(Rectangle::new(corners, colour.filled()).into_dyn());
                }
            }
            if point.high() > point.low() {
                let stroke = if plot.shape == Shape::Bars {
                    INK
                } else {
                    colour
                };
                let across = |y: f64| vec![(middle - END, y), (middle + END, y)];
                let (low, high) = (point.low(), point.high());
                for path in [
                    vec![(middle, low), (middle, high)],
                    across(low),
                    across(high),
                ] {
                    elements.push(PathElement::new(path, stroke.stroke_width(1)).into_dyn());
                }
            }
        }
        elements.push(PathElement::new(line, colour.stroke_width(2)).into_dyn());
        chart
            .draw_series(elements)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::report::Series;

    fn plot(shape: Shape) -> Plot {
        let series = |name: &str, a: f64| Series {
            name: name.into(),
            points: vec![Sample::of([a, 2.0 * a]), Sample::of([])],
        };
        Plot {
            title: "t".into(),
            x: "<clients> & more".into(),
            y: "TPS".into(),
            shape,
            places: vec!["16".into(), "64".into()],
            series: vec![series("a", 100.0), series("b", -5.0)],
        }
    }

    #[test]
    fn plots_are_drawn_in_placeholders() {
        for shape in [Shape::Lines, Shape::Bars, Shape::Lying] {
            let svg = svg(&plot(shape)).unwrap();
            assert!(
                svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
                "{svg}"
            );
            let named = shape == Shape::Lying || svg.contains("&lt;clients&gt; &amp; more");
            assert!(named && svg.contains("TPS"), "{svg}");
            let picture = picture(&plot(shape)).unwrap();
            assert!(
                picture.starts_with("<svg") && picture.contains("<style>"),
                "{picture}"
            );
            let style = style("#111", "#222");
            for colour in ["#010203", "#010204", "#010300", "#010301"] {
                assert!(
                    svg.contains(colour) && style.contains(colour),
                    "{colour} {svg}"
                );
            }
        }
        let empty = Plot {
            places: Vec::new(),
            series: Vec::new(),
            ..plot(Shape::Bars)
        };
        assert!(svg(&empty).is_ok());
    }
}

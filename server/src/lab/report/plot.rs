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
struct Places(usize);

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (left, right): (i32, i32)) -> i32 {
        let share = (value + 0.5) / self.0.max(1) as f64;
        left + (share * f64::from(right - left)).round() as i32
    }
    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        // Names of many places would run into one another.
        let every = self.0.div_ceil(NAMES).max(1);
        (0..self.0)
            .step_by(every)
            .map(|place| place as f64)
            .collect()
    }
    fn range(&self) -> Range<f64> {
        -0.5..self.0 as f64 - 0.5
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
    let root = SVGBackend::with_string(&mut out, SIZE).into_drawing_area();
    draw(plot, &root)
        .and_then(|()| root.present().map_err(|error| error.to_string()))
        .map_err(|error| format!("{}: cannot be drawn: {error}", plot.title))?;
    drop(root);
    Ok(out)
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
        .build_cartesian_2d(Places(count), y)
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
                Shape::Bars => left(place) + width / 2.0,
            };
            let value = point.median();
            match plot.shape {
                Shape::Lines => {
                    line.push((middle, value));
                    elements.push(Circle::new((middle, value), 4, colour.filled()).into_dyn());
                }
                Shape::Bars => {
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
        for shape in [Shape::Lines, Shape::Bars] {
            let svg = svg(&plot(shape)).unwrap();
            assert!(
                svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"),
                "{svg}"
            );
            assert!(svg.contains("&lt;clients&gt; &amp; more"), "{svg}");
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

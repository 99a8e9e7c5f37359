//! Prometheus' text format.

use std::fmt::{Display, Write};

/// Values as Prometheus reads them. Each family of values is begun once, with what it means, and
/// followed by its values.
#[derive(Debug, Default)]
pub struct Exposition(String);

/// What a value does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, but for a restart.
    Counter,
    /// It goes up and down.
    Gauge,
    /// How often something was how large.
    Histogram,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// Labels and their values.
pub type Labels<'a> = [(&'a str, &'a str)];

impl Exposition {
    /// What goes over the wire with the text.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4";

    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
    /// Begins a family. `help` is one line.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = kind.name();
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }
    /// A value of the family that was begun last.
    pub fn value(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        let labels = in_braces(labels, None);
        self.line(format_args!("{name}{labels} {value}"));
    }
    /// A family of one value, without labels.
    pub fn single(&mut self, (name, kind): (&str, Kind), help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.value(name, &[], value);
    }
    /// A histogram: `counts` are those of each bucket and not of those before it, and there is one
    /// more than bounds, for what is larger than all of them.
    pub fn histogram(
        &mut self,
        name: &str,
        labels: &Labels<'_>,
        bounds: impl IntoIterator<Item = f64>,
        counts: impl IntoIterator<Item = u64>,
        sum: f64,
    ) {
        let mut count = 0;
        let bounds = bounds.into_iter().map(|bound| bound.to_string());
        let bounds = bounds.chain(["+Inf".to_owned()]);
        for (bound, fell) in bounds.zip(counts) {
            count += fell;
            let labels = in_braces(labels, Some(&bound));
            self.line(format_args!("{name}_bucket{labels} {count}"));
        }
        let labels = in_braces(labels, None);
        self.line(format_args!(
            "{name}_sum{labels} {sum}\n{name}_count{labels} {count}"
        ));
    }
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

/// Labels, and a bucket's bound, as they follow a name.
fn in_braces(labels: &Labels<'_>, bound: Option<&str>) -> String {
    let bound = bound.map(|bound| ("le", bound));
    let pairs = labels.iter().copied().chain(bound);
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    match pairs.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", pairs.join(",")),
    }
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_families() {
        let mut out = Exposition::default();
        out.single(("one", Kind::Gauge), "How many.", 1.5);
        out.family("two_seconds", Kind::Histogram, "How long.");
        out.histogram(
            "two_seconds",
            &[("a", "x\"y\\")],
            [0.001, 1.0],
            [1, 0, 2],
            9.0,
        );
        let expected = "\
# HELP one How many.
# TYPE one gauge
one 1.5
# HELP two_seconds How long.
# TYPE two_seconds histogram
two_seconds_bucket{a=\"x\\\"y\\\\\",le=\"0.001\"} 1
two_seconds_bucket{a=\"x\\\"y\\\\\",le=\"1\"} 1
two_seconds_bucket{a=\"x\\\"y\\\\\",le=\"+Inf\"} 3
two_seconds_sum{a=\"x\\\"y\\\\\"} 9
two_seconds_count{a=\"x\\\"y\\\\\"} 3
";
        assert_eq!(out.into_text(), expected);
    }
}

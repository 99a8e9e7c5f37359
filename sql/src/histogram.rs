//! Histograms of columns: how often which values are there, as ANALYZE TABLE … UPDATE HISTOGRAM
//! counts them.
//!
//! A column keeps its histogram as the JSON document that MySQL has for it in
//! information_schema.COLUMN_STATISTICS, whose keys are described in MySQL's manual ("The
//! INFORMATION_SCHEMA COLUMN_STATISTICS Table"). It has buckets in the order of the values. If there
//! are no more values than buckets it is *singleton*: each bucket is one value. Else it is
//! *equi-height*: each bucket is a range of values which have about as many rows as those of any
//! other, except that a value with so many rows has a bucket alone. Example, of ten rows and at most
//! three buckets:
//!
//! ```text
//! values                       buckets (first, last, share of the rows up to here, values)
//! 1 1 1 1 1 2 3 4 NULL NULL    [1, 1, 0.5, 1] [2, 3, 0.7, 2] [4, 4, 0.8, 1]    null-values 0.2
//! ```

use crate::{
    error::SqlError,
    expr::{EvalContext, assign::assign},
    json,
    text::json::print,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use cohort_engine::types::{
    Collation, Column, ColumnType, DateTime, Value,
    json::{Key, Scalar, Tree},
};

/// How many one may ask for.
pub const BUCKETS_MAX: u64 = 1024;
/// Of a text so many characters count.
pub const CHARACTERS_MAX: usize = 42;

/// The number of CHAR in MySQL's protocol: documents have texts as values of this type.
const TEXT: u8 = 254;
/// How such a value begins in a document.
const TEXT_PREFIX: &str = "base64:type254:";

/// What all values of a histogram of a column are called; `None`: a column of this type has none.
#[must_use]
pub fn data_type(column: &Column) -> Option<&'static str> {
    Some(match column.ty {
        ColumnType::Json => return None,
        ColumnType::Enum(_) => "enum",
        ColumnType::Set(_) => "set",
        ColumnType::Float | ColumnType::Double => "double",
        ColumnType::Decimal { .. } => "decimal",
        ColumnType::Date => "date",
        ColumnType::Time(_) => "time",
        ColumnType::DateTime(_) | ColumnType::Timestamp(_) => "datetime",
        ty if ty.has_collation() => "string",
        _ => "int",
    })
}

/// Makes buckets of values that come in their order.
pub struct Builder {
    /// The rows, those with NULL included.
    rows: u64,
    nulls: u64,
    buckets_max: usize,
    buckets: Vec<Counted>,
    /// Every bucket is one value so far.
    is_singleton: bool,
    /// Rows that are in buckets which are full.
    done: u64,
}

/// A bucket, with rows in place of shares.
struct Counted {
    low: Value,
    high: Value,
    rows: u64,
    values: u64,
}

impl Builder {
    /// For a column of so many rows, so many of them NULL, and at most so many buckets.
    #[must_use]
    pub fn new(rows: u64, nulls: u64, buckets_max: usize) -> Builder {
        Builder {
            rows,
            nulls,
            buckets_max,
            buckets: Vec::new(),
            is_singleton: true,
            done: 0,
        }
    }

    /// The next value, and how many rows have it.
    pub fn push(&mut self, value: &Value, rows: u64) {
        let alone = Counted {
            low: value.clone(),
            high: value.clone(),
            rows,
            values: 1,
        };
        if self.is_singleton {
            if self.buckets.len() < self.buckets_max {
                self.buckets.push(alone);
                return;
            }
            self.is_singleton = false;
            for bucket in std::mem::take(&mut self.buckets) {
                self.put(bucket);
            }
        }
        self.put(alone);
    }

    /// Puts a value into the last bucket, or into a new one.
    fn put(&mut self, value: Counted) {
        let left = self.buckets_max.saturating_sub(self.buckets.len()) as u64;
        let open = self.buckets.last().map_or(0, |last| last.rows);
        // What is not in full buckets yet, for the open one and those to come.
        let all = self.rows.saturating_sub(self.nulls + self.done);
        let height = all.div_ceil(left + u64::from(open > 0)).max(1);
        let fits = left == 0 || open + value.rows <= height;
        match self.buckets.last_mut().filter(|_| fits) {
            Some(last) => {
                last.high = value.high;
                last.rows += value.rows;
                last.values += 1;
            }
            None => {
                self.done += open;
                self.buckets.push(value);
            }
        }
    }

    /// The document.
    #[must_use]
    pub fn document(self, column: &Column, asked: u64, automatic: bool, now: DateTime) -> String {
        let rows = self.rows.max(1) as f64;
        let share = |count: u64| Tree::Scalar(Scalar::Double((count as f64 / rows).min(1.0)));
        let text = |text: &'static str| Tree::Scalar(Scalar::text(text));
        let mut before = 0;
        let buckets = self.buckets.into_iter().map(|bucket| {
            before += bucket.rows;
            Tree::Array(match self.is_singleton {
                true => vec![told(bucket.high), share(before)],
                false => vec![
                    told(bucket.low),
                    told(bucket.high),
                    share(before),
                    Tree::Scalar(Scalar::UInt(bucket.values)),
                ],
            })
        });
        let collation = match column.ty {
            ty if ty.has_collation() => column.collation,
            _ => Collation::Latin1SwedishCi,
        };
        let members = [
            ("buckets", Tree::Array(buckets.collect())),
            ("data-type", text(data_type(column).unwrap_or_default())),
            ("auto-update", Tree::Scalar(Scalar::Bool(automatic))),
            ("null-values", share(self.nulls)),
            (
                "collation-id",
                Tree::Scalar(Scalar::UInt(collation.id().into())),
            ),
            ("last-updated", Tree::Scalar(Scalar::DateTime(now))),
            ("sampling-rate", Tree::Scalar(Scalar::Double(1.0))),
            (
                "histogram-type",
                text(if self.is_singleton {
                    "singleton"
                } else {
                    "equi-height"
                }),
            ),
            (
                "number-of-buckets-specified",
                Tree::Scalar(Scalar::UInt(asked)),
            ),
        ];
        let members = members.into_iter();
        let members = members.map(|(key, value)| (Key::from(key.to_owned()), value));
        printed(&Tree::Object(members.collect()))
    }
}

/// A value as documents have it.
fn told(value: Value) -> Tree {
    Tree::Scalar(match value {
        Value::Int(n) => Scalar::Int(n),
        Value::UInt(n) => Scalar::UInt(n),
        Value::Float(x) => Scalar::Double(x.into()),
        Value::Double(x) => Scalar::Double(x),
        Value::Decimal(number) => Scalar::Decimal(number),
        Value::Bytes(bytes) => Scalar::Opaque(TEXT, bytes.into()),
        Value::Date(date) => Scalar::Date(date),
        Value::Time(time) => Scalar::Time(time),
        Value::DateTime(time) => Scalar::DateTime(time),
        Value::Null | Value::Member(_) | Value::Json(_) => Scalar::Null,
    })
}

fn printed(tree: &Tree) -> String {
    let mut text = Vec::new();
    if let Ok(document) = json::document(tree) {
        print(&document.root(), &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// What a document says, for the planner.
pub struct Histogram {
    /// In the order of the values.
    buckets: Vec<Bucket>,
    /// The share of rows that are NULL.
    nulls: f64,
}

struct Bucket {
    low: Value,
    high: Value,
    /// The share of all rows that it has.
    share: f64,
    /// How many values there are in it.
    values: f64,
}

/// The members that a document has, but for `buckets`.
const MEMBERS: [&str; 8] = [
    "data-type",
    "auto-update",
    "null-values",
    "collation-id",
    "last-updated",
    "sampling-rate",
    "histogram-type",
    "number-of-buckets-specified",
];

/// Why a document is no histogram of a column, in MySQL's words.
pub enum Flaw {
    /// It is no JSON.
    NoJson(SqlError),
    /// It says something else.
    Other(String),
}

impl Histogram {
    /// Reads a document.
    ///
    /// # Errors
    /// It is no histogram of this column.
    pub fn read(
        text: &str,
        column: &Column,
        context: &mut EvalContext<'_>,
    ) -> Result<Histogram, Flaw> {
        let tree = json::parse(text).map_err(|flaw| Flaw::NoJson(no_json(flaw)))?;
        let wrong = || Flaw::Other("JSON format error.".to_owned());
        let member = |name: &str| match &tree {
            Tree::Object(members) => members
                .get(&Key::from(name.to_owned()))
                .ok_or_else(|| Flaw::Other(format!("Missing attribute at '$.{}'.", quoted(name)))),
            _ => Err(wrong()),
        };
        for name in MEMBERS {
            member(name)?;
        }
        let is = |name, wanted| match member(name)? {
            Tree::Scalar(Scalar::Text(text)) => Ok::<bool, Flaw>(text == wanted),
            _ => Err(wrong()),
        };
        let kind = data_type(column).ok_or_else(wrong)?;
        if !is("data-type", kind)? {
            return Err(wrong());
        }
        let singleton = is("histogram-type", "singleton")?;
        if !singleton && !is("histogram-type", "equi-height")? {
            return Err(wrong());
        }
        let nulls = number(member("null-values")?).ok_or_else(wrong)?;
        let Tree::Array(all) = member("buckets")? else {
            return Err(wrong());
        };
        let mut buckets = Vec::with_capacity(all.len());
        let mut before = 0.0;
        for bucket in all {
            let Tree::Array(parts) = bucket else {
                return Err(wrong());
            };
            let (low, high, upto, values) = match (singleton, parts.as_slice()) {
                (true, [value, upto]) => (value, value, upto, 1.0),
                (false, [low, high, upto, values]) => {
                    (low, high, upto, number(values).ok_or_else(wrong)?)
                }
                _ => return Err(wrong()),
            };
            let upto = number(upto).filter(|upto| (before..=1.0).contains(upto));
            let upto = upto.ok_or_else(wrong)?;
            buckets.push(Bucket {
                low: value_of(low, column, context).ok_or_else(wrong)?,
                high: value_of(high, column, context).ok_or_else(wrong)?,
                share: upto - before,
                values,
            });
            before = upto;
        }
        Ok(Histogram { buckets, nulls })
    }

    /// The share of rows whose value meets a condition, if the histogram tells: what is met only
    /// within a bucket it does not know.
    ///
    /// A bucket of which first and last value meet it is thought to meet it throughout. One of which
    /// a single end does, meets it half if the next value beyond that end does, too (then it is a
    /// range that begins or ends here), and else by that one value.
    pub fn share(&self, mut meets: impl FnMut(&Value) -> bool) -> Option<f64> {
        let mut ends = Vec::with_capacity(self.buckets.len());
        for bucket in &self.buckets {
            let low = meets(&bucket.low);
            let high = match bucket.values > 1.0 {
                true => meets(&bucket.high),
                false => low,
            };
            ends.push((low, high));
        }
        let mut sum = if meets(&Value::Null) { self.nulls } else { 0.0 };
        for (at, (bucket, (low, high))) in self.buckets.iter().zip(&ends).enumerate() {
            let one = bucket.share / bucket.values.max(1.0);
            let before = at.checked_sub(1).and_then(|at| ends.get(at));
            sum += match (low, high) {
                (true, true) => bucket.share,
                (false, false) => 0.0,
                (true, false) if before.is_some_and(|(_, high)| *high) => bucket.share / 2.0,
                (false, true) if ends.get(at + 1).is_some_and(|(low, _)| *low) => {
                    bucket.share / 2.0
                }
                _ => one,
            };
        }
        let knows_all = self.buckets.iter().all(|bucket| bucket.values <= 1.0);
        (knows_all || sum > 0.0).then_some(sum.min(1.0))
    }
}

/// Whether ANALYZE TABLE makes a column's histogram anew, and of how many buckets.
#[must_use]
pub fn renewed(document: &str) -> Option<u64> {
    let Ok(Tree::Object(members)) = json::parse(document) else {
        return None;
    };
    let member = |name: &str| members.get(&Key::from(name.to_owned()));
    let automatic = matches!(
        member("auto-update"),
        Some(Tree::Scalar(Scalar::Bool(true)))
    );
    let asked = member("number-of-buckets-specified").and_then(number)?;
    automatic.then_some(asked as u64)
}

/// 3141 in the words that ANALYZE TABLE has for it.
fn no_json(flaw: json::Flaw) -> SqlError {
    match flaw {
        json::Flaw::Invalid(why, at) => {
            SqlError::invalid_json_argument("1", "UPDATE HISTOGRAM", why, at.to_string())
        }
        json::Flaw::TooDeep => SqlError::json_too_deep(),
    }
}

/// A key as a JSON path has it.
fn quoted(key: &str) -> String {
    match key.contains('-') {
        true => format!("\"{key}\""),
        false => key.to_owned(),
    }
}

fn number(tree: &Tree) -> Option<f64> {
    match tree {
        Tree::Scalar(Scalar::Int(n)) => Some(*n as f64),
        Tree::Scalar(Scalar::UInt(n)) => Some(*n as f64),
        Tree::Scalar(Scalar::Double(x)) => Some(*x),
        _ => None,
    }
}

/// The value of a column that a document tells of.
fn value_of(tree: &Tree, column: &Column, context: &mut EvalContext<'_>) -> Option<Value> {
    let value = match tree {
        Tree::Scalar(Scalar::Int(n)) => Value::Int(*n),
        Tree::Scalar(Scalar::UInt(n)) => Value::UInt(*n),
        Tree::Scalar(Scalar::Double(x)) => Value::Double(*x),
        Tree::Scalar(Scalar::Text(text)) => Value::Bytes(match text.strip_prefix(TEXT_PREFIX) {
            Some(encoded) => STANDARD.decode(encoded).ok()?,
            None => text.as_bytes().to_vec(),
        }),
        _ => return None,
    };
    assign(column, value, context).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(buckets_max: usize, values: &[(i64, u64)], nulls: u64) -> Builder {
        let rows = values.iter().map(|(_, rows)| rows).sum::<u64>() + nulls;
        let mut builder = Builder::new(rows, nulls, buckets_max);
        for (value, rows) in values {
            builder.push(&Value::Int(*value), *rows);
        }
        builder
    }

    /// Of each bucket: first and last value, rows, values.
    fn buckets(builder: &Builder) -> Vec<(Value, Value, u64, u64)> {
        let all = builder.buckets.iter();
        all.map(|b| (b.low.clone(), b.high.clone(), b.rows, b.values))
            .collect()
    }

    #[test]
    fn buckets_have_about_as_many_rows() {
        use Value::Int;
        let builder = built(3, &[(1, 5), (2, 1), (3, 1), (4, 1)], 2);
        assert!(!builder.is_singleton);
        let expected = [
            (Int(1), Int(1), 5, 1),
            (Int(2), Int(3), 2, 2),
            (Int(4), Int(4), 1, 1),
        ];
        assert_eq!(buckets(&builder), expected);
        assert!(built(4, &[(1, 5), (2, 1), (3, 1), (4, 1)], 2).is_singleton);
    }

    #[test]
    fn no_bucket_is_left_over_and_no_row_is_lost() {
        for buckets_max in 1..40_usize {
            for skew in [1_u64, 3, 50] {
                let values: Vec<(i64, u64)> = (0..100_i64)
                    .map(|value| (value, 1 + value.cast_unsigned() % skew))
                    .collect();
                let builder = built(buckets_max, &values, 0);
                assert!(builder.buckets.len() <= buckets_max);
                assert!(builder.buckets.len() * 2 >= buckets_max, "{buckets_max}");
                let rows: u64 = builder.buckets.iter().map(|b| b.rows).sum();
                let distinct: u64 = builder.buckets.iter().map(|b| b.values).sum();
                assert_eq!((rows, distinct), (builder.rows, 100));
                // None but a value alone has twice what it should.
                let height = rows.div_ceil(buckets_max as u64);
                let high = builder
                    .buckets
                    .iter()
                    .filter(|b| b.rows > 2 * height + skew);
                assert!(
                    high.into_iter().all(|b| b.values == 1),
                    "{buckets_max} {skew}"
                );
            }
        }
    }

    #[test]
    fn shares_are_those_of_the_buckets() {
        let bucket = |low, high, share, values| Bucket {
            low: Value::Int(low),
            high: Value::Int(high),
            share,
            values,
        };
        let histogram = Histogram {
            buckets: vec![
                bucket(0, 9, 0.25, 10.0),
                bucket(10, 10, 0.25, 1.0),
                bucket(11, 50, 0.4, 40.0),
            ],
            nulls: 0.1,
        };
        let of = |meets: &dyn Fn(i64) -> bool| {
            histogram.share(|value| matches!(value, Value::Int(n) if meets(*n)))
        };
        let near = |found: Option<f64>, expected: f64| {
            assert!((found.unwrap_or(-1.0) - expected).abs() < 1e-9, "{found:?}");
        };
        near(of(&|n| n == 10), 0.25);
        near(of(&|n| n == 50), 0.01);
        near(of(&|n| n >= 5), 0.25 / 2.0 + 0.25 + 0.4);
        near(of(&|_| true), 0.9);
        near(histogram.share(Value::is_null), 0.1);
        // A value within a bucket: who asks must look elsewhere.
        assert!(of(&|n| n == 20).is_none());
    }
}

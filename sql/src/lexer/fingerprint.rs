//! Lifts the literals out of a statement, so that statements that differ only in them share a
//! plan: a text query is a prepared statement whose parameters are its literals.
//!
//! One walk over the text makes the key (the tokens, one space between them, each literal
//! replaced by a mark for its kind, optimizer hints as they stand) and the literals' values.
//!
//! What a literal must not be lifted from:
//! 1. the select list, where the text names the column and the literal's type is the column's;
//! 2. GROUP BY, HAVING and ORDER BY, where expressions are matched with the select list and
//!    integers are positions;
//! 3. places where the grammar wants a literal: lengths of types, DATE '…', INTERVAL, ESCAPE,
//!    COLLATE, `->`, introducers, adjacent strings;
//! 4. arguments that say how many digits a result has, or whether it is a date: NOW(3),
//!    ROUND(x, 2), STR_TO_DATE(x, '%Y'), ADDTIME(x, '00:00:00.5'); the columns of JSON_TABLE.
//!
//! Rows of INSERT … VALUES that look the same after lifting are folded into the first one: the
//! statement becomes a template of one row that is executed once for each, and a bulk insert
//! is read at the speed of the lexer.

use super::{Kind, Lexer, Mode, Token, ValueKind, hints, number, string_value};
use cohort_engine::types::{Decimal, Value};

/// Texts longer than this are not worth a place in the cache, unless they fold.
const KEY_LENGTH_MAX: usize = 16 * 1024;
/// Deeper parentheses than this: the slow way, which bounds nesting with an error.
const DEPTH_MAX: usize = 32;

/// A statement with its literals lifted out. Kept by a session and filled again and again.
#[derive(Debug, Default)]
pub struct Lifted {
    /// The normalised text, behind whatever the caller put there first.
    pub key: Vec<u8>,
    /// The literals. Those of the rows of a folded INSERT come first, row after row.
    pub values: Vec<Value>,
    /// Where each literal is in the text (start and end), for the first row of folded ones and
    /// the rest of the statement.
    pub places: Vec<(usize, usize)>,
    /// The part of the text that was folded away.
    pub folded: Option<(usize, usize)>,
    /// Where the statement ends: at a `;` or the end of the text.
    pub end: usize,
}

/// What is done with literals in the current clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clause {
    /// Nothing.
    Keep,
    /// Nothing, and spaces stay as they are, too: the select list, whose texts are the columns'
    /// names.
    Name,
    /// They are lifted.
    Lift,
}

/// One level of parentheses.
#[derive(Clone, Copy, Debug)]
struct Level {
    clause: Clause,
    /// Whether a SELECT began on this level, so that FROM and WHERE here are its clauses.
    query: bool,
    /// Literals behind a comma on this level decide about the result's type, or about columns.
    typed_behind_comma: bool,
}

struct Walk<'a, 'l> {
    source: &'a [u8],
    mode: Mode,
    lifted: &'l mut Lifted,
    levels: [Level; DEPTH_MAX],
    depth: usize,
    previous: Token,
    /// The literal before is marked as one that is assigned to a column as it is, which makes the
    /// same plan whatever its kind.
    assigned: bool,
    /// Only those whose literals can be anywhere after VALUES or SET.
    insert: bool,
    rows: Option<Rows>,
}

/// The rows after VALUES: whether and how far they have been folded.
struct Rows {
    fold: bool,
    /// Where the first row is in the key, and where the row begins that is being read.
    first: (usize, usize),
    current: usize,
    /// How many literals a row has, and how many there were when this one began.
    literals: usize,
    values_before: usize,
    places_before: usize,
    start: usize,
}

impl Lifted {
    /// The literals that the text has after folding, whose places are `places`.
    #[must_use]
    pub fn parameters(&self) -> &[Value] {
        // The last row's stand for all.
        let folded = self.values.len() - self.places.len();
        self.values.get(folded..).unwrap_or_default()
    }
    /// Walks over a statement. `false`: it is not one whose literals can be lifted, and must be
    /// parsed as it is. `self.key` is appended to; everything else is replaced.
    pub fn lift(&mut self, source: &[u8], mode: Mode) -> bool {
        let prefix = self.key.len();
        for fold in [true, false] {
            self.key.truncate(prefix);
            self.values.clear();
            self.places.clear();
            self.folded = None;
            match Walk::run(source, mode, self, fold) {
                Outcome::Lifted => return true,
                Outcome::No => return false,
                Outcome::RowsDiffer => {}
            }
        }
        false
    }
}

enum Outcome {
    Lifted,
    No,
    /// Rows were folded and then one was different: again, without folding.
    RowsDiffer,
}

impl<'a, 'l> Walk<'a, 'l> {
    fn run(source: &'a [u8], mode: Mode, lifted: &'l mut Lifted, fold: bool) -> Outcome {
        let mut lexer = Lexer::new(source, mode);
        let first = lexer.next_token();
        let word = first.text(source);
        let insert = match word.len() {
            6 if word.eq_ignore_ascii_case(b"SELECT")
                || word.eq_ignore_ascii_case(b"UPDATE")
                || word.eq_ignore_ascii_case(b"DELETE") =>
            {
                false
            }
            6 if word.eq_ignore_ascii_case(b"INSERT") => true,
            7 if word.eq_ignore_ascii_case(b"REPLACE") => true,
            _ => return Outcome::No,
        };
        let own = hints(source.get(first.end..).unwrap_or_default());
        // Those of other query blocks are not told apart.
        let all = memchr::memmem::find_iter(source, b"/*+").count();
        if all > usize::from(!own.is_empty()) {
            return Outcome::No;
        }
        lifted.key.extend_from_slice(word);
        lifted.key.extend_from_slice(own);
        let selects = word.eq_ignore_ascii_case(b"SELECT");
        let level = Level {
            clause: if selects { Clause::Name } else { Clause::Keep },
            query: true,
            typed_behind_comma: false,
        };
        let mut walk = Walk {
            source,
            mode,
            lifted,
            levels: [level; DEPTH_MAX],
            depth: 0,
            previous: first,
            assigned: false,
            insert,
            rows: None,
        };
        loop {
            let token = lexer.next_token();
            match walk.step(token, &mut lexer, fold) {
                Step::Next => {}
                Step::End => return Outcome::Lifted,
                Step::Stop(outcome) => return outcome,
            }
        }
    }

    fn step(&mut self, token: Token, lexer: &mut Lexer, fold: bool) -> Step {
        let text = token.text(self.source);
        if std::mem::take(&mut self.assigned) && !matches!(text, b"," | b")") {
            // It is only a part of a value.
            self.mark_kind();
        }
        match token.kind {
            Kind::End | Kind::Invalid | Kind::Placeholder => {
                self.lifted.end = token.start;
                return match token.kind {
                    Kind::End if self.depth == 0 => self.finish(),
                    _ => Step::Stop(Outcome::No),
                };
            }
            Kind::Symbol => match text {
                b"(" => return self.open(token),
                b")" => return self.close(token),
                b";" => {
                    self.lifted.end = token.start;
                    return self.finish();
                }
                b"," if self.level().typed_behind_comma => {
                    self.level().clause = Clause::Keep;
                    self.keep(token);
                }
                b"-" if self.lifts() && self.sign_position() => {
                    return self.negative(token, lexer);
                }
                _ => self.keep(token),
            },
            Kind::Word => self.word(token, text, fold),
            Kind::Integer | Kind::Decimal | Kind::Float => {
                if !self.lifts() || self.literal_wanted() {
                    self.keep(token);
                } else {
                    match number(token.kind, text) {
                        Some(value) => self.lift(value, token),
                        None => return Step::Stop(Outcome::No),
                    }
                }
            }
            // The value of a variable decides about the types of a plan.
            Kind::UserVariable => return Step::Stop(Outcome::No),
            Kind::String => {
                if self.previous.kind == Kind::String {
                    return Step::Stop(Outcome::No);
                }
                // n'text' has a character set of its own.
                let is_national = matches!(text, [b'n' | b'N', ..]);
                if !self.lifts() || self.literal_wanted() || is_national {
                    self.keep(token);
                } else {
                    let value = string_value(text, self.mode);
                    self.lift(value, token);
                }
            }
            _ => self.keep(token),
        }
        self.previous = token;
        if self.lifted.key.len() > KEY_LENGTH_MAX && self.lifted.folded.is_none() {
            return Step::Stop(Outcome::No);
        }
        Step::Next
    }

    fn level(&mut self) -> &mut Level {
        &mut self.levels[self.depth.min(DEPTH_MAX - 1)]
    }
    fn lifts(&mut self) -> bool {
        self.level().clause == Clause::Lift
    }
    fn keep(&mut self, token: Token) {
        if self.level().clause == Clause::Name {
            let between = self.source.get(self.previous.end..token.start);
            self.lifted
                .key
                .extend_from_slice(between.unwrap_or_default());
        } else {
            self.lifted.key.push(b' ');
        }
        self.lifted.key.extend_from_slice(token.text(self.source));
    }

    fn lift(&mut self, value: Value, token: Token) {
        self.lifted.key.extend_from_slice(b" ?");
        self.lifted.values.push(value);
        self.lifted.places.push((token.start, token.end));
        self.assigned = self.rows.is_some() && self.depth == 1 && self.begins_value();
        if !self.assigned {
            self.mark_kind();
        }
    }

    /// Writes what the last literal is.
    fn mark_kind(&mut self) {
        if let Some(value) = self.lifted.values.last() {
            ValueKind::of(value).mark(&mut self.lifted.key);
        }
    }

    /// Whether one of a list of values begins here.
    fn begins_value(&self) -> bool {
        matches!(self.previous.text(self.source), b"(" | b",")
    }

    /// Whether a `-` here is a sign, not a subtraction.
    fn sign_position(&self) -> bool {
        let before = self.previous.text(self.source);
        match self.previous.kind {
            Kind::Symbol => before != b")",
            Kind::Word => is_one_of(before, &["BETWEEN", "AND", "OR", "WHEN", "THEN", "ELSE"]),
            _ => false,
        }
    }

    fn negative(&mut self, minus: Token, lexer: &mut Lexer) -> Step {
        let mut ahead = lexer.clone();
        let next = ahead.next_token();
        let value = number(next.kind, next.text(self.source)).and_then(|value| match value {
            Value::Int(v) => v.checked_neg().map(Value::Int),
            Value::UInt(v) if v == 1 << 63 => Some(Value::Int(i64::MIN)),
            Value::UInt(v) => Some(Value::Decimal(-Decimal::from(v))),
            Value::Decimal(v) => Some(Value::Decimal(-v)),
            Value::Double(v) => Some(Value::Double(-v)),
            _ => None,
        });
        match value {
            Some(value) => {
                let whole = Token {
                    start: minus.start,
                    ..next
                };
                *lexer = ahead;
                self.lift(value, whole);
                self.previous = whole;
            }
            None => {
                self.keep(minus);
                self.previous = minus;
            }
        }
        Step::Next
    }

    /// Whether the grammar wants a literal after the previous token.
    fn literal_wanted(&self) -> bool {
        let text = self.previous.text(self.source);
        match self.previous.kind {
            Kind::Symbol => matches!(text, b"->" | b"->>"),
            Kind::Word => {
                text.first() == Some(&b'_')
                    || is_one_of(
                        text,
                        &[
                            "DATE",
                            "TIME",
                            "TIMESTAMP",
                            "INTERVAL",
                            "ESCAPE",
                            "COLLATE",
                            "AS",
                        ],
                    )
            }
            _ => false,
        }
    }

    fn open(&mut self, token: Token) -> Step {
        if self.depth + 1 >= DEPTH_MAX {
            return Step::Stop(Outcome::No);
        }
        let mut clause = self.level().clause;
        let lifts = clause == Clause::Lift && self.previous.kind == Kind::Word;
        let before = self.previous.text(self.source);
        if lifts && (decides_type(before)) {
            clause = Clause::Keep;
        }
        const TYPED: [&str; 4] = ["ROUND", "TRUNCATE", "STR_TO_DATE", "JSON_TABLE"];
        let typed_behind_comma = lifts && is_one_of(before, &TYPED);
        if self.depth == 0 {
            self.begin_row(token);
        }
        self.depth += 1;
        *self.level() = Level {
            clause,
            query: false,
            typed_behind_comma,
        };
        self.keep(token);
        self.previous = token;
        Step::Next
    }

    fn close(&mut self, token: Token) -> Step {
        if self.depth == 0 {
            return Step::Stop(Outcome::No);
        }
        self.depth -= 1;
        self.keep(token);
        self.previous = token;
        if self.depth == 0 {
            return self.end_row(token);
        }
        Step::Next
    }

    fn begin_row(&mut self, token: Token) {
        let after_comma = self.previous.is_symbol(self.source, ",");
        let (key, values, places) = (
            self.lifted.key.len(),
            self.lifted.values.len(),
            self.lifted.places.len(),
        );
        if let Some(rows) = &mut self.rows {
            // The comma before the row goes with it.
            rows.current = if after_comma { key - 2 } else { key };
            rows.start = if after_comma {
                self.previous.start
            } else {
                token.start
            };
            rows.values_before = values;
            rows.places_before = places;
        }
    }

    fn end_row(&mut self, token: Token) -> Step {
        let Some(rows) = &mut self.rows else {
            return Step::Next;
        };
        let end = self.lifted.key.len();
        if rows.first.1 == 0 {
            rows.first = (rows.current, end);
            rows.literals = self.lifted.values.len() - rows.values_before;
            return Step::Next;
        }
        if !rows.fold {
            return Step::Next;
        }
        let key = &self.lifted.key;
        let same = rows.literals > 0
            && key.get(rows.current + 2..end) == key.get(rows.first.0..rows.first.1);
        if !same {
            return match self.lifted.folded {
                Some(_) => Step::Stop(Outcome::RowsDiffer),
                None => {
                    rows.fold = false;
                    Step::Next
                }
            };
        }
        let from = self.lifted.folded.map_or(rows.start, |(from, _)| from);
        self.lifted.folded = Some((from, token.end));
        let current = rows.current;
        self.lifted.key.truncate(current);
        self.lifted.places.truncate(rows.places_before);
        Step::Next
    }

    fn word(&mut self, token: Token, text: &[u8], fold: bool) {
        let is_null = || text.eq_ignore_ascii_case(b"NULL");
        if self.rows.is_some() && self.depth == 1 && self.begins_value() && is_null() {
            self.lift(Value::Null, token);
            return;
        }
        self.keep(token);
        // A name after a point or before one is no keyword.
        if self.previous.is_symbol(self.source, ".") {
            return;
        }
        let at_top = self.depth == 0;
        let insert = self.insert && at_top;
        let opened = self.previous.is_symbol(self.source, "(");
        let level = self.level();
        match text.len() {
            6 if text.eq_ignore_ascii_case(b"SELECT") => {
                level.query = level.query || opened;
                level.clause = Clause::Name;
                if insert {
                    self.rows = None;
                }
            }
            2 | 5 | 6 if level.query && is_one_of(text, &["BY", "GROUP", "HAVING"]) => {
                level.clause = Clause::Keep;
            }
            2..=6
                if level.query
                    && is_one_of(
                        text,
                        &["FROM", "WHERE", "LIMIT", "SET", "UPDATE", "ON", "INTO"],
                    ) =>
            {
                level.clause = if text.eq_ignore_ascii_case(b"INTO") {
                    Clause::Keep
                } else {
                    Clause::Lift
                };
                if insert && text.eq_ignore_ascii_case(b"ON") {
                    self.rows = None;
                }
            }
            5 | 6 if insert && is_one_of(text, &["VALUE", "VALUES"]) => {
                level.clause = Clause::Lift;
                if self.rows.is_none() && self.lifted.values.is_empty() {
                    self.rows = Some(Rows {
                        fold,
                        first: (0, 0),
                        current: 0,
                        literals: 0,
                        values_before: 0,
                        places_before: 0,
                        start: 0,
                    });
                }
            }
            // The expressions behind it are named by their texts, as those of a select list are.
            9 if at_top && text.eq_ignore_ascii_case(b"RETURNING") => {
                level.clause = Clause::Name;
                self.rows = None;
            }
            2 if insert && self.rows.is_some() && text.eq_ignore_ascii_case(b"AS") => {
                self.rows = None;
            }
            _ => {}
        }
    }

    fn finish(&mut self) -> Step {
        if self.lifted.folded.is_some() && self.lifted.key.len() > KEY_LENGTH_MAX {
            return Step::Stop(Outcome::No);
        }
        Step::End
    }
}

enum Step {
    Next,
    End,
    Stop(Outcome),
}

fn is_one_of(text: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether what is in parentheses after this word is the length of a type, or decides about the
/// type of the function: how many digits it has, also where they are those of a text.
fn decides_type(word: &[u8]) -> bool {
    is_one_of(
        word,
        &[
            "CHAR",
            "NCHAR",
            "BINARY",
            "DECIMAL",
            "DATETIME",
            "TIME",
            "TIMESTAMP",
            "VARCHAR",
            "FLOAT",
            "DOUBLE",
            "DEC",
            "NUMERIC",
            "FIXED",
            "NOW",
            "CURTIME",
            "CURRENT_TIME",
            "CURRENT_TIMESTAMP",
            "LOCALTIME",
            "LOCALTIMESTAMP",
            "SYSDATE",
            "UTC_TIME",
            "UTC_TIMESTAMP",
            "ADDTIME",
            "SUBTIME",
            "TIMEDIFF",
            "CONVERT_TZ",
        ],
    )
}

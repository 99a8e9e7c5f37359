//! JSON schemas of draft 4: whether a document is as one says, and if not, where and why.
//!
//! A document is looked at as it is written: what comes first in it fails first, and of several
//! members of a name each counts. For a value its type comes first, then what concerns that type,
//! what is in the value, and in the end what concerns all types (enum, allOf, anyOf, oneOf, not).

use super::parse::Built;
use crate::error::SqlError;
use cohort_engine::types::json::Scalar;
use regex::bytes::{Regex, RegexBuilder};
use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    fmt::Write,
};

/// How deep schemas may follow one another.
const DEPTH_MAX: usize = 200;

/// How often one reference may lead to another.
const REFERENCES_MAX: usize = 100;

/// A document as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// A value without parts.
    Scalar(Scalar<'static>),
    /// An array.
    Array(Vec<Written>),
    /// An object.
    Object(Vec<(String, Written)>),
}

impl Built for Written {
    fn scalar(scalar: Scalar<'static>) -> Written {
        Written::Scalar(scalar)
    }
    fn array(elements: Vec<Written>) -> Written {
        Written::Array(elements)
    }
    fn object(members: Vec<(String, Written)>) -> Written {
        Written::Object(members)
    }
}

impl Written {
    /// The first member of a name.
    fn get(&self, name: &str) -> Option<&Written> {
        match self {
            Written::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value),
            Written::Scalar(_) | Written::Array(_) => None,
        }
    }
    fn text(&self) -> Option<&str> {
        match self {
            Written::Scalar(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }
    /// The elements of a member that is an array.
    fn list(&self, name: &str) -> &[Written] {
        match self.get(name) {
            Some(Written::Array(elements)) => elements,
            _ => &[],
        }
    }
    /// The members of a member that is an object.
    fn members(&self, name: &str) -> &[(String, Written)] {
        match self.get(name) {
            Some(Written::Object(members)) => members,
            _ => &[],
        }
    }
    /// A member that is a whole number and not negative.
    fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Written::Scalar(Scalar::Int(n)) => u64::try_from(*n).ok(),
            Written::Scalar(Scalar::UInt(n)) => Some(*n),
            _ => None,
        }
    }
    fn is_true(&self, name: &str) -> bool {
        self.get(name) == Some(&Written::Scalar(Scalar::Bool(true)))
    }
    fn is_false(&self, name: &str) -> bool {
        self.get(name) == Some(&Written::Scalar(Scalar::Bool(false)))
    }
}

/// What a document does not meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The keyword of the schema.
    pub keyword: &'static str,
    /// Where that is in the schema, as the fragment of a URI.
    pub schema: String,
    /// Where it is not met in the document.
    pub document: String,
}

enum Stop {
    Failed(Failure),
    Error(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Error(error)
    }
}

/// Looks now and then whether to go on.
pub type Tick<'t> = &'t mut dyn FnMut() -> Result<(), SqlError>;

/// What of a schema a document does not meet: `None` if it meets all of it.
pub fn check(
    schema: &Written,
    document: &Written,
    tick: Tick<'_>,
) -> Result<Option<Failure>, SqlError> {
    let mut checker = Checker {
        root: schema,
        patterns: HashMap::new(),
        tick,
        depth: 0,
    };
    checker.check_references(schema, &mut HashMap::new(), 0)?;
    let place = Place {
        schema: "#".to_string(),
        document: "#".to_string(),
    };
    let result = crate::room::with_room(DEPTH_MAX, || checker.check(schema, document, &place));
    match result {
        Ok(()) => Ok(None),
        Err(Stop::Failed(failure)) => Ok(Some(failure)),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// Where the check is: fragments of URIs.
struct Place {
    schema: String,
    document: String,
}

impl Place {
    fn failed(&self, keyword: &'static str) -> Result<(), Stop> {
        Err(Stop::Failed(Failure {
            keyword,
            schema: self.schema.clone(),
            document: self.document.clone(),
        }))
    }
    /// With these steps from here in the schema, and in the document.
    fn below(&self, schema: &[&str], document: Option<&str>) -> Place {
        let mut place = Place {
            schema: self.schema.clone(),
            document: self.document.clone(),
        };
        schema
            .iter()
            .for_each(|step| put_step(step, &mut place.schema));
        document
            .iter()
            .for_each(|step| put_step(step, &mut place.document));
        place
    }
}

/// A step of a JSON pointer in the fragment of a URI.
fn put_step(step: &str, to: &mut String) {
    to.push('/');
    for byte in step.bytes() {
        match byte {
            b'~' => to.push_str("~0"),
            b'/' => to.push_str("~1"),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' => {
                to.push(char::from(byte));
            }
            _ => {
                let _ = write!(to, "%{byte:02X}");
            }
        }
    }
}

struct Checker<'s, 't> {
    root: &'s Written,
    patterns: HashMap<&'s str, Regex>,
    tick: Tick<'t>,
    depth: usize,
}

impl<'s> Checker<'s, '_> {
    /// 1235 for references to other documents, 3157 for those that lead back. What is known of a
    /// place: whether all behind it is good.
    fn check_references(
        &mut self,
        schema: &'s Written,
        known: &mut HashMap<*const Written, bool>,
        depth: usize,
    ) -> Result<(), SqlError> {
        let at = std::ptr::from_ref(schema);
        match known.insert(at, false) {
            None => {}
            Some(true) => {
                known.insert(at, true);
                return Ok(());
            }
            Some(false) => return Err(SqlError::json_too_deep()),
        }
        if depth > REFERENCES_MAX {
            return Err(SqlError::json_too_deep());
        }
        let mut todo = vec![schema];
        while let Some(part) = todo.pop() {
            (self.tick)()?;
            match part {
                Written::Scalar(_) => {}
                Written::Array(elements) => todo.extend(elements),
                Written::Object(members) => todo.extend(members.iter().map(|(_, value)| value)),
            }
            let Some(reference) = part.get("$ref").and_then(Written::text) else {
                continue;
            };
            if !reference.starts_with('#') {
                return Err(SqlError::not_supported("references in JSON Schema"));
            }
            if let Some((target, _)) = self.target(reference) {
                self.check_references(target, known, depth + 1)?;
            }
        }
        known.insert(at, true);
        Ok(())
    }

    /// What a reference leads to, and where that is.
    fn target(&self, reference: &str) -> Option<(&'s Written, String)> {
        let pointer = unescaped(reference.strip_prefix('#')?)?;
        let mut place = "#".to_string();
        let mut found = self.root;
        if pointer.is_empty() {
            return Some((found, place));
        }
        for step in pointer.strip_prefix('/')?.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            put_step(&step, &mut place);
            found = match found {
                Written::Object(_) => found.get(&step)?,
                Written::Array(elements) => elements.get(step.parse::<usize>().ok()?)?,
                Written::Scalar(_) => return None,
            };
        }
        Some((found, place))
    }

    /// Checks a value. What is no object is a schema that everything meets.
    fn check(
        &mut self,
        mut schema: &'s Written,
        value: &Written,
        place: &Place,
    ) -> Result<(), Stop> {
        let mut place = place.below(&[], None);
        while let Some(reference) = schema.get("$ref").and_then(Written::text) {
            let Some((target, at)) = self.target(reference) else {
                return Ok(());
            };
            (schema, place.schema) = (target, at);
        }
        if !matches!(schema, Written::Object(_)) {
            return Ok(());
        }
        (self.tick)()?;
        if self.depth >= DEPTH_MAX {
            return Err(SqlError::json_too_deep().into());
        }
        self.depth += 1;
        if !has_type(schema, value) {
            return place.failed("type");
        }
        match value {
            Written::Scalar(Scalar::Text(text)) => self.check_text(schema, text, &place)?,
            Written::Scalar(scalar) => check_number(schema, scalar, &place)?,
            Written::Array(elements) => self.check_array(schema, elements, &place)?,
            Written::Object(members) => self.check_object(schema, value, members, &place)?,
        }
        self.check_any(schema, value, &place)?;
        self.depth -= 1;
        Ok(())
    }

    /// Whether a value meets a schema.
    fn meets(&mut self, schema: &'s Written, value: &Written, place: &Place) -> Result<bool, Stop> {
        let depth = self.depth;
        match self.check(schema, value, place) {
            Ok(()) => Ok(true),
            Err(Stop::Failed(_)) => {
                self.depth = depth;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// What concerns values of all types.
    fn check_any(
        &mut self,
        schema: &'s Written,
        value: &Written,
        place: &Place,
    ) -> Result<(), Stop> {
        let allowed = schema.list("enum");
        if !allowed.is_empty() {
            let own = canonical(value);
            if !allowed.iter().any(|allowed| canonical(allowed) == own) {
                return place.failed("enum");
            }
        }
        for all in schema.list("allOf") {
            if !self.meets(all, value, place)? {
                return place.failed("allOf");
            }
        }
        for (keyword, only_one) in [("anyOf", false), ("oneOf", true)] {
            let list = schema.list(keyword);
            let mut met = 0_usize;
            for one in list {
                met += usize::from(self.meets(one, value, place)?);
            }
            if !list.is_empty() && (met == 0 || only_one && met > 1) {
                return place.failed(keyword);
            }
        }
        match schema.get("not") {
            Some(not) if self.meets(not, value, place)? => place.failed("not"),
            _ => Ok(()),
        }
    }

    fn check_text(&mut self, schema: &'s Written, text: &str, place: &Place) -> Result<(), Stop> {
        let length = text.chars().count() as u64;
        if schema.count("minLength").is_some_and(|min| length < min) {
            return place.failed("minLength");
        }
        if schema.count("maxLength").is_some_and(|max| length > max) {
            return place.failed("maxLength");
        }
        match schema.get("pattern").and_then(Written::text) {
            Some(pattern) if !self.matches(pattern, text)? => place.failed("pattern"),
            _ => Ok(()),
        }
    }

    /// Whether a pattern is found in a text, whose characters are bytes for it.
    fn matches(&mut self, pattern: &'s str, text: &str) -> Result<bool, SqlError> {
        if let Some(known) = self.patterns.get(pattern) {
            return Ok(known.is_match(text.as_bytes()));
        }
        const SIZE_LIMIT: usize = 1 << 20;
        let built = RegexBuilder::new(pattern)
            .unicode(false)
            .size_limit(SIZE_LIMIT)
            .build();
        let regex = match built {
            Ok(regex) if is_plain(pattern) => regex,
            // MySQL has no heed of patterns that are none: this one may be one there.
            _ => {
                let what = format_args!("the pattern {pattern} in a JSON schema");
                return Err(SqlError::not_supported(what));
            }
        };
        let found = regex.is_match(text.as_bytes());
        self.patterns.insert(pattern, regex);
        Ok(found)
    }

    fn check_array(
        &mut self,
        schema: &'s Written,
        elements: &[Written],
        place: &Place,
    ) -> Result<(), Stop> {
        let mut seen = HashSet::new();
        for (i, element) in elements.iter().enumerate() {
            let number = i.to_string();
            let inside = |steps: &[&str]| place.below(steps, Some(&number));
            match schema.get("items") {
                Some(Written::Array(tuple)) => {
                    match (tuple.get(i), schema.get("additionalItems")) {
                        (Some(item), _) => {
                            self.check(item, element, &inside(&["items", &number]))?
                        }
                        (None, Some(item)) if !schema.is_false("additionalItems") => {
                            self.check(item, element, &inside(&["additionalItems"]))?;
                        }
                        (None, Some(_)) => return inside(&[]).failed("additionalItems"),
                        (None, None) => {}
                    }
                }
                Some(item) => self.check(item, element, &inside(&["items"]))?,
                None => {}
            }
            if schema.is_true("uniqueItems") && !seen.insert(canonical(element)) {
                return inside(&[]).failed("uniqueItems");
            }
        }
        let count = elements.len() as u64;
        if schema.count("minItems").is_some_and(|min| count < min) {
            return place.failed("minItems");
        }
        if schema.count("maxItems").is_some_and(|max| count > max) {
            return place.failed("maxItems");
        }
        Ok(())
    }

    fn check_object(
        &mut self,
        schema: &'s Written,
        value: &Written,
        members: &[(String, Written)],
        place: &Place,
    ) -> Result<(), Stop> {
        for (name, member) in members {
            (self.tick)()?;
            self.check_member(schema, name, member, place)?;
        }
        let has = |name: &Written| name.text().is_none_or(|name| value.get(name).is_some());
        if !schema.list("required").iter().all(has) {
            return place.failed("required");
        }
        let count = members.len() as u64;
        if schema.count("minProperties").is_some_and(|min| count < min) {
            return place.failed("minProperties");
        }
        if schema.count("maxProperties").is_some_and(|max| count > max) {
            return place.failed("maxProperties");
        }
        for (name, needs) in schema.members("dependencies") {
            let met = match needs {
                _ if value.get(name).is_none() => true,
                Written::Array(names) => names.iter().all(has),
                Written::Object(_) => self.meets(needs, value, place)?,
                Written::Scalar(_) => true,
            };
            if !met {
                return place.failed("dependencies");
            }
        }
        Ok(())
    }

    /// Checks a member of an object by the patterns that its name meets, and by its property or
    /// else by what is said of all others.
    fn check_member(
        &mut self,
        schema: &'s Written,
        name: &str,
        member: &Written,
        place: &Place,
    ) -> Result<(), Stop> {
        let mut by_pattern = Vec::new();
        for (pattern, pattern_schema) in schema.members("patternProperties") {
            if self.matches(pattern, name)? {
                by_pattern.push(pattern_schema);
            }
        }
        let properties = schema.members("properties");
        let property = properties.iter().find(|(known, _)| known == name);
        let additional = schema.get("additionalProperties");
        let is_known = property.is_some() || is_named(schema, name);
        let (other, steps) = match (property, additional) {
            (Some((_, property)), _) => (Some(property), vec!["properties", name]),
            (None, Some(additional @ Written::Object(_))) if !is_known => {
                (Some(additional), vec!["additionalProperties"])
            }
            (None, _) => (None, Vec::new()),
        };
        let inside = place.below(&steps, Some(name));
        if by_pattern.is_empty() {
            return match other {
                Some(other) => self.check(other, member, &inside),
                None if !is_known && schema.is_false("additionalProperties") => {
                    place.below(&[], Some(name)).failed("additionalProperties")
                }
                None => Ok(()),
            };
        }
        let mut met = true;
        for pattern_schema in by_pattern {
            met &= self.meets(pattern_schema, member, &inside)?;
        }
        if let Some(other) = other {
            let also = self.meets(other, member, &inside)?;
            met = if is_known { met && also } else { met || also };
        }
        if met {
            return Ok(());
        }
        // As MySQL tells it, whatever the schema is in.
        let place = Place {
            schema: "#".to_string(),
            document: inside.document,
        };
        place.failed("patternProperties")
    }
}

/// Whether a name is one that other keywords than `properties` know: it is none of the others.
fn is_named(schema: &Written, name: &str) -> bool {
    let is_it = |other: &Written| other.text() == Some(name);
    let dependencies = schema.members("dependencies");
    schema.list("required").iter().any(is_it)
        || dependencies.iter().any(|(source, needs)| {
            source == name || matches!(needs, Written::Array(names) if names.iter().any(is_it))
        })
}

/// Whether a value has one of the types that are allowed.
fn has_type(schema: &Written, value: &Written) -> bool {
    let is_it = |ty: &Written| {
        matches!(
            (ty.text(), value),
            (Some("null"), Written::Scalar(Scalar::Null))
                | (Some("boolean"), Written::Scalar(Scalar::Bool(_)))
                | (Some("string"), Written::Scalar(Scalar::Text(_)))
                | (
                    Some("integer" | "number"),
                    Written::Scalar(Scalar::Int(_) | Scalar::UInt(_))
                )
                | (Some("number"), Written::Scalar(Scalar::Double(_)))
                | (Some("array"), Written::Array(_))
                | (Some("object"), Written::Object(_))
        )
    };
    match schema.get("type") {
        None => true,
        Some(Written::Array(types)) => types.iter().any(is_it),
        Some(ty) => is_it(ty),
    }
}

fn check_number(schema: &Written, number: &Scalar<'_>, place: &Place) -> Result<(), Stop> {
    if as_double(number).is_none() {
        return Ok(());
    }
    for (keyword, exclusive, beyond) in [
        ("minimum", "exclusiveMinimum", Ordering::Less),
        ("maximum", "exclusiveMaximum", Ordering::Greater),
    ] {
        let Some(Written::Scalar(limit)) = schema.get(keyword) else {
            continue;
        };
        let order = compare(number, limit);
        let reached = order == Some(Ordering::Equal) && schema.is_true(exclusive);
        if order == Some(beyond) || reached {
            return place.failed(keyword);
        }
    }
    match schema.get("multipleOf") {
        Some(Written::Scalar(unit)) if !is_multiple(number, unit) => place.failed("multipleOf"),
        _ => Ok(()),
    }
}

fn as_double(number: &Scalar<'_>) -> Option<f64> {
    match number {
        Scalar::Int(n) => Some(*n as f64),
        Scalar::UInt(n) => Some(*n as f64),
        Scalar::Double(x) => Some(*x),
        _ => None,
    }
}

fn as_whole(number: &Scalar<'_>) -> Option<i128> {
    match number {
        Scalar::Int(n) => Some((*n).into()),
        Scalar::UInt(n) => Some((*n).into()),
        _ => None,
    }
}

fn compare(a: &Scalar<'_>, b: &Scalar<'_>) -> Option<Ordering> {
    match (as_whole(a), as_whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => as_double(a)?.partial_cmp(&as_double(b)?),
    }
}

/// Whether a number is so many times another one, nearly. What is not positive is no unit.
fn is_multiple(number: &Scalar<'_>, unit: &Scalar<'_>) -> bool {
    let (Some(x), Some(unit_double)) = (as_double(number), as_double(unit)) else {
        return true;
    };
    if unit_double <= 0.0 {
        return true;
    }
    if let (Some(number), Some(unit)) = (as_whole(number), as_whole(unit)) {
        return number % unit == 0;
    }
    let quotient = x.abs() / unit_double;
    let rounded = (quotient + 0.5).floor();
    let difference = (rounded - quotient).abs();
    difference <= (quotient + rounded) * f64::EPSILON || difference < f64::MIN_POSITIVE
}

/// Bytes that are the same for values that are equal: numbers by what they are, objects whatever
/// the order of their members is.
fn canonical(value: &Written) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_canonical(value, &mut bytes);
    bytes
}

fn put_canonical(value: &Written, to: &mut Vec<u8>) {
    let put_text = |text: &str, to: &mut Vec<u8>| {
        to.extend_from_slice(&text.len().to_le_bytes());
        to.extend_from_slice(text.as_bytes());
    };
    match value {
        Written::Scalar(Scalar::Text(text)) => {
            to.push(b't');
            put_text(text, to);
        }
        Written::Scalar(Scalar::Bool(truth)) => to.extend([b'b', u8::from(*truth)]),
        Written::Scalar(number) => match as_double(number) {
            None => to.push(b'0'),
            Some(x) => {
                to.push(b'n');
                let whole = as_whole(number).unwrap_or(x as i128);
                to.extend_from_slice(&whole.to_le_bytes());
                to.extend_from_slice(&(x + 0.0).to_le_bytes());
            }
        },
        Written::Array(elements) => {
            to.push(b'a');
            to.extend_from_slice(&elements.len().to_le_bytes());
            elements
                .iter()
                .for_each(|element| put_canonical(element, to));
        }
        Written::Object(members) => {
            to.push(b'o');
            let put = |(name, value): &(String, Written)| {
                let mut member = Vec::new();
                put_text(name, &mut member);
                put_canonical(value, &mut member);
                member
            };
            let mut members: Vec<Vec<u8>> = members.iter().map(put).collect();
            members.sort_unstable();
            to.extend_from_slice(&members.len().to_le_bytes());
            members
                .iter()
                .for_each(|member| to.extend_from_slice(member));
        }
    }
}

/// Whether a pattern has only what is the same in ECMAScript, whose patterns those of schemas are,
/// and here.
fn is_plain(pattern: &str) -> bool {
    const ESCAPED: &str = "bBdDsSwWnrtfv.^$*+?()[]{}|/\\-";
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, next) {
            ('\\', Some(escaped)) if ESCAPED.contains(escaped) => {
                chars.next();
            }
            ('\\', _) | ('{', Some(',')) => return false,
            ('(', Some('?')) if !in_class => {
                chars.next();
                if chars.peek() != Some(&':') {
                    return false;
                }
            }
            ('[', _) if in_class => return false,
            ('[', Some('^')) => {
                chars.next();
                if chars.peek() == Some(&']') {
                    return false;
                }
                in_class = true;
            }
            ('[', Some(']')) => return false,
            ('[', _) => in_class = true,
            (']', _) => in_class = false,
            ('&', Some('&')) | ('-', Some('-')) | ('~', Some('~')) if in_class => return false,
            _ => {}
        }
    }
    true
}

/// A fragment of a URI without its escapes; `None` if it is none.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if byte != b'%' {
            bytes.push(byte);
            rest = behind;
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    fn checked(schema: &str, document: &str) -> Result<Option<Failure>, SqlError> {
        let read = |text| read::<Written>(text).unwrap();
        let mut ticks = 0;
        check(&read(schema), &read(document), &mut || {
            ticks += 1;
            match ticks {
                ..100_000 => Ok(()),
                _ => Err(SqlError::query_interrupted()),
            }
        })
    }

    #[test]
    fn what_is_deep_has_room() {
        let (open, close) = ("{\"items\":".repeat(95), "}".repeat(95));
        let schema = format!("{open}{{\"type\":\"string\"}}{close}");
        let document = format!("{}1{}", "[".repeat(95), "]".repeat(95));
        let failure = checked(&schema, &document).unwrap().unwrap();
        assert_eq!(failure.keyword, "type");
        assert_eq!(failure.document.matches("/0").count(), 95);
    }

    #[test]
    fn references_that_multiply_can_be_stopped() {
        let level = |n: usize| {
            let next = n + 1;
            let one = format!("{{\"$ref\":\"#/d/x{next}\"}}");
            format!("\"x{n}\":{{\"allOf\":[{one},{one}]}}")
        };
        let levels: Vec<String> = (0..60).map(level).collect();
        let schema = format!(
            "{{\"d\":{{{},\"x60\":{{}}}},\"$ref\":\"#/d/x0\"}}",
            levels.join(",")
        );
        assert!(checked(&schema, "1").is_err());
    }

    #[test]
    fn patterns_that_are_read_in_two_ways_are_none() {
        for plain in ["^a+$", "[a-z]{2,3}", "(?:x|y)\\.\\d", "[^a\\]]"] {
            assert!(is_plain(plain), "{plain}");
        }
        let others = [
            "(?i)a", "(a)\\1", "(?=a)", "\\p{L}", "[a&&b]", "a{,3}", "[[:x:]", "[]a]", "[^]a]",
        ];
        for other in others {
            assert!(!is_plain(other), "{other}");
        }
    }
}

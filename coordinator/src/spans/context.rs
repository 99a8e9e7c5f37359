//! Which trace a transaction belongs to: W3C's `traceparent`.
//!
//! It came with the request that made the transaction known, and is kept among the headers of its
//! branches. What is not there follows from the transaction's name and time, so that whoever drives it,
//! after a restart or elsewhere, says the same.

use crate::model::Global;
use rustc_hash::FxHasher;
use std::{fmt::Write, hash::Hasher};

/// The header's name.
pub const TRACEPARENT: &str = "traceparent";
/// And of what vendors add.
pub const TRACESTATE: &str = "tracestate";

/// A transaction's place in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The trace.
    pub trace_id: [u8; 16],
    /// The transaction's own span.
    pub span_id: [u8; 8],
    /// The span of whoever made it known.
    pub parent: Option<[u8; 8]>,
    /// Somebody wants to see the trace.
    pub is_sampled: bool,
}

impl Context {
    /// A transaction's.
    pub fn of(global: &Global) -> Context {
        let given = global.options.branch_headers.get(TRACEPARENT);
        let given = given.and_then(|header| parse(header));
        let (trace_id, parent, is_sampled) = match given {
            Some((trace_id, parent, is_sampled)) => (trace_id, Some(parent), is_sampled),
            None => {
                let halves = [derived(global, 1), derived(global, 2)];
                let mut trace_id = [0; 16];
                trace_id[..8].copy_from_slice(&halves[0]);
                trace_id[8..].copy_from_slice(&halves[1]);
                (trace_id, None, true)
            }
        };
        Context {
            trace_id,
            span_id: derived(global, 3),
            parent,
            is_sampled,
        }
    }

    /// The header of a call that has this span.
    pub fn header(&self, span_id: [u8; 8]) -> String {
        let mut out = String::from("00-");
        hexadecimal(&mut out, &self.trace_id);
        out.push('-');
        hexadecimal(&mut out, &span_id);
        out.push_str("-01");
        out
    }
}

/// Bytes that are another transaction's only by chance, and never zero.
fn derived(global: &Global, salt: u64) -> [u8; 8] {
    let mut hasher = FxHasher::default();
    hasher.write_u64(salt);
    hasher.write_u64(global.created);
    hasher.write(global.gid.as_bytes());
    let mixed = cohort_engine::env::splitmix::mix(hasher.finish());
    mixed.max(1).to_be_bytes()
}

fn hexadecimal(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String does not fail.
        let _ = write!(out, "{byte:02x}");
    }
}

/// `version-trace-parent-flags`; of later versions what this one knows.
fn parse(header: &str) -> Option<([u8; 16], [u8; 8], bool)> {
    let mut parts = header.trim().split('-');
    let version: [u8; 1] = bytes(parts.next()?)?;
    let trace_id: [u8; 16] = bytes(parts.next()?)?;
    let parent: [u8; 8] = bytes(parts.next()?)?;
    let flags: [u8; 1] = bytes(parts.next()?)?;
    let has_more = parts.next().is_some();
    let is_valid = trace_id != [0; 16]
        && parent != [0; 8]
        && version[0] != 0xff
        && !(version[0] == 0 && has_more);
    is_valid.then_some((trace_id, parent, flags[0] & 1 == 1))
}

/// Exactly so many bytes, in lower case.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 2 * N || !text.bytes().all(is_digit) {
        return None;
    }
    let mut out = [0; N];
    for (place, byte) in out.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Pattern, Status};

    fn context(header: Option<&str>) -> Context {
        let mut global = Global::new("g", Pattern::Saga, Status::Submitted, 5);
        if let Some(header) = header {
            let headers = &mut global.options.branch_headers;
            headers.insert(TRACEPARENT.to_owned(), header.to_owned());
        }
        Context::of(&global)
    }

    #[test]
    fn a_transaction_belongs_to_its_requests_trace() {
        let given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let found = context(Some(given));
        assert!(found.is_sampled);
        assert_eq!(
            found.parent,
            Some([0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31])
        );
        let header = found.header([1, 2, 3, 4, 5, 6, 7, 255]);
        assert_eq!(
            header,
            "00-0af7651916cd43dd8448eb211c80319c-01020304050607ff-01"
        );
        assert!(!context(Some(&given.replace("-01", "-00"))).is_sampled);
        // A later version may have more.
        let later = format!("01{}-x", &given[2..]);
        assert_eq!(context(Some(&later)), found);
    }

    #[test]
    fn what_is_no_context_begins_a_trace_of_its_own() {
        let own = context(None);
        assert!(own.is_sampled && own.parent.is_none());
        assert_ne!(own.span_id, own.trace_id[..8]);
        assert_eq!(own, context(None), "whoever drives it");
        let trace = "0af7651916cd43dd8448eb211c80319c";
        for wrong in [
            "".to_owned(),
            format!("00-{trace}-b7ad6b7169203331"),
            format!("00-{trace}-b7ad6b7169203331-01-x"),
            format!("ff-{trace}-b7ad6b7169203331-01"),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()),
            format!("00-{trace}-b7ad6b716920333\u{e9}-01"),
        ] {
            assert_eq!(context(Some(&wrong)), own, "{wrong}");
        }
    }
}

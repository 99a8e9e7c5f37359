//! Web pages, which may ask for nothing.
//!
//! Without a token a coordinator trusts whoever can reach it, which on loopback is whoever runs
//! something on this machine. A browser does so, too, and lets every page send requests: their
//! answers stay hidden, but they have been carried out. Browsers say who asks (`Origin`,
//! `Sec-Fetch-Site`); a page whose name was made to resolve to this machine says it with `Host`;
//! and what a page may send without being asked first has one of three types. No client of the
//! protocol sends any of that.
//!
//! The console is for browsers. It answers its own pages, and them only: [`foreign`] is what both have
//! in common.

use hyper::{
    HeaderMap,
    header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN},
};
use std::net::IpAddr;

/// What forms can send.
const SIMPLE: [&str; 3] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
];

/// Why a request that may come from a page is refused; `None`: it is not.
pub(super) fn refusal(headers: &HeaderMap) -> Option<&'static str> {
    match foreign(headers, is_loopback) {
        Some(Foreign::Host) => {
            return Some("host: without a token only a loopback address is answered");
        }
        Some(Foreign::Origin) => return Some("origin: without a token web pages are not answered"),
        Some(Foreign::Site) => {
            return Some("sec-fetch-site: without a token web pages are not answered");
        }
        None => {}
    }
    let kind = text(headers, CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    let is_simple = |kind: &str| {
        SIMPLE
            .iter()
            .any(|simple| simple.eq_ignore_ascii_case(kind))
    };
    if kind.is_some_and(|kind| is_simple(kind.trim())) {
        return Some("content-type: application/json is expected");
    }
    None
}

/// What shows that a request is not from a page of ours, or not to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// It calls us by another name.
    Host,
    /// Another page sends it.
    Origin,
    /// It comes from a page of another site.
    Site,
}

/// Whether a request is by another's page, or to a name that is not one of `ours`.
pub(super) fn foreign(headers: &HeaderMap, ours: impl Fn(&str) -> bool) -> Option<Foreign> {
    const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    let host = text(headers, HOST);
    if host.is_some_and(|host| !ours(host)) {
        return Some(Foreign::Host);
    }
    if text(headers, ORIGIN).is_some_and(|origin| !is_from(origin, host)) {
        return Some(Foreign::Origin);
    }
    text(headers, SITE)
        .is_some_and(|site| !["same-origin", "none"].contains(&site))
        .then_some(Foreign::Site)
}

/// A header; what is no text is nothing that is known.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    Some(headers.get(name)?.to_str().unwrap_or("?"))
}

/// Whether a host, with or without a port, is an address and no name: nobody can have it resolve to
/// something else.
pub(super) fn is_address(host: &str) -> bool {
    name_of(host).parse::<IpAddr>().is_ok()
}

/// A host without its port, in small letters; empty if it is none: after its name there may be a port,
/// and nothing else.
pub(super) fn name_of(host: &str) -> String {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let is_port = rest.is_empty() || (rest.len() > port.len() && port.parse::<u16>().is_ok());
    match is_port && !port.starts_with('+') {
        true => name.to_ascii_lowercase(),
        false => String::new(),
    }
}

fn is_from(origin: &str, host: Option<&str>) -> bool {
    let place = origin.split_once("://").map(|(_, place)| place);
    place.is_some() && place == host
}

/// Whether a host, with or without a port, is this machine whatever names resolve to.
pub(super) fn is_loopback(host: &str) -> bool {
    let name = name_of(host);
    let is_address = name
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_refused(headers: &[(&'static str, &'static str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            let value = value.parse().expect("a value");
            (HeaderName::from_static(name), value)
        });
        refusal(&headers.collect()).is_some()
    }

    #[test]
    fn clients_of_this_machine_are_answered() {
        for host in [
            "127.0.0.1:36789",
            "localhost",
            "LocalHost:1",
            "[::1]:36789",
            "a.localhost:1",
        ] {
            assert!(!is_refused(&[("host", host)]), "{host}");
        }
        let json = ("content-type", "application/json; charset=utf-8");
        assert!(!is_refused(&[("host", "127.0.0.1:1"), json]));
        let own = ("origin", "http://localhost:1");
        assert!(!is_refused(&[
            ("host", "localhost:1"),
            own,
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!is_refused(&[]));
    }

    #[test]
    fn pages_are_not() {
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:1",
            "10.0.0.1",
            "localhost.evil.example",
            "[::1]evil",
            "[::1]evil.example:1",
            "[::1]:1.evil.example",
            "[::1",
            "[::1]1",
            "localhost:1.evil.example",
            "localhost:evil",
            "localhost:+1",
            "127.0.0.1:1:1",
            "::1",
            "",
        ] {
            assert!(is_refused(&[("host", host)]), "{host}");
        }
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "http://localhost:2"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("content-type", "text/plain;charset=UTF-8"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-type", "Multipart/Form-Data; boundary=x"),
        ] {
            assert!(
                is_refused(&[("host", "localhost:1"), (name, value)]),
                "{name}: {value}"
            );
        }
    }
}

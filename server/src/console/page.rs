//! What all pages have: the frame, the menu, tables, and how numbers and times are written.

use super::{
    Console, PAGES,
    desk::{Desk, Rows},
};
use cohort_coordinator::{PageAnswer, PageReply, PageRequest};
use cohort_sql::SqlError;
use maud::{DOCTYPE, Markup, html};
use std::fmt::Write;

/// Who looks at what.
pub struct View<'a> {
    pub console: &'a Console,
    pub desk: &'a Desk,
    pub request: &'a PageRequest,
}

impl<'a> View<'a> {
    pub fn new(console: &'a Console, desk: &'a Desk, request: &'a PageRequest) -> View<'a> {
        View {
            console,
            desk,
            request,
        }
    }
    /// What the address says of a name; empty if nothing.
    pub fn query(&self, name: &str) -> &'a str {
        self.request.query.get(name).map_or("", String::as_str)
    }
    /// The rows of a statement, as `shown` has them; else why there are none.
    pub fn with(&self, sql: &str, shown: impl FnOnce(&Rows) -> Markup) -> Markup {
        match self.desk.ask(sql) {
            Ok(rows) => shown(&rows),
            Err(error) => trouble(&error),
        }
    }
    /// The field of a form without which it changes nothing.
    pub fn csrf(&self) -> Markup {
        html! { input type="hidden" name="csrf" value=(self.desk.csrf); }
    }
}

/// A page: what stays, such as what can be typed into; and what is made again each second.
pub struct Page {
    /// Before the rest.
    pub still: Markup,
    pub live: Markup,
    /// What stays below that, and what is made again below both.
    pub below: Option<(Markup, Markup)>,
}

/// Between the two parts of a page that are made again.
const SEPARATOR: char = '\u{1e}';

impl Page {
    /// One that is made again as a whole.
    pub fn live(live: Markup) -> Page {
        Page::new(html! {}, live)
    }
    /// One of both.
    pub fn new(still: Markup, live: Markup) -> Page {
        Page {
            still,
            live,
            below: None,
        }
    }
    /// One that is made once.
    pub fn still(still: Markup) -> Page {
        Page::new(still, html! {})
    }
    /// What is made again, as the script takes it.
    pub fn again(self) -> String {
        let mut text = printable(&self.live.0);
        if let Some((_, live)) = self.below {
            text.push(SEPARATOR);
            text.push_str(&printable(&live.0));
        }
        text
    }
}

/// Without control characters, which texts of clients have as they like: in a stream of events, and for
/// our script, some of them are signs.
fn printable(markup: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => c,
        c if c.is_control() => ' ',
        c => c,
    };
    markup.chars().map(shown).collect()
}

/// Why something is not shown.
pub fn trouble(error: &SqlError) -> Markup {
    html! {
        p.trouble { "Not shown: " (error.message) " (error " (error.code) ")" }
    }
}

fn answer(status: u16, kind: &str, body: String) -> PageAnswer {
    PageAnswer {
        status,
        headers: vec![("content-type", format!("{kind}; charset=utf-8"))],
        body: body.into_bytes(),
    }
}

/// A file of ours.
pub fn file(kind: &str, text: &str) -> PageReply {
    PageReply::Now(answer(200, kind, text.to_owned()))
}

/// Nothing but a status.
pub fn status(status: u16) -> PageReply {
    PageReply::Now(PageAnswer {
        status,
        ..PageAnswer::default()
    })
}

/// The browser is to go on there.
pub fn go_to(place: &str) -> PageReply {
    PageReply::Now(PageAnswer {
        status: 303,
        headers: vec![("location", place.to_owned())],
        body: Vec::new(),
    })
}

/// The same, with a cookie.
pub fn go_to_with(place: &str, cookie: String) -> PageReply {
    PageReply::Now(PageAnswer {
        status: 303,
        headers: vec![("location", place.to_owned()), ("set-cookie", cookie)],
        body: Vec::new(),
    })
}

fn head(title: &str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width";
        meta name="color-scheme" content="light dark";
        title { (title) " \u{2013} Cohort" }
        link rel="stylesheet" href="/console.css";
        script src="/console.js" defer {}
    }
}

/// A page that says why there is none.
pub fn refused(status: u16, why: &str) -> PageReply {
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head("Refused")) }
            body { main { h1 { "Refused" } p.trouble { (why) } p { a href="/now" { "To the console" } } } }
        }
    };
    PageReply::Now(answer(status, "text/html", text.into_string()))
}

/// The page on which to log in; `error`: why that has failed.
pub fn login(request: &PageRequest, error: Option<&str>) -> PageReply {
    let user = request.form.get("user").map_or("", String::as_str);
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head("Log in")) }
            body.login {
                main {
                    h1 { "Cohort" }
                    @if let Some(error) = error { p.trouble role="alert" { (error) } }
                    form method="post" action="/login" {
                        label { "Account" input name="user" value=(user) autocomplete="username"
                            autofocus required; }
                        label { "Password" input name="password" type="password"
                            autocomplete="current-password"; }
                        button { "Log in" }
                    }
                    p.note { "An account of the server. You see here what it may see in SQL." }
                }
            }
        }
    };
    let status = if error.is_some() { 403 } else { 200 };
    PageReply::Now(answer(status, "text/html", text.into_string()))
}

/// A page in its frame.
pub fn whole(view: &View<'_>, title: &str, page: Page) -> PageReply {
    let path = view.request.path.as_str();
    let title = if title.is_empty() {
        "Global transaction"
    } else {
        title
    };
    let mut live = format!("/live{path}");
    for (at, (name, value)) in view.request.query.iter().enumerate() {
        let mark = if at == 0 { '?' } else { '&' };
        let _ = write!(live, "{mark}{}={}", escaped(name), escaped(value));
    }
    let is_live = !page.live.0.is_empty();
    let text = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head(title)) }
            body {
                a.skip href="#main" { "To the page" }
                header {
                    nav aria-label="Pages" {
                        @for (place, name, _) in PAGES.iter().filter(|(_, name, _)| !name.is_empty()) {
                            a href=(place) aria-current=[(*place == path).then_some("page")] { (name) }
                        }
                    }
                    form method="post" action="/logout" {
                        (view.csrf())
                        span { (view.desk.user) }
                        button { "Log out" }
                    }
                }
                main id="main" tabindex="-1" {
                    h1 { (title) }
                    (page.still)
                    @if is_live {
                        p.follow { button #pause type="button" aria-pressed="false" hidden { "Pause" }
                            span #state role="status" {} }
                        div #live data-live=(live) { (page.live) }
                        @if let Some((still, live)) = &page.below {
                            (still)
                            div #below { (live) }
                        }
                    }
                }
            }
        }
    };
    PageReply::Now(answer(200, "text/html", text.into_string()))
}

/// A small page in the frame, such as one that asks back.
pub fn framed(view: &View<'_>, title: &str, still: Markup) -> PageReply {
    whole(view, title, Page::still(still))
}

/// A text as a part of an address.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// A table with these headings; `None`: there is nothing, which is said in words.
pub fn table(caption: &str, headings: &[&str], rows: Vec<Markup>, nothing: &str) -> Markup {
    html! {
        @if rows.is_empty() {
            h2 { (caption) }
            p.note { (nothing) }
        } @else {
            // It may be wider than the window: it can be scrolled with the keyboard, too.
            div.wide tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                    tbody { @for row in &rows { tr { (row) } } }
                }
            }
        }
    }
}

/// A cell with a number.
pub fn number(value: impl std::fmt::Display) -> Markup {
    html! { td.number { (value) } }
}

/// A cell with a statement: its beginning, and all of it on demand. `key` names it on its page.
pub fn statement(text: &str, key: &str) -> Markup {
    /// So much is shown at once.
    const CHARACTERS_MAX: usize = 100;
    let is_long = text.chars().count() > CHARACTERS_MAX;
    let start: String = text.chars().take(CHARACTERS_MAX).collect();
    html! {
        td.statement {
            @if is_long {
                details id={ "d-" (key) } { summary { code { (start) "\u{2026}" } } code { (text) } }
            } @else {
                code { (text) }
            }
        }
    }
}

/// A number with commas between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of something in a second.
pub fn per_second(rate: f64) -> String {
    if rate >= 10.0 || rate == 0.0 {
        grouped(rate.round() as u64)
    } else {
        format!("{rate:.1}")
    }
}

/// A time in nanoseconds, for people.
pub fn nanos(ns: u64) -> String {
    let (value, unit) = match ns {
        0 => return "0".to_owned(),
        1..1_000 => (ns as f64, "ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "\u{b5}s"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ if ns < 120_000_000_000 => (ns as f64 / 1e9, "s"),
        _ => return age(ns / 1_000_000_000),
    };
    if value < 10.0 {
        format!("{value:.2} {unit}")
    } else if value < 100.0 {
        format!("{value:.1} {unit}")
    } else {
        format!("{value:.0} {unit}")
    }
}

/// An age in seconds, for people.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// A size in bytes, for people.
pub fn bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return match unit {
                "B" => format!("{value:.0} B"),
                unit => format!("{value:.1} {unit}"),
            };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_for_people() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(nanos(1_500), "1.50 \u{b5}s");
        assert_eq!(nanos(123_000_000), "123 ms");
        assert_eq!(nanos(200_000_000_000), "3 min");
        assert_eq!(
            (bytes(512), bytes(1536)),
            ("512 B".into(), "1.5 KiB".into())
        );
        assert_eq!(
            (per_second(0.25), per_second(1234.4)),
            ("0.2".into(), "1,234".into())
        );
    }

    #[test]
    fn what_is_no_letter_is_escaped_in_addresses() {
        assert_eq!(escaped("a b&c=\u{e4}"), "a%20b%26c%3D%C3%A4");
    }
}

//! Calls to branches over HTTP.

use super::{
    super::model::{Global, Reply},
    Answer, Call, shortened,
};
use http_body_util::Full;
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};

/// What a branch is told: for which of a transaction's operations it is called.
pub fn who<'a>(global: &'a Global, call: &'a Call) -> [(&'static str, &'a str); 4] {
    [
        ("branch_id", &call.branch_id),
        ("gid", &global.gid),
        ("op", &call.op),
        ("trans_type", global.pattern.name()),
    ]
}

/// Where a call goes: its branch's url, and for which operation.
pub fn url(global: &Global, call: &Call) -> String {
    let mut url = call.url.clone();
    url.push(if url.contains('?') { '&' } else { '?' });
    push_query(&mut url, &who(global, call));
    url
}

pub fn request(uri: Uri, call: &Call) -> Result<Request<Full<Bytes>>, String> {
    let method = if call.post || !call.body.is_empty() {
        Method::POST
    } else {
        Method::GET
    };
    with_headers(method, uri, call.body.bytes().into_owned(), call)
}

/// A request with the headers of a call.
pub fn with_headers(
    method: Method,
    uri: Uri,
    body: Vec<u8>,
    call: &Call,
) -> Result<Request<Full<Bytes>>, String> {
    let mut request = Request::new(Full::new(Bytes::from(body)));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &call.headers {
        let name = HeaderName::try_from(name).map_err(|error| format!("{name}: {error}"))?;
        let value = HeaderValue::try_from(value).map_err(|error| format!("{name}: {error}"))?;
        headers.insert(name, value);
    }
    Ok(request)
}

/// Appends `a=1&b=2`, percent-encoded.
fn push_query(out: &mut String, pairs: &[(&str, &str)]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for (number, (name, value)) in pairs.iter().enumerate() {
        if number > 0 {
            out.push('&');
        }
        out.push_str(name);
        out.push('=');
        for byte in value.bytes() {
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => {
                    out.push(char::from(byte));
                }
                _ => {
                    let digit = |half: u8| char::from(DIGITS[usize::from(half & 15)]);
                    out.extend(['%', digit(byte >> 4), digit(byte)]);
                }
            }
        }
    }
}

/// What an answer means, in the protocol's order: the words in the body count like the status.
pub fn meaning(url: &str, answer: &Answer) -> Reply {
    let (status, body) = (answer.status, answer.body.as_str());
    if status == StatusCode::TOO_EARLY || body.contains("ONGOING") {
        return Reply::Ongoing;
    }
    if status == StatusCode::CONFLICT || body.contains("FAILURE") {
        return Reply::Failure(format!("url:{url} return failed: {}", shortened(body)));
    }
    if status != StatusCode::OK {
        return Reply::Error(format!("status {}: {}", status.as_u16(), shortened(body)));
    }
    Reply::Success(body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;

    #[test]
    fn answers_mean_what_the_protocol_says() {
        let answer = |status, body: &str| Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_owned(),
            trailers: HeaderMap::new(),
        };
        let meaning = |status, body| match meaning("u", &answer(status, body)) {
            Reply::Success(_) => "success",
            Reply::Failure(_) => "failure",
            Reply::Ongoing => "ongoing",
            Reply::Error(_) => "error",
            Reply::Unsent => "unsent",
        };
        for (status, body, wanted) in [
            (200, "", "success"),
            (200, "{\"dtm_result\":\"SUCCESS\"}", "success"),
            (200, "FAILURE", "failure"),
            (200, "ONGOING and FAILURE", "ongoing"),
            (409, "", "failure"),
            (409, "ONGOING", "ongoing"),
            (425, "FAILURE", "ongoing"),
            (500, "FAILURE", "failure"),
            (201, "", "error"),
            (204, "", "error"),
            (500, "", "error"),
        ] {
            assert_eq!(meaning(status, body), wanted, "{status} {body}");
        }
    }

    #[test]
    fn names_are_encoded() {
        let mut out = String::new();
        push_query(&mut out, &[("gid", "a&b c"), ("op", "\u{e4}x")]);
        assert_eq!(out, "gid=a%26b%20c&op=%C3%A4x");
    }
}

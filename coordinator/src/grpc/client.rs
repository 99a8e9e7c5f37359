//! Calls to branches over gRPC: `host:port/package.Service/Method`, the raw bytes of the payload as
//! the message, and who calls in the metadata.

use super::{
    super::{
        call::{Answer, Call, shortened},
        decide::Question,
        model::{Global, Reply},
    },
    frame::{self, Code},
    messages::WorkflowData,
};
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue, TE},
};
use prost::Message;

/// How a url asks for all addresses of its name, as gRPC's targets do.
pub const BALANCED: &str = "dns:///";

/// The address of a gRPC method, as HTTP/2 has it; with `grpcs://` before it, TLS is used.
///
/// # Errors
///
/// It is none.
pub fn address(url: &str) -> Result<Uri, String> {
    let wrong = || {
        format!(
            "url {url}: http://…, https://…, host:port/package.Service/Method or \
             dns:///host:port/package.Service/Method"
        )
    };
    let (scheme, rest) = match url.strip_prefix("grpcs://") {
        Some(rest) => ("https", rest),
        None => ("http", url),
    };
    if rest.contains("://") {
        return Err(wrong());
    }
    let uri: Uri = format!("{scheme}://{rest}").parse().map_err(|_| wrong())?;
    let mut path = uri.path().split('/').skip(1);
    let is_method = |part: Option<&str>| part.is_some_and(|part| !part.is_empty());
    let two_parts = is_method(path.next()) && is_method(path.next()) && path.next().is_none();
    let is_plain = two_parts && uri.query().is_none() && uri.port().is_some();
    is_plain.then_some(uri).ok_or_else(wrong)
}

/// The request of a call.
///
/// # Errors
///
/// Something in it is no header.
pub fn request(uri: Uri, global: &Global, call: &Call) -> Result<Request<Full<Bytes>>, String> {
    // Of a workflow only its client is called, with a message of its own.
    let body = match global.pattern.rules().question {
        Question::Run => {
            let data = call.body.bytes().into_owned();
            frame::encode(&WorkflowData { data }.encode_to_vec())
        }
        Question::Commit => frame::encode(&call.body.bytes()),
    };
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(frame::CONTENT_TYPE));
    headers.insert(TE, HeaderValue::from_static("trailers"));
    // Milliseconds, in eight digits at most.
    let timeout = call.timeout.as_millis().min(99_999_999);
    if let Ok(timeout) = HeaderValue::try_from(format!("{timeout}m")) {
        headers.insert("grpc-timeout", timeout);
    }
    let metadata = [
        ("dtm-gid", global.gid.as_str()),
        ("dtm-trans_type", global.pattern.name()),
        ("dtm-branch_id", &call.branch_id),
        ("dtm-op", &call.op),
        ("dtm-dtm", ""),
    ];
    let given = call.headers.iter();
    let given = given.map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in metadata.into_iter().chain(given) {
        let key = HeaderName::try_from(name).map_err(|error| format!("{name}: {error}"))?;
        let value = HeaderValue::try_from(value).map_err(|error| format!("{name}: {error}"))?;
        headers.insert(key, value);
    }
    Ok(request)
}

/// What an answer means: its status is in the trailers, or, if there is nothing else, in the
/// headers.
pub fn meaning(url: &str, answer: &Answer) -> Reply {
    let read = |headers: &HeaderMap| {
        let status = headers.get(&frame::STATUS)?.to_str().ok()?.to_owned();
        let message = headers.get(&frame::MESSAGE);
        let message = message.map_or_else(String::new, |text| frame::unescape(text.as_bytes()));
        Some((status, message))
    };
    if answer.status != StatusCode::OK {
        return Reply::Error(format!("HTTP status {}", answer.status.as_u16()));
    }
    let Some((code, message)) = read(&answer.trailers).or_else(|| read(&answer.headers)) else {
        return Reply::Error("the answer has no grpc-status".into());
    };
    let is = |wanted: Code| code == (wanted as u16).to_string();
    if is(Code::Ok) {
        // Its message is bytes that only its own client can read.
        Reply::Success(String::new())
    } else if is(Code::FailedPrecondition) || is(Code::Aborted) && message == "ONGOING" {
        Reply::Ongoing
    } else if is(Code::Aborted) {
        Reply::Failure(format!("url:{url} return failed: {}", shortened(&message)))
    } else {
        Reply::Error(format!("gRPC status {code}: {}", shortened(&message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_port_service_and_method() {
        assert_eq!(address("h:1/p.S/M").unwrap(), "http://h:1/p.S/M");
        for wrong in [
            "",
            "h:1",
            "h:1/p.S",
            "h/p.S/M",
            "h:1//M",
            "h:1/p.S/M/x",
            "h:1/p.S/M?x",
        ] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
        assert_eq!(address("grpcs://h:1/p.S/M").unwrap(), "https://h:1/p.S/M");
        assert!(address("file:///etc/passwd").is_err());
        assert!(address("discov://h:1/p.S/M").is_err());
    }

    #[test]
    fn statuses_mean_what_the_protocol_says() {
        let meaning = |code: &'static str, message: &'static str, in_trailers: bool| {
            let mut headers = HeaderMap::new();
            headers.insert(frame::STATUS, HeaderValue::from_static(code));
            headers.insert(frame::MESSAGE, HeaderValue::from_static(message));
            let mut answer = Answer {
                status: StatusCode::OK,
                headers: HeaderMap::new(),
                body: String::new(),
                trailers: HeaderMap::new(),
            };
            match in_trailers {
                true => answer.trailers = headers,
                false => answer.headers = headers,
            }
            meaning("u", &answer)
        };
        for in_trailers in [true, false] {
            assert_eq!(meaning("0", "", in_trailers), Reply::Success(String::new()));
            assert_eq!(meaning("9", "later", in_trailers), Reply::Ongoing);
            assert_eq!(meaning("10", "ONGOING", in_trailers), Reply::Ongoing);
            let failure = Reply::Failure("url:u return failed: no %".into());
            assert_eq!(meaning("10", "no %25", in_trailers), failure);
            assert!(matches!(meaning("2", "", in_trailers), Reply::Error(_)));
            assert!(matches!(meaning("", "", in_trailers), Reply::Error(_)));
        }
    }
}

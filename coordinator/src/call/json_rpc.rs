//! Calls to branches over JSON-RPC 2.0: `method` is in the url's query, and who calls is among the
//! params.

use super::{
    super::model::{Global, Reply},
    Answer, Call, http, shortened,
};
use http_body_util::Full;
use hyper::{Method, Request, StatusCode, Uri, body::Bytes};
use serde_json::{Map, Value, json};

/// The protocol's codes for "never" and "not yet".
const FAILURE: i64 = -32901;
const ONGOING: i64 = -32902;

/// The method that a url names, if this transaction calls its branches so.
pub fn method(global: &Global, url: &str) -> Option<String> {
    if global.protocol != "json-rpc" {
        return None;
    }
    let (_, query) = url.split_once('?')?;
    super::super::api::parse_query(query).remove("method")
}

pub fn request(
    uri: Uri,
    method: &str,
    global: &Global,
    call: &Call,
) -> Result<Request<Full<Bytes>>, String> {
    // A payload that is no object has no names to be merged with.
    let mut params: Map<String, Value> =
        serde_json::from_slice(&call.body.bytes()).unwrap_or_default();
    for (name, value) in http::who(global, call) {
        params.insert(name.to_owned(), value.into());
    }
    let id = format!("{}-{}-{}", global.gid, call.branch_id, call.op);
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    http::with_headers(Method::POST, uri, body.to_string().into_bytes(), call)
}

/// What an answer means: HTTP's two statuses as ever, else the code of its error.
pub fn meaning(url: &str, answer: &Answer) -> Reply {
    let body = answer.body.as_str();
    let failure = || Reply::Failure(format!("url:{url} return failed: {}", shortened(body)));
    match answer.status {
        StatusCode::TOO_EARLY => return Reply::Ongoing,
        StatusCode::CONFLICT => return failure(),
        StatusCode::OK => {}
        status => {
            return Reply::Error(format!("status {}: {}", status.as_u16(), shortened(body)));
        }
    }
    let Ok(Value::Object(response)) = serde_json::from_str(body) else {
        return Reply::Error(format!("no JSON-RPC: {}", shortened(body)));
    };
    let error = match (response.get("error"), response.get("result")) {
        (Some(error), _) if !error.is_null() => error,
        (_, Some(result)) => return Reply::Success(result.to_string()),
        // Whose result is null may leave it out.
        (Some(_), None) => return Reply::Success(Value::Null.to_string()),
        (None, None) => return Reply::Error(format!("no JSON-RPC: {}", shortened(body))),
    };
    match error.get("code").and_then(Value::as_i64) {
        Some(FAILURE) => failure(),
        Some(ONGOING) => Reply::Ongoing,
        _ => Reply::Error(shortened(body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::HeaderMap;

    #[test]
    fn errors_mean_what_their_codes_say() {
        let meaning = |status, body: &str| {
            let answer = Answer {
                status: StatusCode::from_u16(status).unwrap(),
                headers: HeaderMap::new(),
                body: body.to_owned(),
                trailers: HeaderMap::new(),
            };
            meaning("u", &answer)
        };
        let done = Reply::Success("\"FAILURE\"".into());
        assert_eq!(meaning(200, r#"{"result":"FAILURE","error":null}"#), done);
        let nothing = Reply::Success("null".into());
        assert_eq!(meaning(200, r#"{"id":"1","error":null}"#), nothing);
        assert_eq!(meaning(425, ""), Reply::Ongoing);
        assert_eq!(meaning(200, r#"{"error":{"code":-32902}}"#), Reply::Ongoing);
        for (status, body) in [(409, ""), (200, r#"{"error":{"code":-32901}}"#)] {
            assert!(matches!(meaning(status, body), Reply::Failure(_)));
        }
        for (status, body) in [
            (200, r#"{"error":{"code":-32601,"message":"FAILURE"}}"#),
            (200, r#"{"error":1}"#),
            (200, "{}"),
            (200, "SUCCESS"),
            (500, r#"{"result":1}"#),
        ] {
            assert!(matches!(meaning(status, body), Reply::Error(_)), "{body}");
        }
    }
}

//! Calls to branches over HTTP, and what their answers mean.
//!
//! Connections are kept alive and shared. A body is read up to a limit, a call has a time limit,
//! and hosts may be restricted: a branch's address comes from whoever submits a transaction, and
//! must not become a way into the network behind this server.

use super::model::{Global, Reply};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    Method, Request, StatusCode, Uri,
    body::Bytes,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use std::{collections::BTreeMap, time::Duration};

/// No more of an answer is read.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// No more of it is kept as an error's text.
const ERROR_CHARACTERS_MAX: usize = 1_000;

/// What is called for a transaction.
#[derive(Clone, Debug)]
pub struct Call {
    /// Where.
    pub url: String,
    /// With what; empty: a GET, unless `post`.
    pub body: Vec<u8>,
    /// POST even without a body.
    pub post: bool,
    /// Which branch.
    pub branch_id: String,
    /// Which operation.
    pub op: String,
    /// The transaction's and the step's.
    pub headers: BTreeMap<String, String>,
    /// How long it may take.
    pub timeout: Duration,
}

/// The client side, shared by all calls.
pub struct Caller {
    client: Client<HttpConnector, Full<Bytes>>,
    /// Hosts that may be called, with their ports or without; empty: all.
    hosts: Vec<String>,
}

impl Caller {
    /// `hosts` may be called; all, if it is empty.
    #[must_use]
    pub fn new(hosts: Vec<String>) -> Caller {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(256)
            .build(connector);
        Caller { client, hosts }
    }

    /// Whether this address may be called at all; why not.
    pub fn check(&self, url: &str) -> Result<(), String> {
        if url.is_empty() {
            return Ok(());
        }
        let uri: Uri = url.parse().map_err(|error| format!("url {url}: {error}"))?;
        if uri.scheme_str() != Some("http") {
            return Err(format!("url {url}: only http:// is supported"));
        }
        let authority = uri.authority().map(|authority| authority.as_str());
        let allowed =
            |host: &String| uri.host() == Some(host.as_str()) || authority == Some(host.as_str());
        if !self.hosts.is_empty() && !self.hosts.iter().any(allowed) {
            return Err(format!(
                "url {url}: its host is not among those that coordinator-branch-hosts allows"
            ));
        }
        Ok(())
    }

    /// Calls, and says what the answer means.
    pub async fn call(&self, global: &Global, call: &Call) -> Reply {
        if call.url.is_empty() {
            return Reply::Success(String::new());
        }
        if let Err(why) = self.check(&call.url) {
            return Reply::Error(why);
        }
        let request = match request(global, call) {
            Ok(request) => request,
            Err(why) => return Reply::Error(why),
        };
        match tokio::time::timeout(call.timeout, self.exchange(request)).await {
            Err(_) => Reply::Error(format!("no answer within {:?}", call.timeout)),
            Ok(Err(why)) => Reply::Error(why),
            Ok(Ok((status, body))) => meaning(&call.url, status, &body),
        }
    }

    async fn exchange(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(StatusCode, String), String> {
        let response =
            self.client
                .request(request)
                .await
                .map_err(|error| match std::error::Error::source(&error) {
                    Some(source) => format!("{error}: {source}"),
                    None => error.to_string(),
                })?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await
            .map_err(|error| format!("reading the answer: {error}"))?;
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok((status, text))
    }
}

fn request(global: &Global, call: &Call) -> Result<Request<Full<Bytes>>, String> {
    let mut url = call.url.clone();
    url.push(if url.contains('?') { '&' } else { '?' });
    url.push_str(&query_string(&[
        ("branch_id", &call.branch_id),
        ("gid", &global.gid),
        ("op", &call.op),
        ("trans_type", global.pattern.name()),
    ]));
    let method = if call.post || !call.body.is_empty() {
        Method::POST
    } else {
        Method::GET
    };
    let mut request = Request::builder()
        .method(method)
        .uri(url)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(call.body.clone())))
        .map_err(|error| format!("url {}: {error}", call.url))?;
    for (name, value) in &call.headers {
        let name = HeaderName::try_from(name).map_err(|error| format!("{name}: {error}"))?;
        let value = HeaderValue::try_from(value).map_err(|error| format!("{name}: {error}"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// `a=1&b=2`, percent-encoded.
fn query_string(pairs: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for (name, value) in pairs {
        if !out.is_empty() {
            out.push('&');
        }
        out.push_str(name);
        out.push('=');
        for byte in value.bytes() {
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'_' | b'.' | b'~' => {
                    out.push(char::from(byte));
                }
                _ => out.push_str(&format!("%{byte:02X}")),
            }
        }
    }
    out
}

/// What an answer means, in the protocol's order: the words in the body count like the status.
fn meaning(url: &str, status: StatusCode, body: &str) -> Reply {
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

fn shortened(text: &str) -> String {
    text.chars().take(ERROR_CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_mean_what_the_protocol_says() {
        let meaning = |status, body| match meaning("u", StatusCode::from_u16(status).unwrap(), body)
        {
            Reply::Success(_) => "success",
            Reply::Failure(_) => "failure",
            Reply::Ongoing => "ongoing",
            Reply::Error(_) => "error",
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
    fn hosts_can_be_restricted() {
        let all = Caller::new(Vec::new());
        assert_eq!(all.check("http://anywhere:1/x"), Ok(()));
        assert!(all.check("file:///etc/passwd").is_err());
        assert!(all.check("not a url").is_err());
        let some = Caller::new(vec!["a".into(), "b:80".into()]);
        for (url, allowed) in [
            ("http://a:1/x", true),
            ("http://b:80/", true),
            ("http://b:81/", false),
            ("http://a.b/", false),
            ("http://a@c/", false),
        ] {
            assert_eq!(some.check(url).is_ok(), allowed, "{url}");
        }
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(
            query_string(&[("gid", "a&b c"), ("op", "x")]),
            "gid=a%26b%20c&op=x"
        );
    }
}

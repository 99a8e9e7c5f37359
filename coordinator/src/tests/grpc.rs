//! A small business service and a client that speak gRPC, for the scripts of `play`.

use super::{
    participant::{Answer, Visit},
    play::Talk,
};
use crate::{
    call::{Answer as Response, Caller, Guard},
    grpc::{
        frame::{self, Code, Status},
        messages::{DtmBranchRequest, DtmRequest, DtmTransOptions, WorkflowData},
    },
};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::{Bytes, Incoming},
    header::CONTENT_TYPE,
    server::conn::http2,
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use serde_json::{Map, Value};
use std::{collections::HashMap, convert::Infallible, net::TcpListener, sync::Arc, thread};
use tokio::runtime::{Builder, Runtime};

/// More than is read of an answer.
const FLOOD_BYTES: usize = 4 << 20;

fn runtime() -> Runtime {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// Serves on a port of its own until the process ends.
pub fn serve(handler: impl Fn(&Visit) -> Answer + Send + Sync + 'static) -> u16 {
    serve_at(TcpListener::bind("127.0.0.1:0").expect("a port"), handler)
}

/// Serves there until the process ends.
pub fn serve_at(
    listener: TcpListener,
    handler: impl Fn(&Visit) -> Answer + Send + Sync + 'static,
) -> u16 {
    let port = listener.local_addr().expect("its number").port();
    listener.set_nonblocking(true).expect("a socket");
    let runtime = runtime();
    let listener = runtime.block_on(async { tokio::net::TcpListener::from_std(listener) });
    let listener = listener.expect("a socket");
    let handler = Arc::new(handler);
    thread::spawn(move || {
        runtime.block_on(async {
            while let Ok((stream, _)) = listener.accept().await {
                let handler = Arc::clone(&handler);
                let service = service_fn(move |request| answer(Arc::clone(&handler), request));
                let connection = http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service);
                tokio::spawn(connection);
            }
        });
    });
    port
}

type Answered = hyper::Response<Full<Bytes>>;

async fn answer(
    handler: Arc<impl Fn(&Visit) -> Answer>,
    request: Request<Incoming>,
) -> Result<Answered, Infallible> {
    let (head, body) = request.into_parts();
    let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap_or("?").to_owned();
    let headers = head.headers.iter();
    let headers: std::collections::BTreeMap<_, _> = headers
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect();
    let who = headers.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("dtm-")?;
        Some((name.to_owned(), value.clone()))
    });
    let body = body.collect().await.expect("a body").to_bytes().to_vec();
    let message = frame::only(body, FLOOD_BYTES).expect("a message");
    let is_workflow = headers
        .get("dtm-trans_type")
        .is_some_and(|kind| kind == "workflow");
    let message = match is_workflow {
        true => WorkflowData::decode(&*message).expect("data").data,
        false => message,
    };
    let visit = Visit {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: who.collect(),
        headers,
        body: String::from_utf8_lossy(&message).into_owned(),
        bytes: message,
    };
    Ok(match handler(&visit) {
        Answer::Status(200, _) => ended(Code::Ok, ""),
        Answer::Status(409, text) => ended(Code::Aborted, &text),
        Answer::Status(425, text) => ended(Code::FailedPrecondition, &text),
        Answer::Status(_, text) => ended(Code::Unknown, &text),
        Answer::Garbage => Answered::new(Full::from("what?")),
        Answer::Flood => Answered::new(Full::from(vec![b'x'; FLOOD_BYTES])),
        Answer::Silence(time) => {
            tokio::time::sleep(time).await;
            ended(Code::Unavailable, "")
        }
    })
}

fn ended(code: Code, message: &str) -> Answered {
    let mut answered = Answered::new(Full::default());
    *answered.headers_mut() = Status::new(code, message).headers();
    let kind = frame::CONTENT_TYPE.parse().expect("a header");
    answered.headers_mut().insert(CONTENT_TYPE, kind);
    answered
}

/// A client of the coordinator.
pub struct Client {
    runtime: Runtime,
    caller: Caller,
    port: u16,
}

impl Client {
    /// Of the coordinator whose gRPC is on this port.
    pub fn new(port: u16) -> Client {
        let guard = Guard::parse("", true).expect("no list");
        Client {
            runtime: runtime(),
            caller: Caller::new(guard).expect("a client"),
            port,
        }
    }

    fn call(&self, method: &str, message: &[u8], headers: &[(&str, &str)]) -> Response {
        let url = format!("http://127.0.0.1:{}/dtmgimp.Dtm/{method}", self.port);
        let mut request = Request::post(url).header(CONTENT_TYPE, frame::CONTENT_TYPE);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(frame::encode(message)));
        let answer = self.caller.send_grpc(request.expect("a request"));
        self.runtime.block_on(answer).expect("an answer")
    }
}

impl Talk for Client {
    /// What HTTP's endpoint of this name would be sent, as the method's message; its status and
    /// text.
    fn tell(&self, name: &str, body: &Value, headers: &[(&str, &str)]) -> String {
        let fields = body.as_object().expect("an object");
        let (method, message) = match name {
            "registerBranch" => ("RegisterBranch", branch(fields).encode_to_vec()),
            "prepare" => ("Prepare", global(fields).encode_to_vec()),
            "submit" => ("Submit", global(fields).encode_to_vec()),
            "abort" => ("Abort", global(fields).encode_to_vec()),
            "prepareWorkflow" => ("PrepareWorkflow", global(fields).encode_to_vec()),
            _ => panic!("{name}: HTTP only"),
        };
        let answer = self.call(method, &message, headers);
        let of = |name: &str| {
            let value = answer.trailers.get(name).or(answer.headers.get(name));
            value.map_or("", |value| value.to_str().unwrap_or("?"))
        };
        format!("{} {}", of("grpc-status"), of("grpc-message"))
            .trim_end()
            .to_owned()
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> String {
    fields
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn texts(fields: &Map<String, Value>, name: &str) -> HashMap<String, String> {
    let map = fields.get(name).and_then(Value::as_object);
    let pairs = map.into_iter().flatten();
    pairs
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn global(fields: &Map<String, Value>) -> DtmRequest {
    let number = |name: &str| fields.get(name).and_then(Value::as_i64).unwrap_or(0);
    let payloads = fields.get("payloads").and_then(Value::as_array);
    let payloads = payloads.into_iter().flatten().filter_map(Value::as_str);
    DtmRequest {
        gid: text(fields, "gid"),
        trans_type: text(fields, "trans_type"),
        trans_options: Some(DtmTransOptions {
            wait_result: fields.get("wait_result") == Some(&Value::Bool(true)),
            timeout_to_fail: number("timeout_to_fail"),
            retry_interval: number("retry_interval"),
            branch_headers: texts(fields, "branch_headers"),
            request_timeout: number("request_timeout"),
            retry_limit: number("retry_limit"),
        }),
        customed_data: text(fields, "custom_data"),
        bin_payloads: payloads
            .map(|payload| payload.as_bytes().to_vec())
            .collect(),
        query_prepared: text(fields, "query_prepared"),
        steps: fields
            .get("steps")
            .map(Value::to_string)
            .unwrap_or_default(),
        req_extra: texts(fields, "req_extra"),
        rollback_reason: text(fields, "rollback_reason"),
    }
}

fn branch(fields: &Map<String, Value>) -> DtmBranchRequest {
    let data = ["op", "confirm", "cancel", "url", "status"].into_iter();
    let data = data.map(|name| (name.to_owned(), text(fields, name)));
    DtmBranchRequest {
        gid: text(fields, "gid"),
        trans_type: text(fields, "trans_type"),
        branch_id: text(fields, "branch_id"),
        op: String::new(),
        data: data.filter(|(_, value)| !value.is_empty()).collect(),
        busi_payload: text(fields, "data").into_bytes(),
    }
}

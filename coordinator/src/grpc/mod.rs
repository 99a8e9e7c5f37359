//! gRPC: the service `dtmgimp.Dtm`, whose methods are the functions that HTTP's endpoints call.
//!
//! | file | what is inside |
//! |---|---|
//! | `frame` | messages in bytes, how calls end |
//! | `messages` | the protocol's messages, and their description |
//! | `reflection` | tells tools what there is to call |
//! | `client` | calls to branches |

pub(super) mod client;
pub(super) mod frame;
pub(super) mod messages;
mod reflection;

use super::{
    Coordinator,
    api::{self, Refusal, Registration, Submission},
    body::{self, Unread},
    http::{is_authorized, trace_of},
    listen::Visitor,
    model::{Branch, CopyOnWrite, Options, SECOND, Seconds},
    store::Topic,
};
use frame::{Code, Status};
use http_body_util::{BodyExt, Full, Limited, channel::Channel, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Response,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    http::request::Parts,
};
use messages::{
    DtmBranchRequest, DtmGidReply, DtmProgress, DtmProgressesReply, DtmRequest, DtmTopicRequest,
    DtmTransaction,
};
use prost::Message;
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Of what a refused client sends so much is read, in bytes, for so long.
const READ_AWAY_MAX: usize = 64 << 10;
const READ_AWAY_TIME: Duration = Duration::from_secs(1);

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Status {
        match refusal {
            Refusal::Failure(message) => Status::new(Code::Aborted, message),
            Refusal::Ongoing(message) => Status::new(Code::FailedPrecondition, message),
            Refusal::Bad(message) => Status::new(Code::InvalidArgument, message),
            Refusal::Missing(gid) => Status::new(Code::Unknown, format!("no transaction {gid}")),
            Refusal::Stopping => Status::new(Code::Unavailable, "the server is stopping"),
            Refusal::Outage(why) => Status::new(Code::Unavailable, why),
            Refusal::Unknown => Status::new(Code::Unimplemented, "there is no such method"),
            Refusal::Other(message) => Status::new(Code::Unknown, message),
        }
    }
}

/// Answers one call.
pub(super) async fn answer(
    coordinator: Arc<Coordinator>,
    request: hyper::Request<Incoming>,
    visitor: Arc<Visitor>,
) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    if let Err(status) = check(&coordinator, &head) {
        read_away(body).await;
        return Ok(ended(&status));
    }
    visitor.is_welcome();
    if reflection::PATHS.contains(&head.uri.path()) {
        let (answers, channel) = Channel::new(1);
        tokio::spawn(reflection::serve(body, answers));
        return Ok(response(channel.boxed_unsync(), HeaderMap::new()));
    }
    let room = coordinator.answers.clone();
    let answered = unary(coordinator, &head, body).await;
    let counted = answered.and_then(|message| {
        let bytes = frame::encode(&message).into();
        let no_room = || Status::new(Code::Unavailable, body::NO_ROOM);
        body::answer(&room, bytes, &visitor).ok_or_else(no_room)
    });
    Ok(match counted {
        Ok(bytes) => {
            let trailers = Status::new(Code::Ok, "").headers();
            let body = Full::new(bytes);
            let body = body.with_trailers(async { Some(Ok(trailers)) });
            response(body.boxed_unsync(), HeaderMap::new())
        }
        Err(status) => ended(&status),
    })
}

/// Reads what a refused client sends, unless that is much or takes long. A stream that is answered
/// before it is read has to be reset, and some clients then tell of the reset, not of the answer.
async fn read_away(body: Incoming) {
    let body = Limited::new(body, READ_AWAY_MAX).collect();
    let _ = tokio::time::timeout(READ_AWAY_TIME, body).await;
}

fn check(coordinator: &Coordinator, head: &Parts) -> Result<(), Status> {
    let kind = head.headers.get(CONTENT_TYPE);
    if !kind.is_some_and(|kind| kind.as_bytes().starts_with(frame::CONTENT_TYPE.as_bytes())) {
        let message = "this port is for gRPC; HTTP has one of its own";
        return Err(Status::new(Code::InvalidArgument, message));
    }
    if !is_authorized(coordinator.options.token.as_deref(), &head.headers) {
        let message = "a bearer token is needed";
        return Err(Status::new(Code::Unauthenticated, message));
    }
    Ok(())
}

/// A response that is nothing but the end of a call.
fn ended(status: &Status) -> Response<Body> {
    response(Full::default().boxed_unsync(), status.headers())
}

fn response(body: Body, headers: HeaderMap) -> Response<Body> {
    let mut response = Response::new(body);
    *response.headers_mut() = headers;
    let kind = HeaderValue::from_static(frame::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

async fn unary(
    coordinator: Arc<Coordinator>,
    head: &Parts,
    body: Incoming,
) -> Result<Vec<u8>, Status> {
    let trace = trace_of(&head.headers);
    let path = head.uri.path();
    let method = path
        .strip_prefix('/')
        .and_then(|path| path.strip_prefix(messages::SERVICE)?.strip_prefix('/'))
        .ok_or(Refusal::Unknown)?
        .to_owned();
    let read = body::read(&coordinator.room, body).await;
    let (body, held) = read.map_err(|why| match why {
        Unread::TooLarge(why) | Unread::Broken(why) => Status::new(Code::InvalidArgument, why),
        Unread::Crowded(why) | Unread::Late(why) => Status::new(Code::Unavailable, why),
    })?;
    let message = frame::only(body, frame::MESSAGE_BYTES_MAX)?;
    // In a task of its own: it goes on if the client goes away.
    tokio::spawn(async move {
        let _held = held;
        let begun = coordinator.env.monotonic_nanos();
        let called = call(&coordinator, &method, &message, &trace).await;
        let took = coordinator.env.monotonic_nanos().saturating_sub(begun) / 1000;
        coordinator
            .metrics
            .request("grpc", &method, called.is_ok(), took);
        called
    })
    .await
    .unwrap_or_else(|_| {
        let message = "a mistake in the coordinator; see its log";
        Err(Status::new(Code::Internal, message))
    })
}

/// Carries a method out; returns its output, encoded.
async fn call(
    coordinator: &Arc<Coordinator>,
    method: &str,
    message: &[u8],
    trace: &BTreeMap<String, String>,
) -> Result<Vec<u8>, Status> {
    let submission = |message| Ok::<_, Refusal>(submission(message)?.traced(trace));
    if coordinator.is_stopping() {
        return Err(Refusal::Stopping.into());
    }
    let done = match method {
        "NewGid" => {
            let gid = api::new_gid(coordinator);
            return Ok(DtmGidReply { gid }.encode_to_vec());
        }
        "PrepareWorkflow" => {
            let known = api::prepare_workflow(coordinator, submission(message)?).await?;
            return Ok(progresses(&known.transaction).encode_to_vec());
        }
        "Submit" => api::submit(coordinator, submission(message)?)
            .await
            .map(drop),
        "Prepare" => api::prepare(coordinator, submission(message)?).await,
        "Abort" => api::abort(coordinator, submission(message)?)
            .await
            .map(drop),
        "RegisterBranch" => api::register(coordinator, registration(message)?).await,
        "Subscribe" => api::subscribe(coordinator, subscriber(message)?).await,
        "Unsubscribe" => api::unsubscribe(coordinator, subscriber(message)?).await,
        "DeleteTopic" => api::delete_topic(coordinator, &subscriber(message)?.topic).await,
        _ => Err(Refusal::Unknown),
    };
    // google.protobuf.Empty is no bytes.
    Ok(done.map(|()| Vec::new())?)
}

fn decode<M: Message + Default>(message: &[u8]) -> Result<M, Refusal> {
    M::decode(message).map_err(|error| Refusal::Bad(error.to_string()))
}

fn texts(map: HashMap<String, String>) -> Map<String, Value> {
    map.into_iter()
        .map(|(name, text)| (name, Value::String(text)))
        .collect()
}

fn submission(message: &[u8]) -> Result<Submission, Refusal> {
    let request: DtmRequest = decode(message)?;
    let options = request.trans_options.unwrap_or_default();
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let seconds = |number: i64| Seconds(count(number).saturating_mul(SECOND));
    let steps = match request.steps.as_str() {
        // What a client's list of nothing becomes.
        "" | "null" => Vec::new(),
        steps => {
            api::check_json(steps.as_bytes())?;
            serde_json::from_str(steps).map_err(|error| Refusal::Bad(format!("Steps: {error}")))?
        }
    };
    Submission {
        gid: request.gid,
        trans_type: request.trans_type,
        steps,
        payloads: request.bin_payloads,
        query_prepared: request.query_prepared,
        protocol: "grpc".into(),
        custom_data: request.customed_data,
        rollback_reason: request.rollback_reason,
        options: Options {
            wait_result: options.wait_result,
            timeout_to_fail: seconds(options.timeout_to_fail),
            request_timeout: seconds(options.request_timeout),
            retry_interval: seconds(options.retry_interval),
            branch_headers: options.branch_headers.into_iter().collect(),
            concurrent: false,
            retry_limit: count(options.retry_limit),
            pass_results: false,
            // Among the extras, if it is said.
            end_webhook: String::new(),
        },
        extra: texts(request.req_extra),
    }
    .checked()
}

fn registration(message: &[u8]) -> Result<Registration, Refusal> {
    let request: DtmBranchRequest = decode(message)?;
    let mut fields = texts(request.data);
    fields.insert("gid".into(), request.gid.into());
    fields.insert("trans_type".into(), request.trans_type.into());
    fields.insert("branch_id".into(), request.branch_id.into());
    Registration::new(&fields, request.busi_payload)
}

fn subscriber(message: &[u8]) -> Result<Topic, Refusal> {
    let DtmTopicRequest { topic, url, remark } = decode(message)?;
    Ok(Topic { topic, url, remark })
}

fn progresses(known: &api::Transaction) -> DtmProgressesReply {
    let progress = |branch: &CopyOnWrite<Branch>| DtmProgress {
        status: branch.status.name().to_owned(),
        bin_data: branch.body.clone(),
        branch_id: branch.branch_id.clone(),
        op: branch.op.clone(),
    };
    let global = &known.global;
    DtmProgressesReply {
        transaction: Some(DtmTransaction {
            gid: global.gid.clone(),
            status: global.status.name().to_owned(),
            rollback_reason: global.rollback_reason.clone(),
            result: global.result.clone(),
        }),
        progresses: known.branches.iter().map(progress).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_becomes_what_http_brings_too() {
        let request = DtmRequest {
            gid: "a".into(),
            trans_type: "saga".into(),
            trans_options: Some(messages::DtmTransOptions {
                wait_result: true,
                retry_limit: -1,
                ..Default::default()
            }),
            bin_payloads: vec![vec![0, 255]],
            steps: r#"[{"action":"h/p.S/M"}]"#.into(),
            ..Default::default()
        };
        let read = submission(&request.encode_to_vec()).unwrap();
        assert_eq!((read.gid.as_str(), read.options.wait_result), ("a", true));
        assert_eq!(read.options.retry_limit, 0);
        assert_eq!(read.payloads, [[0, 255]]);
        assert_eq!(read.steps[0]["action"], "h/p.S/M");
        let steps = "[[]]".into();
        let wrong = DtmRequest { steps, ..request };
        assert!(matches!(
            submission(&wrong.encode_to_vec()),
            Err(Refusal::Bad(_))
        ));
        assert!(matches!(submission(b"\xff"), Err(Refusal::Bad(_))));
    }
}

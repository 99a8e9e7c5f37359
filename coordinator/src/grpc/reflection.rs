//! Server reflection: tells tools like grpcurl what there is to call.
//!
//! `grpc.reflection.v1` and its older name `v1alpha` have the same messages. A client asks
//! questions on one stream and gets an answer to each.

use super::{
    frame::{self, Code, Status},
    messages,
};
use http_body_util::{BodyExt, channel::Sender};
use hyper::body::{Bytes, Incoming};
use prost::{Message, Oneof};
use std::convert::Infallible;

/// The method's paths.
pub const PATHS: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];
/// A larger question is refused.
const QUESTION_BYTES_MAX: usize = 64 << 10;

/// `ServerReflectionRequest`
#[derive(Clone, PartialEq, Message)]
struct Request {
    #[prost(string, tag = 1)]
    host: String,
    #[prost(oneof = "Question", tags = "3, 4, 6, 7")]
    question: Option<Question>,
}

/// Its `message_request`. Extensions (5) are none of proto3's.
#[derive(Clone, PartialEq, Oneof)]
enum Question {
    #[prost(string, tag = 3)]
    FileByFilename(String),
    #[prost(string, tag = 4)]
    FileContainingSymbol(String),
    #[prost(string, tag = 6)]
    AllExtensionNumbersOfType(String),
    #[prost(string, tag = 7)]
    ListServices(String),
}

/// `ServerReflectionResponse`
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(string, tag = 1)]
    valid_host: String,
    #[prost(message, optional, tag = 2)]
    original_request: Option<Request>,
    #[prost(oneof = "Answer", tags = "4, 6, 7")]
    answer: Option<Answer>,
}

/// Its `message_response`.
#[derive(Clone, PartialEq, Oneof)]
enum Answer {
    #[prost(message, tag = 4)]
    Files(Files),
    #[prost(message, tag = 6)]
    Services(Services),
    #[prost(message, tag = 7)]
    Error(Error),
}

/// `FileDescriptorResponse`
#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = 1)]
    encoded: Vec<Vec<u8>>,
}

/// `ListServiceResponse`
#[derive(Clone, PartialEq, Message)]
struct Services {
    #[prost(message, repeated, tag = 1)]
    service: Vec<Service>,
}

/// `ServiceResponse`
#[derive(Clone, PartialEq, Message)]
struct Service {
    #[prost(string, tag = 1)]
    name: String,
}

/// `ErrorResponse`
#[derive(Clone, PartialEq, Message)]
struct Error {
    #[prost(int32, tag = 1)]
    code: i32,
    #[prost(string, tag = 2)]
    message: String,
}

fn answer(question: Option<&Question>) -> Answer {
    const NOT_FOUND: i32 = 5;
    let file = match question {
        Some(Question::ListServices(_)) => {
            let name = messages::SERVICE.to_owned();
            let service = vec![Service { name }];
            return Answer::Services(Services { service });
        }
        Some(Question::FileByFilename(name)) => messages::file(name),
        Some(Question::FileContainingSymbol(symbol)) => {
            messages::file_of(symbol).and_then(messages::file)
        }
        Some(Question::AllExtensionNumbersOfType(_)) | None => None,
    };
    match file {
        Some(file) => Answer::Files(Files {
            encoded: vec![file],
        }),
        None => Answer::Error(Error {
            code: NOT_FOUND,
            message: "there is no such symbol or file".into(),
        }),
    }
}

/// Answers the questions in `body` until it ends, or the client is gone.
pub async fn serve(mut body: Incoming, mut answers: Sender<Bytes, Infallible>) {
    let ended = loop_over(&mut body, &mut answers).await;
    let status = ended.err().unwrap_or(Status::new(Code::Ok, ""));
    // The client may be gone.
    let _ = answers.send_trailers(status.headers()).await;
}

async fn loop_over(
    body: &mut Incoming,
    answers: &mut Sender<Bytes, Infallible>,
) -> Result<(), Status> {
    let mut buffer = Vec::new();
    while let Some(Ok(next)) = body.frame().await {
        let Ok(data) = next.into_data() else {
            continue;
        };
        buffer.extend_from_slice(&data);
        while let Some(message) = frame::take(&mut buffer, QUESTION_BYTES_MAX)? {
            let request = Request::decode(&*message)
                .map_err(|error| Status::new(Code::InvalidArgument, error.to_string()))?;
            let response = Response {
                valid_host: request.host.clone(),
                answer: Some(answer(request.question.as_ref())),
                original_request: Some(request),
            };
            let response = frame::encode(&response.encode_to_vec());
            if answers.send_data(response).await.is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_and_the_rest_refused() {
        let services = answer(Some(&Question::ListServices(String::new())));
        assert!(matches!(services, Answer::Services(s) if s.service[0].name == "dtmgimp.Dtm"));
        let files = answer(Some(&Question::FileContainingSymbol("dtmgimp.Dtm".into())));
        assert!(matches!(files, Answer::Files(_)));
        let unknown = answer(Some(&Question::FileByFilename("x.proto".into())));
        assert!(matches!(unknown, Answer::Error(error) if error.code == 5));
        assert!(matches!(answer(None), Answer::Error(_)));
    }
}

//! JSON-RPC 2.0 at `/api/json-rpc`: five of the endpoints as methods, their input as params.

use super::{
    Answer, Coordinator, Refusal, Registration, Result, Submission, abort, check_json, new_gid,
    prepare, register, submit,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What went wrong: the standard's codes, and the protocol's two.
const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INTERNAL_ERROR: i32 = -32603;
const FAILURE: i32 = -32901;
const ONGOING: i32 = -32902;

/// Carries a request out.
pub(super) async fn handle(coordinator: &Arc<Coordinator>, body: &[u8]) -> Answer {
    if let Err(refusal) = check_json(body) {
        return refusal.into();
    }
    let request = match serde_json::from_slice(body) {
        Ok(Value::Object(request)) => request,
        Ok(_) => return error(&Value::Null, INVALID_REQUEST, "an object is expected"),
        Err(why) => return error(&Value::Null, PARSE_ERROR, &why.to_string()),
    };
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or("");
    let id = request.get("id").unwrap_or(&Value::Null);
    if text("jsonrpc") != "2.0" || text("id").is_empty() {
        let wanted = "jsonrpc: 2.0, and an id that is a string and not empty";
        return error(id, INVALID_REQUEST, wanted);
    }
    match call(coordinator, text("method"), request.get("params")).await {
        Ok(result) => {
            let result = result.unwrap_or_else(|| json!({ "dtm_result": "SUCCESS" }));
            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            Answer::json(200, &answer)
        }
        Err(Refusal::Unknown) => error(id, METHOD_NOT_FOUND, "there is no such method"),
        Err(Refusal::Bad(why)) => error(id, INVALID_PARAMS, &why),
        Err(Refusal::Failure(why)) => error(id, FAILURE, &why),
        Err(Refusal::Ongoing(why)) => error(id, ONGOING, &why),
        Err(Refusal::Missing(gid)) => error(id, INTERNAL_ERROR, &format!("no transaction {gid}")),
        Err(Refusal::Stopping) => error(id, INTERNAL_ERROR, "the server is stopping"),
        Err(Refusal::Outage(why) | Refusal::Other(why)) => error(id, INTERNAL_ERROR, &why),
    }
}

fn error(id: &Value, code: i32, message: &str) -> Answer {
    let error = json!({ "code": code, "message": message });
    Answer::json(200, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
}

async fn call(
    coordinator: &Arc<Coordinator>,
    method: &str,
    params: Option<&Value>,
) -> Result<Option<Value>> {
    let none = Map::new();
    // Only methods that have some look at them.
    let params = || match params {
        None | Some(Value::Null) => Ok(&none),
        Some(Value::Object(params)) => Ok(params),
        Some(_) => Err(Refusal::Bad("params: an object is expected".into())),
    };
    match method {
        "newGid" => {
            let gid = new_gid(coordinator);
            Ok(Some(json!({ "dtm_result": "SUCCESS", "gid": gid })))
        }
        "prepare" => prepare(coordinator, Submission::parse(params()?)?)
            .await
            .map(|()| None),
        "submit" => submit(coordinator, Submission::parse(params()?)?).await,
        "abort" => abort(coordinator, Submission::parse(params()?)?).await,
        "registerBranch" => register(coordinator, Registration::parse(params()?)?)
            .await
            .map(|()| None),
        _ => Err(Refusal::Unknown),
    }
}

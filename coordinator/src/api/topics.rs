//! Topics: who wants the messages that are sent to a name.

use super::{Coordinator, Refusal, Request, Result, steps::short};
use crate::{
    store::{Named, Topic},
    when::time,
};
use serde_json::{Value, json};
use std::sync::Arc;

const TOPIC_BYTES_MAX: usize = 128;
const URL_BYTES_MAX: usize = 512;
const REMARK_BYTES_MAX: usize = 1_024;

/// The subscriber that a request is about.
pub(super) fn subscriber(request: &Request) -> Topic {
    let text = |name: &str| request.query.get(name).cloned().unwrap_or_default();
    Topic {
        topic: text("topic"),
        url: text("url"),
        remark: text("remark"),
    }
}

fn complete(subscriber: &Topic) -> Result {
    if subscriber.topic.is_empty() {
        return Err(Refusal::Other("empty topic".into()));
    }
    if subscriber.url.is_empty() {
        return Err(Refusal::Other("empty url".into()));
    }
    short("topic", &subscriber.topic, TOPIC_BYTES_MAX)?;
    short("url", &subscriber.url, URL_BYTES_MAX)?;
    short("remark", &subscriber.remark, REMARK_BYTES_MAX)
}

/// subscribe
pub(crate) async fn subscribe(coordinator: &Arc<Coordinator>, subscriber: Topic) -> Result {
    complete(&subscriber)?;
    let url = &subscriber.url;
    coordinator.caller.check(url).map_err(Refusal::Bad)?;
    let now = coordinator.now();
    match coordinator.store.subscribe(subscriber, now).await? {
        true => Ok(()),
        false => Err(Refusal::Other("this url exists".into())),
    }
}

/// unsubscribe
pub(crate) async fn unsubscribe(coordinator: &Arc<Coordinator>, subscriber: Topic) -> Result {
    complete(&subscriber)?;
    let Topic { topic, url, .. } = subscriber;
    if coordinator.store.topic(topic.clone()).await?.is_none() {
        return Err(Refusal::Other("no such a topic".into()));
    }
    if coordinator.store.subscribers(&topic).await?.is_empty() {
        return Err(Refusal::Other("this topic is empty".into()));
    }
    let now = coordinator.now();
    match coordinator.store.unsubscribe(topic, url, now).await? {
        true => Ok(()),
        false => Err(Refusal::Other("no such an url ".into())),
    }
}

/// DELETE topic/…
pub(crate) async fn delete_topic(coordinator: &Arc<Coordinator>, topic: &str) -> Result {
    match coordinator.store.delete_topic(topic.to_owned()).await? {
        true => Ok(()),
        false => Err(Refusal::Other("storage: NotFound".into())),
    }
}

/// scanKV: topics as the protocol's only category of keys and values, a page of them.
pub(super) async fn scan(coordinator: &Arc<Coordinator>, request: &Request) -> Result<Value> {
    let limit = request.limit()?;
    let after = request.query.get("position").cloned().unwrap_or_default();
    let found = match is_about_topics(request) {
        true => coordinator.store.topics(after, limit).await?,
        false => Vec::new(),
    };
    let next = match found.last() {
        Some(last) if found.len() as u64 == limit => last.name.clone(),
        _ => String::new(),
    };
    let shown = shown(coordinator, found).await?;
    Ok(json!({ "kv": shown, "next_position": next }))
}

/// queryKV: one topic.
pub(super) async fn query(coordinator: &Arc<Coordinator>, request: &Request) -> Result<Value> {
    let key = request.query.get("key").cloned().unwrap_or_default();
    let found = match is_about_topics(request) {
        true => coordinator.store.topic(key).await?,
        false => None,
    };
    let shown = shown(coordinator, found.into_iter().collect()).await?;
    Ok(json!({ "kv": shown }))
}

fn is_about_topics(request: &Request) -> bool {
    request.query.get("cat").is_some_and(|cat| cat == "topics")
}

async fn shown(coordinator: &Arc<Coordinator>, found: Vec<Named>) -> Result<Vec<Value>> {
    let mut shown = Vec::with_capacity(found.len());
    for topic in found {
        let subscribers = coordinator.store.subscribers(&topic.name).await?;
        let subscriber = |s: Topic| json!({ "url": s.url, "remark": s.remark });
        let list: Vec<Value> = subscribers.into_iter().map(subscriber).collect();
        shown.push(json!({
            "id": 0,
            "create_time": time(topic.created),
            "update_time": time(topic.updated),
            "cat": "topics",
            "k": topic.name,
            "v": Value::from(list).to_string(),
            "version": topic.version,
        }));
    }
    Ok(shown)
}

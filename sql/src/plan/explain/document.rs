//! A document whose members stay in the order in which they were put there.

use serde::{Serialize, Serializer};
use serde_json::Value as Json;

/// The members of an object.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(&'static str, Node)>);

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Node {
    Plain(Json),
    Object(Members),
    Objects(Vec<Members>),
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, node)| (name, node)))
    }
}

impl Members {
    /// Only this one.
    pub fn of(name: &'static str, object: Members) -> Members {
        let mut members = Members::default();
        members.put_object(name, object);
        members
    }

    /// Adds a value, or a list of values.
    pub fn put(&mut self, name: &'static str, value: impl Into<Json>) {
        self.0.push((name, Node::Plain(value.into())));
    }

    /// Adds a list of names, if there are any.
    pub fn put_names(&mut self, name: &'static str, names: &[impl AsRef<str>]) {
        if !names.is_empty() {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            self.put(name, names);
        }
    }

    /// Adds an object.
    pub fn put_object(&mut self, name: &'static str, object: Members) {
        self.0.push((name, Node::Object(object)));
    }

    /// Adds a list of objects.
    pub fn put_objects(&mut self, name: &'static str, objects: Vec<Members>) {
        self.0.push((name, Node::Objects(objects)));
    }

    /// Adds those of another object.
    pub fn append(&mut self, mut others: Members) {
        self.0.append(&mut others.0);
    }
}

//! The messages and the service of the package `dtmgimp`, and their description.
//!
//! One declaration makes both the Rust types and the descriptors that reflection shows, so no
//! protocol compiler is needed to build the server.

use prost::Message;
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, MessageOptions,
    MethodDescriptorProto, ServiceDescriptorProto,
    field_descriptor_proto::{Label, Type},
};
use std::collections::HashMap;

/// The service's full name.
pub const SERVICE: &str = "dtmgimp.Dtm";
/// The file that describes it.
pub const FILE: &str = "dtmgimp.proto";
/// The file that describes `google.protobuf.Empty`.
pub const EMPTY_FILE: &str = "google/protobuf/empty.proto";

/// How a field of a Rust type is described.
trait Described {
    const TYPE: Type;
    const LABEL: Label = Label::Optional;
    /// The message's name, for those that are one.
    const MESSAGE: &'static str = "";
}

impl Described for String {
    const TYPE: Type = Type::String;
}
impl Described for bool {
    const TYPE: Type = Type::Bool;
}
impl Described for i64 {
    const TYPE: Type = Type::Int64;
}
impl Described for Vec<u8> {
    const TYPE: Type = Type::Bytes;
}
impl Described for Vec<Vec<u8>> {
    const TYPE: Type = Type::Bytes;
    const LABEL: Label = Label::Repeated;
}
/// A map is a repeated message, which is described inside its own.
impl Described for HashMap<String, String> {
    const TYPE: Type = Type::Message;
    const LABEL: Label = Label::Repeated;
}

macro_rules! messages {
    ($($(#[doc = $doc:literal])+ $message:ident {
        $($name:ident = $tag:tt, $field:ident: $type:ty, [$($kind:tt)+];)*
    })*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, PartialEq, Message)]
            pub struct $message {
                $(#[prost($($kind)+, tag = $tag)]
                #[doc = stringify!($name)]
                pub $field: $type,)*
            }
            impl Described for Option<$message> {
                const TYPE: Type = Type::Message;
                const MESSAGE: &'static str = stringify!($message);
            }
            impl Described for Vec<$message> {
                const TYPE: Type = Type::Message;
                const LABEL: Label = Label::Repeated;
                const MESSAGE: &'static str = stringify!($message);
            }
        )*
        fn descriptors() -> Vec<DescriptorProto> {
            vec![$({
                let mut message = DescriptorProto {
                    name: Some(stringify!($message).to_owned()),
                    ..DescriptorProto::default()
                };
                $(describe::<$type>(&mut message, stringify!($name), $tag);)*
                message
            }),*]
        }
    };
}

messages! {
    /// Options of a global transaction.
    DtmTransOptions {
        WaitResult = 1, wait_result: bool, [bool];
        TimeoutToFail = 2, timeout_to_fail: i64, [int64];
        RetryInterval = 3, retry_interval: i64, [int64];
        BranchHeaders = 5, branch_headers: HashMap<String, String>, [map = "string, string"];
        RequestTimeout = 6, request_timeout: i64, [int64];
        RetryLimit = 7, retry_limit: i64, [int64];
    }
    /// A global transaction.
    DtmRequest {
        Gid = 1, gid: String, [string];
        TransType = 2, trans_type: String, [string];
        TransOptions = 3, trans_options: Option<DtmTransOptions>, [message, optional];
        CustomedData = 4, customed_data: String, [string];
        BinPayloads = 5, bin_payloads: Vec<Vec<u8>>, [bytes = "vec", repeated];
        QueryPrepared = 6, query_prepared: String, [string];
        Steps = 7, steps: String, [string];
        ReqExtra = 8, req_extra: HashMap<String, String>, [map = "string, string"];
        RollbackReason = 9, rollback_reason: String, [string];
    }
    /// A new name.
    DtmGidReply {
        Gid = 1, gid: String, [string];
    }
    /// A branch of a TCC, XA or workflow.
    DtmBranchRequest {
        Gid = 1, gid: String, [string];
        TransType = 2, trans_type: String, [string];
        BranchID = 3, branch_id: String, [string];
        Op = 4, op: String, [string];
        Data = 5, data: HashMap<String, String>, [map = "string, string"];
        BusiPayload = 6, busi_payload: Vec<u8>, [bytes = "vec"];
    }
    /// How far a workflow is.
    DtmProgressesReply {
        Transaction = 1, transaction: Option<DtmTransaction>, [message, optional];
        Progresses = 2, progresses: Vec<DtmProgress>, [message, repeated];
    }
    /// A workflow. Its clients decode `Result` from base64 themselves: it is a text.
    DtmTransaction {
        Gid = 1, gid: String, [string];
        Status = 2, status: String, [string];
        RollbackReason = 3, rollback_reason: String, [string];
        Result = 4, result: String, [string];
    }
    /// One step of a workflow that has ended.
    DtmProgress {
        Status = 1, status: String, [string];
        BinData = 2, bin_data: Vec<u8>, [bytes = "vec"];
        BranchID = 3, branch_id: String, [string];
        Op = 4, op: String, [string];
    }
    /// A subscriber of a topic.
    DtmTopicRequest {
        Topic = 1, topic: String, [string];
        URL = 2, url: String, [string];
        Remark = 3, remark: String, [string];
    }
}

/// What a workflow's client is called with: `workflow.WorkflowData`.
#[derive(Clone, PartialEq, Message)]
pub struct WorkflowData {
    /// What its workflow was begun with.
    #[prost(bytes = "vec", tag = 1)]
    pub data: Vec<u8>,
}

/// Each method with its input and output; an empty name stands for `google.protobuf.Empty`.
const METHODS: [(&str, &str, &str); 9] = [
    ("NewGid", "", "DtmGidReply"),
    ("Submit", "DtmRequest", ""),
    ("Prepare", "DtmRequest", ""),
    ("Abort", "DtmRequest", ""),
    ("RegisterBranch", "DtmBranchRequest", ""),
    ("PrepareWorkflow", "DtmRequest", "DtmProgressesReply"),
    ("Subscribe", "DtmTopicRequest", ""),
    ("Unsubscribe", "DtmTopicRequest", ""),
    ("DeleteTopic", "DtmTopicRequest", ""),
];

fn describe<T: Described>(message: &mut DescriptorProto, name: &str, number: i32) {
    let owner = message.name.clone().unwrap_or_default();
    let type_name = match (T::TYPE, T::MESSAGE) {
        (Type::Message, "") => {
            message.nested_type.push(map_entry(name));
            Some(format!(".dtmgimp.{owner}.{name}Entry"))
        }
        (Type::Message, other) => Some(format!(".dtmgimp.{other}")),
        _ => None,
    };
    message
        .field
        .push(field(name, number, T::TYPE, T::LABEL, type_name));
}

fn field(
    name: &str,
    number: i32,
    kind: Type,
    label: Label,
    type_name: Option<String>,
) -> FieldDescriptorProto {
    FieldDescriptorProto {
        name: Some(name.to_owned()),
        number: Some(number),
        label: Some(label.into()),
        r#type: Some(kind.into()),
        type_name,
        json_name: Some(name.to_owned()),
        ..FieldDescriptorProto::default()
    }
}

/// The message that an entry of the map `name` is.
fn map_entry(name: &str) -> DescriptorProto {
    let text = |name, number| field(name, number, Type::String, Label::Optional, None);
    DescriptorProto {
        name: Some(format!("{name}Entry")),
        field: vec![text("key", 1), text("value", 2)],
        options: Some(MessageOptions {
            map_entry: Some(true),
            ..MessageOptions::default()
        }),
        ..DescriptorProto::default()
    }
}

/// The description of a file, encoded; `None`: there is no such file.
#[must_use]
pub fn file(name: &str) -> Option<Vec<u8>> {
    let described = match name {
        FILE => FileDescriptorProto {
            package: Some("dtmgimp".into()),
            dependency: vec![EMPTY_FILE.into()],
            message_type: descriptors(),
            service: vec![service()],
            ..FileDescriptorProto::default()
        },
        EMPTY_FILE => FileDescriptorProto {
            package: Some("google.protobuf".into()),
            message_type: vec![DescriptorProto {
                name: Some("Empty".into()),
                ..DescriptorProto::default()
            }],
            ..FileDescriptorProto::default()
        },
        _ => return None,
    };
    let described = FileDescriptorProto {
        name: Some(name.to_owned()),
        syntax: Some("proto3".into()),
        ..described
    };
    Some(described.encode_to_vec())
}

/// The file that describes a service, a method or a message.
#[must_use]
pub fn file_of(symbol: &str) -> Option<&'static str> {
    if symbol == "google.protobuf.Empty" {
        return Some(EMPTY_FILE);
    }
    let method = symbol
        .strip_prefix(SERVICE)
        .and_then(|rest| rest.strip_prefix('.'));
    let is_method = method.is_some_and(|name| METHODS.iter().any(|method| method.0 == name));
    let message = symbol.strip_prefix("dtmgimp.");
    let is_message = message.is_some_and(|name| {
        let all = descriptors();
        all.iter()
            .any(|message| message.name.as_deref() == Some(name))
    });
    (symbol == SERVICE || is_method || is_message).then_some(FILE)
}

fn service() -> ServiceDescriptorProto {
    let type_name = |name: &str| {
        Some(match name {
            "" => ".google.protobuf.Empty".to_owned(),
            name => format!(".dtmgimp.{name}"),
        })
    };
    let method = |(name, input, output): (&str, &str, &str)| MethodDescriptorProto {
        name: Some(name.to_owned()),
        input_type: type_name(input),
        output_type: type_name(output),
        ..MethodDescriptorProto::default()
    };
    ServiceDescriptorProto {
        name: Some("Dtm".into()),
        method: METHODS.map(method).into(),
        ..ServiceDescriptorProto::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_found_in_their_files() {
        for (symbol, wanted) in [
            ("dtmgimp.Dtm", Some(FILE)),
            ("dtmgimp.Dtm.Submit", Some(FILE)),
            ("dtmgimp.DtmProgress", Some(FILE)),
            ("google.protobuf.Empty", Some(EMPTY_FILE)),
            ("dtmgimp.Dtm.Nothing", None),
            ("dtmgimp.", None),
            ("", None),
        ] {
            assert_eq!(file_of(symbol), wanted, "{symbol}");
        }
    }

    #[test]
    fn every_type_that_is_named_is_described() {
        let described = FileDescriptorProto::decode(&*file(FILE).unwrap()).unwrap();
        let known = |name: &str| name == ".google.protobuf.Empty" || file_of(&name[1..]).is_some();
        for method in &described.service[0].method {
            assert!(known(method.input_type()) && known(method.output_type()));
        }
        for message in &described.message_type {
            for field in &message.field {
                let entry = message.nested_type.iter().any(|nested| {
                    field.type_name() == format!(".dtmgimp.{}.{}", message.name(), nested.name())
                });
                let name = field.type_name();
                assert!(name.is_empty() || entry || known(name), "{name}");
            }
        }
    }
}

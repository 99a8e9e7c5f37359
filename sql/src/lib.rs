//! SQL on the engine: lexer and parser, planner, executor, and the session that holds the state
//! of a client's transaction.

mod account_limits;
mod advice;
mod catalog;
mod collations;
mod command;
mod compression;
mod data_type;
mod ddl;
mod defaults;
mod digest;
mod error;
pub mod error_log;
pub mod error_names;
mod exec;
mod expr;
mod expr_text;
mod files;
mod foreign_key_text;
mod hint;
mod histogram;
mod interrupt;
mod json;
pub mod lexer;
mod networks;
mod output;
mod parse;
pub mod password;
mod password_history;
mod password_policy;
mod plan;
pub mod privileges;
mod replication;
pub mod rights;
mod room;
mod row_expr;
mod search;
mod selected;
pub mod session;
mod show;
mod state;
pub mod statements;
pub mod status;
pub mod text;
mod user_locks;
pub mod users;
pub mod variables;
mod warnings;

pub use compression::{Algorithm, Allowed, Compression};
pub use error::SqlError;
pub use networks::{Network, Proxies};
pub use output::{ColumnMeta, Done, Output};
pub use replication::{FilterEntry, FilterRule, ReplicationFilter, Until, source_file_number};
pub use session::Session;
pub use state::{
    Attributes, Certificate, Encryption, Group, Instance, Pool, Queued, ReplicaStatus, Replication,
    Tls, Transit, WaitClass,
};
pub use warnings::Warnings;

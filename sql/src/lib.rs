//! SQL on the engine: lexer and parser, planner, executor, and the session that holds the state
//! of a client's transaction.

pub mod advice;
pub mod catalog;
mod collations;
pub mod command;
pub mod ddl;
mod defaults;
pub mod error;
pub mod exec;
pub mod expr;
mod interrupt;
pub mod lexer;
pub mod output;
pub mod parse;
pub mod password;
pub mod plan;
mod room;
pub mod session;
pub mod show;
pub mod state;
pub mod status;
pub mod temporary;
pub mod text;
pub mod user_locks;
pub mod users;
pub mod variables;
pub mod warnings;

pub use error::SqlError;
pub use output::{ColumnMeta, Done, Output};
pub use session::Session;
pub use state::Instance;
pub use warnings::Warnings;

//! The coordinator of global transactions, without network, tables, clock and chance: what to do
//! next about a transaction, and doing it.
//!
//! All that is not here comes through one trait, [`Outside`]: the coordinator implements it with
//! services over HTTP and gRPC and with tables in a database; the model in `sim/` implements it
//! with services and tables that fail in every way, so what is tried there is this code.
//!
//! | file | what is inside |
//! |---|---|
//! | `model` | global transactions and branches |
//! | `decide` | what to do next: pure, one function for each pattern |
//! | `outside` | what driving needs of the world around it |
//! | `drive` | does what `decide` says |
//! | `clients` | what clients ask for: prepare, submit, abort |
//! | `operators` | what operators do by hand |
//! | `lease` | that nothing is driven twice at once |
//! | `peers` | other coordinators on the same tables |
//! | `plan` | the branches that a submission says all about |
//! | `tables` | the tables in memory, for models |

pub mod clients;
pub mod decide;
pub mod drive;
pub mod lease;
pub mod model;
pub mod operators;
pub mod outside;
pub mod peers;
pub mod plan;
pub mod tables;

pub use outside::Outside;

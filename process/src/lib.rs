//! The process that the server runs in: its log for operators, its limits, and its threads;
//! and whose process it ends with.

pub mod companion;
pub mod limits;
pub mod notice;
pub mod service;

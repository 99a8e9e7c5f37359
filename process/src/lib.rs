//! The process that the server runs in: its log for operators, its limits, and its threads.

pub mod limits;
pub mod notice;
pub mod service;

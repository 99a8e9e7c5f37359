//! The server: `cohort serve`.

mod listener;
mod mysql;
mod notice;
mod slots;

fn main() {}

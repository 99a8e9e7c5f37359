//! Long texts that many clients insert, each in a transaction of its own.

use super::corpus::Words;
use crate::lab::server::Server;
use std::{thread, time::Instant};

/// Words of a text.
const OF_TEXT: usize = 200;

/// Inserts in a second.
pub fn measure(server: &mut Server, clients: usize, each: u32) -> Result<f64, String> {
    let name = server.name.clone();
    let failed = |error: &dyn std::fmt::Display| format!("{name}: inserting texts: {error}");
    for statement in [
        "DROP TABLE IF EXISTS lab_texts",
        "CREATE TABLE lab_texts (id INT AUTO_INCREMENT PRIMARY KEY, body TEXT, FULLTEXT KEY (body))",
    ] {
        super::query(server.control(), statement).map_err(|error| failed(&error))?;
    }
    let mut ready = Vec::with_capacity(clients);
    for client in 0..clients {
        let control = server.endpoint.connect().map_err(|error| failed(&error))?;
        let mut words = Words::new(client as u64 + 1);
        let statements: Vec<String> = (0..each)
            .map(|_| {
                let mut statement = "INSERT INTO lab_texts (body) VALUES ('".to_owned();
                for _ in 0..OF_TEXT {
                    words.push(&mut statement);
                    statement.push(' ');
                }
                statement + "')"
            })
            .collect();
        ready.push((control, statements));
    }
    let begun = Instant::now();
    let done: Result<(), String> = thread::scope(|scope| {
        let work = |(mut control, statements): (_, Vec<String>)| {
            scope.spawn(move || {
                let mut all = statements.iter();
                all.try_for_each(|statement| super::query(&mut control, statement).map(drop))
            })
        };
        let threads: Vec<_> = ready.into_iter().map(work).collect();
        threads
            .into_iter()
            .try_for_each(|thread| match thread.join() {
                Ok(result) => result,
                Err(_) => Err("a client panicked".into()),
            })
    });
    done.map_err(|error| failed(&error))?;
    let inserted = clients as f64 * f64::from(each);
    Ok(inserted / begun.elapsed().as_secs_f64())
}

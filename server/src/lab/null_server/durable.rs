//! OK only when a record is durable: what one log with one fsync for each group of commits leaves
//! for a database that otherwise costs nothing.
//!
//! The log is Cohort's own (`engine::log`), and replies leave as Cohort's do: the thread that
//! placed a record reads its client's next command, and the log's sends the replies of a group.

use cohort_engine::{
    env::Env,
    log::{Batch, InOrder, Known, Log, Options, Replayed},
};
use std::{
    io::{self, Write},
    net::{Shutdown, TcpStream},
    path::Path,
    sync::Arc,
};

/// Bytes of a record: the two row images of sysbench's UPDATE.
const RECORD: [u8; 380] = [b'r'; 380];

/// The log.
pub struct Commits(Log);

impl Commits {
    /// Opens the log in `directory`, which is made if need be; what is there already stays.
    pub fn open(directory: &Path) -> io::Result<Commits> {
        std::fs::create_dir_all(directory)?;
        let options = Options::new("9.7.0-null", [7; 16]);
        let mut replay = InOrder(|_: &Replayed<'_>| ());
        Log::open(
            &Env::real(),
            directory,
            options,
            Known::default(),
            &mut replay,
            &mut |_| (),
        )
        .map(Commits)
        .map_err(|error| io::Error::other(error.0))
    }

    /// Sends `reply` when a record is durable; hangs up if the log has failed.
    pub fn reply(&self, stream: &Arc<TcpStream>, reply: &Arc<[u8]>) -> io::Result<()> {
        let mut batch = Batch::new("sbtest", 1);
        batch.internal(b"null", Some(&RECORD));
        let (ticket, ()) = self.0.commit(batch, |_| ()).map_err(io::Error::other)?;
        let (stream, reply) = (Arc::clone(stream), Arc::clone(reply));
        self.0.when_known(ticket, move |result, _| {
            if result.is_err() || (&*stream).write_all(&reply).is_err() {
                // The client has gone, or is told by this that it cannot be served.
                let _ = stream.shutdown(Shutdown::Both);
            }
        });
        Ok(())
    }
}

//! A whole SQL server for the tests of other crates.

use crate::{config::Settings, connections::Connections, database::Database, serve};
use cohort_engine::txn::Engine;
use std::{net::TcpListener, path::Path, sync::Arc};

/// It serves for as long as this lives.
pub struct Server {
    _connections: Arc<Connections<Database>>,
}

/// Serves the MySQL protocol on a listener, with the settings that a server has without any.
///
/// # Errors
///
/// The database or the threads cannot be had.
pub fn serve(engine: &Arc<Engine>, listener: TcpListener) -> Result<Server, String> {
    const CONNECTIONS_MAX: usize = 100;
    let database = serve::database(&Settings::default(), engine, Path::new("/data"))?;
    let connections = serve::connections(database, Arc::default(), CONNECTIONS_MAX)?;
    let started = connections.accept_tcp(listener);
    started.map_err(|error| error.to_string())?;
    Ok(Server {
        _connections: connections,
    })
}

//! Where temporary files are: in the directory `tmp` of the data directory.

use cohort_engine::txn::Engine;
use std::path::PathBuf;

/// The directory.
#[must_use]
pub fn directory(engine: &Engine) -> PathBuf {
    engine.dir().join("tmp")
}

/// Removes what a crash has left; at a start.
pub fn clear(engine: &Engine) {
    let (env, directory) = (engine.env(), directory(engine));
    // There may be none, and a file that cannot be removed does no harm but for its space.
    for name in env.list(&directory).unwrap_or_default() {
        let _ = env.remove(&directory.join(name));
    }
}

//! A port that answers `GET /metrics`, and nothing else. It lets in whom the coordinator's port does.

use super::{
    api::Answer,
    exposition::Exposition,
    http::{refusal, response, serve_requests},
    listen::{self, Visitor},
};
use cohort_process::service;
use hyper::{Method, body::Incoming};
use std::{net::TcpListener, sync::Arc, thread::JoinHandle, time::Duration};
use tokio::{runtime::Builder, sync::oneshot};

/// Connections at once: a few programs ask, now and then.
const CONNECTIONS_MAX: usize = 64;
/// How long answers that have begun may take at the end.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// The running port. Dropping it ends it.
pub struct MetricsPort {
    /// Dropped, it ends the thread.
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the values come of.
type Tell = dyn Fn(&mut Exposition) + Send + Sync;

impl MetricsPort {
    /// Answers with what `tell` writes. `token` is what clients must present; without one, only clients
    /// of this machine are answered, and no web pages.
    ///
    /// # Errors
    ///
    /// Why it cannot listen.
    pub fn start(
        listener: TcpListener,
        token: Option<String>,
        tell: Arc<Tell>,
    ) -> Result<MetricsPort, String> {
        let failed = |error: std::io::Error| format!("the port for metrics: {error}");
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            listen::listen(listener).map_err(failed)?
        };
        let token: Option<Arc<str>> = token.map(Arc::from);
        let port = ("metrics", CONNECTIONS_MAX);
        runtime.spawn(listen::accept(
            listener,
            None,
            port,
            move |connection, visitor| {
                let (token, tell) = (token.clone(), Arc::clone(&tell));
                serve_requests(connection, move |request| {
                    let answer = answer(token.as_deref(), &request, &visitor, &*tell);
                    std::future::ready(response(answer))
                })
            },
        ));
        let (end, ended) = oneshot::channel::<()>();
        let work = move || {
            // An error is the sender's end, which is what is waited for.
            let _ = runtime.block_on(ended);
            runtime.shutdown_timeout(SHUTDOWN);
        };
        let thread = service::start("metrics", "and nobody gets metrics", work);
        Ok(MetricsPort {
            end: Some(end),
            thread: Some(thread.map_err(failed)?),
        })
    }
}

impl Drop for MetricsPort {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been printed where it happened.
            let _ = thread.join();
        }
    }
}

fn answer(
    token: Option<&str>,
    request: &hyper::Request<Incoming>,
    visitor: &Visitor,
    tell: &Tell,
) -> Answer {
    if let Some(refusal) = refusal(token, request.headers()) {
        return refusal;
    }
    visitor.is_welcome();
    if request.uri().path() != "/metrics" {
        return Answer::error(404, "there is only /metrics");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Answer::error(405, "GET is expected");
    }
    let mut metrics = Exposition::default();
    tell(&mut metrics);
    metrics.into()
}

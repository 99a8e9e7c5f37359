//! What driving needs, as it is: the tables, the services, the machine's clock.

use super::{
    Coordinator,
    call::{Call, TIME_MAX, shortened},
    decide::{Moment, Question, Transaction},
    extras,
    lease::Leases,
    model::{CopyOnWrite, Global, Micros, Reply, Status, Timing},
    store::{Operated, is_locked, is_outage},
};
use cohort_coordinator_core::outside::{
    Attempt, By, Called, Callee, Claimed, News, Outside, Saved,
};
use cohort_process::{Notice, notice};
use cohort_sql::SqlError;
use futures_util::{FutureExt, future::BoxFuture};
use std::{panic::AssertUnwindSafe, sync::atomic::Ordering, time::Duration};

impl Outside for Coordinator {
    type Error = SqlError;
    type Record = Operated;

    fn refusal(error: &SqlError) -> Option<String> {
        (!is_outage(error)).then(|| format!("the store refuses it: {}", shortened(&error.message)))
    }
    fn leases(&self) -> &Leases {
        &self.leases
    }
    fn moment(&self) -> Moment {
        Moment {
            now: self.now(),
            random: self.jitter(),
            rules: self.options.rules,
        }
    }
    fn is_halted(&self) -> bool {
        self.is_stopping() || self.is_cut_off()
    }
    fn me(&self) -> u64 {
        self.store.me()
    }
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        tokio::spawn(work);
    }
    async fn sleep(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn by_hand(&self, gid: &str) -> Result<u64, SqlError> {
        self.store.by_hand(gid).await
    }
    async fn load(&self, gid: &str) -> Result<Option<Transaction>, SqlError> {
        self.store.load(gid).await
    }
    async fn insert(&self, transaction: Transaction, is_driven: bool) -> Result<bool, SqlError> {
        self.store.insert(transaction, is_driven).await
    }
    async fn claim(&self, gid: &str) -> Result<Claimed, SqlError> {
        self.store.claim(gid).await
    }
    async fn save(
        &self,
        by: By,
        before: Transaction,
        transaction: Transaction,
        attempts: Vec<Attempt>,
        now: Micros,
    ) -> Result<Saved, SqlError> {
        let store = &self.store;
        store.save(by, before, transaction, attempts, now).await
    }
    async fn hasten(&self, gid: &str, pause: Micros) -> Result<(), SqlError> {
        self.store.hasten(gid, pause, self.now()).await
    }
    async fn operate(
        &self,
        before: Transaction,
        after: Transaction,
        record: Operated,
    ) -> Result<Saved, SqlError> {
        let now = self.now();
        self.store.operate(before, after, record, now).await
    }
    async fn pause(&self, gid: &str, since: Micros, record: Operated) -> Result<Saved, SqlError> {
        self.store.pause(gid, since, record).await
    }
    async fn tell(&self, owner: u64, news: News) -> Result<(), SqlError> {
        self.store.tell(owner, news).await
    }

    fn call(&self, transaction: &Transaction, callee: Callee) -> BoxFuture<'_, Called> {
        let call = match callee {
            Callee::Branch(index) => self.branch_call(transaction, index),
            Callee::Client => self.question(&transaction.global),
        };
        let global = transaction.global.clone();
        // The large future of the call is made where it stays.
        Box::pin(async move {
            let made = AssertUnwindSafe(make(self, global, call)).catch_unwind();
            made.await.unwrap_or_else(|_| {
                // The panic has been printed where it happened.
                let why = "internal error, see the server's log";
                (Reply::Error(why.into()), None)
            })
        })
    }
    fn alert(&self, transaction: &Transaction, whose: Option<usize>, why: String) {
        Coordinator::alert(self, transaction, whose, why);
    }
    fn ended(&self, global: &Global) {
        let is_success = global.status == Status::Succeed;
        let took = self.now().saturating_sub(global.created);
        self.metrics.transaction(global.pattern, is_success, took);
        self.span_of_end(global);
    }
    /// What is refused is one transaction's own trouble. What keeps one from its rows otherwise keeps
    /// others, too: only the first is told.
    fn not_driven(&self, gid: &str, error: SqlError) {
        // Who is locked is in trouble, and nobody else.
        let locked = is_locked(&error).then(|| shortened(&error.message));
        if let Some(why) = Self::refusal(&error).or(locked) {
            let begun = format!("{gid} has to wait");
            if let Some(said) = self.refusals.tell(&begun, &why, self.now()) {
                notice!(Notice::StoreFailed, "{said}");
            }
        } else if !self.in_trouble.swap(true, Ordering::Relaxed) {
            notice!(Notice::StoreFailed, "{gid}: {}", error.message);
        }
    }
}

impl Coordinator {
    /// How long a call for this transaction may take, unless its step says so.
    fn request_timeout(&self, global: &Global) -> Micros {
        let own = global.options.request_timeout;
        // Older versions allowed more.
        own.or(self.options.request_timeout).min(TIME_MAX)
    }

    fn branch_call(&self, transaction: &Transaction, index: usize) -> Call {
        let (global, branch) = (&transaction.global, &transaction.branches[index]);
        let extras = extras::Extras::of(transaction, branch);
        let mut headers = global.options.branch_headers.clone();
        headers.extend(extras.branch_headers);
        let timeout = self.request_timeout(global);
        Call {
            url: branch.url.clone(),
            body: extras::Body::of(transaction, branch),
            post: global.pattern.rules().posts_nothing,
            branch_id: branch.branch_id.clone(),
            op: branch.op.clone(),
            headers,
            timeout: Duration::from_micros(extras.request_timeout.or(timeout).min(TIME_MAX)),
        }
    }

    /// The question to the client: `query_prepared`.
    fn question(&self, global: &Global) -> Call {
        let (op, body, post) = match global.pattern.rules().question {
            Question::Run => {
                let (name, data) = super::api::workflow_data(&global.custom_data);
                (name, data, true)
            }
            Question::Commit => ("msg".to_owned(), Vec::new(), false),
        };
        Call {
            url: global.query_prepared.clone(),
            body: extras::Body::Made(body),
            post,
            branch_id: "00".to_owned(),
            op,
            headers: global.options.branch_headers.clone(),
            timeout: Duration::from_micros(self.request_timeout(global)),
        }
    }
}

/// Makes a call.
async fn make(coordinator: &Coordinator, global: CopyOnWrite<Global>, mut call: Call) -> Called {
    let clock = &coordinator.env;
    let span = coordinator.begin_span(&global, &mut call);
    let now = || (coordinator.now(), clock.monotonic_nanos());
    let (mut started, mut begun) = now();
    let begin = || (started, begun) = now();
    let reply = match coordinator.caller.call(&global, &call, begin).await {
        Reply::Error(why) => Reply::Error(shortened(&why)),
        Reply::Unsent => return (Reply::Unsent, None),
        reply => reply,
    };
    let took = clock.monotonic_nanos().saturating_sub(begun) / 1000;
    let is_success = matches!(reply, Reply::Success(_));
    coordinator
        .metrics
        .branch(global.pattern, &call.op, is_success);
    coordinator.end_span(span, (&global, &call), (started, took), &reply);
    let attempt = record(call, started, took, &reply);
    (reply, Some(attempt))
}

fn record(call: Call, started: Micros, duration_us: u64, reply: &Reply) -> Attempt {
    let (result, error) = match reply {
        Reply::Success(_) => ("success", ""),
        Reply::Failure(why) => ("failure", why.as_str()),
        Reply::Ongoing => ("ongoing", ""),
        Reply::Error(why) => ("error", why.as_str()),
        // Nothing to be recorded.
        Reply::Unsent => ("", ""),
    };
    Attempt {
        branch_id: call.branch_id,
        op: call.op,
        timing: Timing {
            started,
            duration_us,
        },
        result: result.into(),
        error: shortened(error),
    }
}

//! Transactions of the source, made again here, one after another.

use super::{
    pipe::{Item, Pipe},
    receiver::Who,
    source::{Source, Sources, two_coordinators},
    status::Status,
};
use cohort_engine::{
    log::{
        Origin,
        incoming::{Incoming, Query, What, unpack},
    },
    txn::{Placed, Unattended},
    types::{Gtid, Xid},
};
use cohort_process::{Notice, notice};
use cohort_sql::{Instance, Session, SqlError, Until, session::Identity, source_file_number};
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The connection id of its session: clients' are far below.
pub const SESSION: u64 = 4_100_000_000;
/// How long it waits before it looks whether it is to end.
const TICK: Duration = Duration::from_millis(200);
/// Commits that are not known to be durable, at most.
const PLACED_MAX: usize = 4096;
/// A transaction with more bytes of events is not made again after a deadlock.
const KEPT_MAX: usize = 64 << 20;
/// How often one is made again after a deadlock or a lock that was waited for too long
/// (replica_transaction_retries).
const RETRIES: usize = 10;

/// The applier.
pub struct Applier {
    instance: Arc<Instance>,
    session: Session,
    source: Source,
    sources: Arc<Sources>,
    until: Option<Until>,
    own_id: u32,
    pipe: Arc<Pipe>,
    status: Arc<Status>,
    /// Where in the source's log it is.
    file: String,
    position: u64,
    /// The transaction that is being made.
    transaction: Option<Transaction>,
    /// The newest commit of which is not known yet whether it is durable, and how many there are.
    placed: Option<Placed>,
    placed_count: usize,
    /// XA transactions that were left out and have ended.
    ended: BTreeSet<String>,
}

/// XAER_NOTA. A source that crashed may roll back what it has prepared and not logged.
const UNKNOWN_XID: u16 = 1397;

/// A transaction of the source.
struct Transaction {
    origin: Option<Origin>,
    /// It has begun with BEGIN or XA START: statements are parts of it.
    open: bool,
    /// It is here already, or it is this server's own.
    passed: bool,
    /// Its first event was seen by the session.
    begun: bool,
    /// Its events so far, to make it again; `None`: they are too many.
    kept: Option<Vec<(Vec<u8>, bool)>>,
    bytes: usize,
}

/// Why it ends.
enum End {
    Closed,
    /// It goes no further.
    Reached,
    Failed(SqlError),
}

impl From<SqlError> for End {
    fn from(error: SqlError) -> End {
        End::Failed(error)
    }
}

impl Applier {
    /// One that goes on where the log ends.
    pub fn new(
        instance: &Arc<Instance>,
        (source, sources): (&Source, &Arc<Sources>),
        who: &Who,
        pipe: &Arc<Pipe>,
        status: &Arc<Status>,
    ) -> Applier {
        let identity = Identity {
            user: "system user".into(),
            host: String::new(),
            account: Some(("root".into(), "localhost".into())),
        };
        let waiting = Arc::new(Unattended);
        let mut session = Session::new(Arc::clone(instance), SESSION, identity, waiting, false);
        session.set_internal();
        session.leave_commits();
        session.set_filter(source.filter());
        Applier {
            instance: Arc::clone(instance),
            session,
            source: source.clone(),
            sources: Arc::clone(sources),
            until: None,
            own_id: who.server_id,
            pipe: Arc::clone(pipe),
            status: Arc::clone(status),
            file: String::new(),
            position: 0,
            transaction: None,
            placed: None,
            placed_count: 0,
            ended: BTreeSet::new(),
        }
    }

    /// It goes no further than that.
    pub fn stop_at(&mut self, until: Option<&Until>) {
        self.until = until.cloned();
    }

    /// The thread.
    pub fn run(mut self) {
        let ended = self.apply_all();
        self.session.repeat_rollback();
        // Who stops it ends what it waits for, too: that is no failure.
        if self.pipe.is_closed() {
            return;
        }
        match ended {
            Err(End::Failed(error)) => {
                let text = self.described(&error);
                notice!(Notice::ApplierStopped, "stopped: {text}");
                self.status.applier_ended((error.code, text));
            }
            Err(End::Reached) => {
                notice!(
                    Notice::ReplicaUntil,
                    "stopped where it was to stop (START REPLICA UNTIL)"
                );
                self.status.applier_finished();
            }
            Ok(()) | Err(End::Closed) => return,
        }
        // What else comes would only wait.
        self.pipe.close();
    }

    /// Whether it has come as far as it is to go, before a transaction of this name, if one comes.
    fn has_reached(&self, next: Option<Gtid>) -> bool {
        let executed = || self.instance.engine.log().executed();
        match &self.until {
            None => false,
            Some(Until::BeforeGtids(set)) => next.is_some_and(|gtid| set.contains(gtid)),
            Some(Until::AfterGtids(set)) => executed().contains_all(set),
            Some(Until::Position(file, position)) => {
                let number = source_file_number;
                (number(&self.file), self.position) >= (number(file), *position)
            }
        }
    }

    /// Whether it was beyond where it is to go before it began.
    fn has_passed(&self) -> bool {
        match &self.until {
            Some(Until::BeforeGtids(set)) => self.instance.engine.log().executed().meets(set),
            _ => false,
        }
    }

    fn described(&self, error: &SqlError) -> String {
        let transaction = self.transaction.as_ref();
        let gtid = transaction.and_then(|transaction| transaction.origin);
        let name = gtid.map_or_else(String::new, |origin| format!(" '{}'", origin.gtid));
        let advice = match gtid {
            Some(origin) => format!(
                "; mend it and START REPLICA, or pass it over: SET gtid_next = '{}'; COMMIT; SET \
                 gtid_next = AUTOMATIC",
                origin.gtid
            ),
            None => "; mend it and START REPLICA".to_owned(),
        };
        format!(
            "the transaction{name} before position {} of {} cannot be applied: error {}: {}{advice}",
            self.position, self.file, error.code, error.message
        )
    }

    fn apply_all(&mut self) -> Result<(), End> {
        if self.has_passed() || self.has_reached(None) {
            return Err(End::Reached);
        }
        loop {
            if self.pipe.is_empty() {
                self.secure()?;
                if self.transaction.is_none() {
                    self.status.caught_up((&self.file, self.position));
                }
            }
            let Some(items) = self.pipe.take(TICK) else {
                self.secure()?;
                return Ok(());
            };
            for item in items {
                match item {
                    Item::Event(event, sums) => self.take(event, sums)?,
                    Item::Again => {
                        self.status.applying_anew();
                        self.session.repeat_rollback();
                        self.transaction = None;
                        self.settle()?;
                    }
                }
            }
        }
    }

    /// What was committed is durable here, and perhaps not yet on this server's own replicas. Two that
    /// follow each other, and wait for each other's answers, must not wait for more.
    fn secure(&mut self) -> Result<(), SqlError> {
        self.placed_count = 0;
        if let Some(placed) = &self.placed {
            placed.wait_written()?;
        }
        Ok(())
    }

    /// What was committed is durable and visible.
    fn settle(&mut self) -> Result<(), SqlError> {
        self.placed_count = 0;
        match self.placed.take() {
            Some(placed) => self.session.wait_for(placed),
            None => Ok(()),
        }
    }

    /// Takes an event; what fails for the moment is tried again.
    fn take(&mut self, event: Vec<u8>, sums: bool) -> Result<(), End> {
        let mut result = self.apply(&event, sums);
        if let Some(transaction) = &mut self.transaction {
            transaction.bytes += event.len();
            match &mut transaction.kept {
                Some(kept) if transaction.bytes <= KEPT_MAX => kept.push((event, sums)),
                kept => *kept = None,
            }
        }
        for attempt in 0..RETRIES {
            if !matches!(&result, Err(End::Failed(error)) if is_transient(error)) {
                break;
            }
            let kept = self.transaction.as_mut().and_then(|now| now.kept.take());
            let Some(kept) = kept else { break };
            if self.pipe.pause(Duration::from_millis(20 << attempt.min(6))) {
                return Err(End::Closed);
            }
            self.session.repeat_rollback();
            self.transaction = None;
            self.status.applying_again();
            result = kept
                .iter()
                .try_for_each(|(event, sums)| self.apply(event, *sums));
            if let Some(transaction) = &mut self.transaction {
                transaction.bytes = kept.iter().map(|(event, _)| event.len()).sum();
                transaction.kept = Some(kept);
            }
        }
        result
    }

    /// Applies an event.
    fn apply(&mut self, event: &[u8], sums: bool) -> Result<(), End> {
        let flawed = |flaw| SqlError::internal(format!("{flaw}"));
        let Incoming {
            timestamp,
            server_id,
            end,
            what,
            ..
        } = Incoming::parse(event, sums).map_err(flawed)?;
        if let What::Rotate { file, position } = what {
            (self.file, self.position) = (file, position);
            return Ok(());
        }
        // A transaction begins where its first event does.
        let is_first = matches!(
            what,
            What::Gtid(_) | What::Anonymous | What::MariaGtid { .. }
        );
        if end > 0 && !is_first {
            self.position = u64::from(end);
        }
        match what {
            What::Gtid(origin) => self.begin(Some(origin), false, (timestamp, server_id))?,
            What::Anonymous => self.begin(None, false, (timestamp, server_id))?,
            What::MariaGtid {
                prepares: Some(xid),
                ..
            } => {
                self.begin(None, false, (timestamp, server_id))?;
                self.now_open();
                if !self.passes() {
                    self.enter()?;
                    self.session.repeat_command(&format!("XA START {xid}"))?;
                }
            }
            What::MariaGtid { standalone, .. } => {
                self.begin(None, !standalone, (timestamp, server_id))?;
            }
            What::Payload(body) => {
                let events = unpack(body).map_err(flawed)?;
                let mut rest = events.as_slice();
                while !rest.is_empty() {
                    let (event, behind) = Incoming::split_first(rest).map_err(flawed)?;
                    rest = behind;
                    let inner = Incoming::parse(event, false).map_err(flawed)?;
                    self.part(inner.what, inner.timestamp)?;
                }
            }
            what => self.part(what, timestamp)?,
        }
        if end > 0 {
            self.position = u64::from(end);
        }
        Ok(())
    }

    /// A transaction begins.
    fn begin(
        &mut self,
        origin: Option<Origin>,
        open: bool,
        (timestamp, server_id): (u32, u32),
    ) -> Result<(), End> {
        if self.transaction.is_some() {
            return Err(SqlError::internal("a transaction begins in another one").into());
        }
        if origin.is_none() && self.source.auto_position {
            // It would come again with each connection.
            return Err(refused("anonymous transactions with SOURCE_AUTO_POSITION = 1").into());
        }
        if self.has_reached(origin.map(|origin| origin.gtid)) {
            self.settle()?;
            return Err(End::Reached);
        }
        self.status.applying(timestamp, origin);
        self.delay(timestamp)?;
        // What goes round in a circle is this server's own.
        let passed = origin.is_none() && server_id == self.own_id;
        self.transaction = Some(Transaction {
            origin,
            open,
            passed,
            begun: false,
            kept: Some(Vec::new()),
            bytes: 0,
        });
        if open && !passed {
            self.enter()?;
            self.session.repeat_begin(None)?;
        }
        Ok(())
    }

    /// SOURCE_DELAY: waits until the transaction is old enough.
    fn delay(&mut self, timestamp: u32) -> Result<(), End> {
        let delay = self.source.delay_seconds;
        if delay == 0 {
            return Ok(());
        }
        let due = Duration::from_secs(u64::from(timestamp) + delay);
        loop {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let left = due.saturating_sub(now.unwrap_or(due));
            if left.is_zero() {
                self.status.delayed(None);
                return Ok(());
            }
            self.secure()?;
            self.status.delayed(Some(left.as_secs()));
            if self.pipe.pause(left.min(Duration::from_secs(1))) {
                return Err(End::Closed);
            }
        }
    }

    /// Tells the session of the transaction, when its first statement comes: only then it is known
    /// where it ends.
    fn enter(&mut self) -> Result<(), SqlError> {
        let Some(transaction) = self.transaction.as_mut().filter(|now| !now.begun) else {
            return Ok(());
        };
        transaction.begun = true;
        if !transaction.passed {
            transaction.passed = self.session.repeat(transaction.origin)?;
        }
        Ok(())
    }

    /// A part of a transaction.
    fn part(&mut self, what: What<'_>, timestamp: u32) -> Result<(), End> {
        let is_part = matches!(
            what,
            What::Query(_) | What::TableMap(_) | What::Rows(_) | What::Xid | What::XaPrepare { .. }
        );
        if is_part && self.transaction.is_none() {
            // Servers before GTIDs have nothing before BEGIN.
            self.begin(None, false, (timestamp, 0))?;
        }
        if is_part {
            self.enter()?;
        }
        let passed = self.passes();
        match what {
            What::Query(query) => self.statement(&query, timestamp, passed)?,
            What::TableMap(map) if !passed => {
                if self.session.map_table(map) {
                    self.take_coordination()?;
                }
            }
            What::Rows(rows) if !passed => self.session.apply_rows(&rows)?,
            What::TableMap(_) | What::Rows(_) => {}
            What::Xid => {
                self.keep_position();
                self.commit(passed)?;
            }
            What::XaPrepare { xid, one_phase } => {
                if !passed {
                    let phase = if one_phase { "COMMIT" } else { "PREPARE" };
                    let one = if one_phase { " ONE PHASE" } else { "" };
                    let text = format!("XA {phase} {xid}{one}");
                    self.keep_position();
                    self.session.repeat_command(&text)?;
                    self.note_prepared(&xid)?;
                }
                self.commit(passed)?;
            }
            What::Unknown(name) => {
                return Err(refused(&format!("events of the kind {name}")).into());
            }
            What::Tagged => return Err(refused("tagged GTIDs").into()),
            What::Format { .. }
            | What::Heartbeat
            | What::Stop
            | What::Nothing
            | What::Rotate { .. } => {}
            What::Gtid(_) | What::Anonymous | What::MariaGtid { .. } | What::Payload(_) => {
                return Err(SqlError::internal("a transaction in a compressed one").into());
            }
        }
        Ok(())
    }

    fn statement(&mut self, query: &Query<'_>, timestamp: u32, passed: bool) -> Result<(), End> {
        let open = self.transaction.as_ref().is_some_and(|now| now.open);
        let begins_xa = query.text.starts_with(b"XA START");
        match query.text {
            b"BEGIN" => {
                self.now_open();
                if !passed {
                    self.session.repeat_begin(Some(query))?;
                }
                return Ok(());
            }
            b"COMMIT" if open => {
                self.keep_position();
                return self.commit(passed);
            }
            b"ROLLBACK" if open => {
                self.session.repeat_rollback();
                self.enter_again()?;
                self.keep_position();
                return self.commit(passed);
            }
            _ => {}
        }
        if query.error != 0 && !passed {
            return Err(SqlError::unknown_error(format!(
                "the statement has failed at the source with error {}, and may have done a part \
                 of its work there",
                query.error
            ))
            .into());
        }
        if open || begins_xa {
            self.now_open();
            if !passed {
                self.session.repeat_statement(query, timestamp)?;
            }
            return Ok(());
        }
        if !passed {
            self.keep_position();
            match self.session.repeat_statement(query, timestamp) {
                Ok(()) => {}
                // Its GTID is to be here all the same.
                Err(error) if error.code == UNKNOWN_XID && self.may_be_unknown(query.text) => {
                    self.enter_again()?;
                    self.keep_position();
                }
                Err(error) => return Err(error.into()),
            }
            self.note_ended(query.text);
        }
        self.commit(passed)
    }

    /// Rows of the source's coordinator come. Whatever coordinates here would drive them, too.
    fn take_coordination(&self) -> Result<(), SqlError> {
        match self.instance.coordinates() {
            true => Err(two_coordinators()),
            false => self.sources.note_coordinated(),
        }
    }

    /// Notes an XA transaction that was prepared and has changed nothing, for the filter left it all
    /// out: after a restart it is not known here when it ends.
    fn note_prepared(&mut self, xid: &Xid) -> Result<(), SqlError> {
        if self.source.filter().is_empty() {
            return Ok(());
        }
        let prepared = self.instance.engine.prepared();
        let mut prepared = prepared.iter();
        if prepared.any(|one| one.xid == *xid && one.row_events == 0) {
            self.secure()?;
            let ended = std::mem::take(&mut self.ended);
            self.sources.note_left_out(xid, &ended)?;
        }
        Ok(())
    }

    /// An XA transaction has ended by this statement, if it is such.
    fn note_ended(&mut self, text: &[u8]) {
        if let Some(xid) = ended_xid(text)
            && self.sources.is_left_out(xid)
        {
            self.ended.insert(xid.to_owned());
        }
    }

    /// Whether an XA transaction that this statement ends need not be here: the source has rolled
    /// it back, or all that it did was left out.
    fn may_be_unknown(&self, text: &[u8]) -> bool {
        let is_left_out = |xid| self.sources.is_left_out(xid);
        text.starts_with(b"XA ROLLBACK") || ended_xid(text).is_some_and(is_left_out)
    }

    /// Whether the transaction is passed over.
    fn passes(&self) -> bool {
        self.transaction.as_ref().is_some_and(|now| now.passed)
    }

    fn now_open(&mut self) {
        if let Some(transaction) = &mut self.transaction {
            transaction.open = true;
        }
    }

    /// The transaction goes on as one that has changed nothing.
    fn enter_again(&mut self) -> Result<(), SqlError> {
        if let Some(transaction) = &mut self.transaction {
            transaction.begun = false;
        }
        self.enter()
    }

    /// What is committed next brings the source's position with it, where GTIDs do not say it.
    fn keep_position(&self) {
        if !self.source.auto_position {
            let position = self.source.kept_position(&self.file, self.position);
            self.session.keep_position(position.into());
        }
    }

    /// The transaction is over.
    fn commit(&mut self, passed: bool) -> Result<(), End> {
        if !passed {
            self.session.repeat_commit()?;
            if let Some(placed) = self.session.take_placed() {
                self.placed = Some(placed);
                self.placed_count += 1;
            }
        }
        self.transaction = None;
        self.status.applied((&self.file, self.position));
        if self.until.is_some() {
            self.settle()?;
        } else if self.placed_count >= PLACED_MAX {
            self.secure()?;
        }
        match self.has_reached(None) {
            true => Err(End::Reached),
            false => Ok(()),
        }
    }
}

/// The XA transaction that a statement of the log ends.
fn ended_xid(text: &[u8]) -> Option<&str> {
    let text = str::from_utf8(text).ok()?;
    let xid = text.strip_prefix("XA COMMIT ");
    xid.or_else(|| text.strip_prefix("XA ROLLBACK "))
}

fn refused(what: &str) -> SqlError {
    SqlError::not_supported(what)
}

/// Whether it may work when it is tried again.
fn is_transient(error: &SqlError) -> bool {
    /// A deadlock, and locks that were waited for too long.
    const TRANSIENT: [u16; 3] = [1205, 1213, 1412];
    TRANSIENT.contains(&error.code)
}

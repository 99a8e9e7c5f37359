//! A client on its way in: its login goes on as its packets come, the answer may be held back for
//! wrong passwords before, and then its session begins. Nothing here waits.

use super::{
    Backend, Commands, Connection, DEFAULT, Dialect, End, Entering, Handler, Next, Phase, Progress,
    Prompt, ReadError,
    login::{Granted, Login},
};
use crate::{Arrival, constants::capability};
use cohort_scheduler::Tickets;
use cohort_sql::statements::Who;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// The session of a client that is in; none as long as it is not.
type Entered<S> = Result<Option<Box<Commands<S>>>, End>;

impl<B: Backend> Connection<B> {
    /// Goes on with a login, and with the commands behind it if it is done.
    pub(super) fn go_on_entering(
        &mut self,
        mut entering: Box<Entering<B::Session>>,
        step: impl FnOnce(&mut Self, &mut Entering<B::Session>) -> Entered<B::Session>,
    ) -> Next {
        match step(self, &mut entering) {
            Ok(None) => self.phase = Phase::Login(entering),
            Ok(Some(commands)) => {
                let begins = commands.begins;
                self.phase = Phase::Commands(commands);
                if begins || self.has_begun_ahead() {
                    return Next::Again;
                }
            }
            Err(end) => {
                let why = match &end {
                    End::Error(error) => error.message.as_str(),
                    _ => "the client has gone",
                };
                self.give_up(&entering, why);
                return self.end(end);
            }
        }
        self.rest()
    }

    /// Goes on with a login as far as the client has sent its packets.
    pub(super) fn log_in(&mut self, entering: &mut Entering<B::Session>) -> Entered<B::Session> {
        loop {
            match self.receive_login(entering.login.packet_max()) {
                Ok(()) => {}
                Err(ReadError::Pending) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
            self.wire.writer.sequence = self.wire.reader.sequence;
            let progress = self.login_step(&mut entering.login)?;
            match self.proceed(entering, progress)? {
                Some(commands) => return Ok(Some(commands)),
                None if entering.delayed.is_some() => return Ok(None),
                None => {}
            }
        }
    }

    /// Receives the next packet of a login.
    fn receive_login(&mut self, max: usize) -> Result<(), ReadError> {
        if self.may_be_proxied {
            self.take_proxy_header()?;
            self.may_be_proxied = false;
        }
        self.wire.reader.next(&mut Prompt(&self.stream), max)
    }

    /// Does what a step of a login asks for.
    fn proceed(
        &mut self,
        entering: &mut Entering<B::Session>,
        progress: Progress,
    ) -> Entered<B::Session> {
        let wait = match &progress {
            Progress::More => {
                self.send_promptly()?;
                return Ok(None);
            }
            Progress::Wait(wait) | Progress::Done(wait, _) => *wait,
        };
        // Who had to wait was not counted among the clients: whether there is room is looked at when
        // it is served next.
        let is_back = !entering.login.has_waited().is_zero() && progress.is_success();
        if wait.is_zero() && !is_back {
            return self.answer_login(entering, progress);
        }
        entering.delayed = Some((Instant::now() + wait, progress));
        Ok(None)
    }

    /// Goes on with what was held back.
    pub(super) fn after_delay(
        &mut self,
        entering: &mut Entering<B::Session>,
        progress: Progress,
    ) -> Entered<B::Session> {
        let Progress::Wait(_) = progress else {
            return self.answer_login(entering, progress);
        };
        let progress = self.check_proof(&mut entering.login)?;
        let entered = self.proceed(entering, progress)?;
        match entered.is_none() && entering.delayed.is_none() {
            // The client may have gone on meanwhile.
            true => self.log_in(entering),
            false => Ok(entered),
        }
    }

    /// Tells the client how its login has ended.
    fn answer_login(
        &mut self,
        entering: &mut Entering<B::Session>,
        progress: Progress,
    ) -> Entered<B::Session> {
        let Progress::Done(_, judged) = progress else {
            return Ok(None);
        };
        let granted = judged.map_err(End::Error)?;
        let user = granted.who.user.clone();
        let entered = match entering.before.take() {
            Some((commands, dialect)) => self.become_another(granted, commands, dialect),
            None => self.enter(granted),
        };
        let backend = &self.shared.backend;
        match &entered {
            Ok(_) => backend.note_arrival(&user, &self.peer, None),
            Err(End::Error(error)) => backend.note_arrival(&user, &self.peer, Some((error, ""))),
            Err(_) => backend.note_abort(),
        }
        entered.map(Some)
    }

    /// What the general log says of a login.
    fn line_of(&self, user: &str, database: &str) -> String {
        let (host, means) = (self.peer.host(), self.means());
        Who::plain(&format!("{user}@{host} on {database} using {means}"))
    }

    /// Over what the client comes, as the general log calls it.
    fn means(&self) -> &'static str {
        match (self.peer.address, self.stream.is_encrypted()) {
            (None, _) => "Socket",
            (Some(_), true) => "SSL/TLS",
            (Some(_), false) => "TCP/IP",
        }
    }

    /// Begins the session, in the database that came with the login, and says that all is well; but
    /// if statements are to be run before, that is left to where others are.
    fn enter(&mut self, granted: Granted) -> Result<Box<Commands<B::Session>>, End> {
        let Granted { who, request } = granted;
        let arrival = Arrival {
            id: self.id,
            who,
            found_rows: request.capabilities & capability::FOUND_ROWS != 0,
            local_files: request.capabilities & capability::LOCAL_FILES != 0,
            interactive: request.capabilities & capability::INTERACTIVE != 0,
            admin: self.admin,
            collation: request.collation.unwrap_or(DEFAULT),
            encryption: self.stream.encryption(),
            compression: self.compression,
        };
        let user = arrival.who.user.clone();
        let mut session = self.shared.backend.open(arrival).map_err(End::Error)?;
        let line = self.line_of(&user, &request.database);
        session.connected(self.means(), &line).map_err(End::Error)?;
        session.set_attributes(request.attributes);
        use_first(&mut session, &request.database)?;
        let commands = Box::new(Commands {
            owner: session.owner(),
            begins: session.has_first_statements(),
            session,
            tickets: Tickets::default(),
            statements: FxHashMap::default(),
            parameters: Vec::new(),
            kinds: Vec::new(),
            write_timeout: Duration::ZERO,
        });
        if !commands.begins {
            self.ok(&commands.session);
            self.send_promptly()?;
        }
        Ok(commands)
    }

    /// Runs the statements with which a session begins, and says that all is well.
    pub(super) fn begin(&mut self, commands: &mut Commands<B::Session>) -> Result<(), End> {
        commands.begins = false;
        self.take_slot(commands);
        if let Err((told, why)) = commands.session.run_first_statements() {
            let backend = &self.shared.backend;
            backend.note_first_failure(&self.peer, &told, &why);
            return Err(End::Error(told));
        }
        self.ok(&commands.session);
        self.send_promptly()
    }

    /// COM_CHANGE_USER: the client logs in again. Nothing of its session is left, so that it holds
    /// nothing that others wait for.
    pub(super) fn begin_change(
        &mut self,
        mut commands: Box<Commands<B::Session>>,
        (login, progress, dialect): (Login, Progress, Dialect),
    ) -> Next {
        commands.reset(None);
        self.shared.backend.release_slot();
        let entering = Box::new(Entering {
            login,
            delayed: None,
            before: Some((commands, dialect)),
        });
        self.go_on_entering(entering, |connection, entering| {
            let entered = connection.proceed(entering, progress)?;
            match entered.is_none() && entering.delayed.is_none() {
                true => connection.log_in(entering),
                false => Ok(entered),
            }
        })
    }

    /// The session is another user's from now on.
    fn become_another(
        &mut self,
        granted: Granted,
        mut commands: Box<Commands<B::Session>>,
        dialect: Dialect,
    ) -> Result<Box<Commands<B::Session>>, End> {
        self.dialect = dialect;
        let backend = &self.shared.backend;
        backend
            .admit_again(&commands.session, &granted.who)
            .map_err(End::Error)?;
        let user = granted.who.user.clone();
        commands.reset(Some(granted.who));
        let line = self.line_of(&user, &granted.request.database);
        let session = &commands.session;
        session.changed_user(&line).map_err(End::Error)?;
        commands.session.set_attributes(granted.request.attributes);
        use_first(&mut commands.session, &granted.request.database)?;
        self.ok(&commands.session);
        self.send_promptly()?;
        Ok(commands)
    }

    /// Tells the server of a login that has come to nothing, unless it knows. Who goes when it is
    /// asked for the password knows that its proof was not right: it has guessed.
    pub(super) fn give_up(&self, entering: &Entering<B::Session>, why: &str) {
        let (backend, login) = (&self.shared.backend, &entering.login);
        if entering.before.is_some() {
            backend.note_abort();
        }
        if login.is_noted {
            return;
        }
        if login.was_asked {
            let proof = (false, login.has_waited());
            backend.note_proof(login.user(), &self.peer, proof);
        }
        backend.note_interruption(&self.peer, why);
    }
}

fn use_first<S: Handler>(session: &mut S, database: &str) -> Result<(), End> {
    match database.is_empty() {
        true => Ok(()),
        false => session.use_database(database).map_err(End::Error),
    }
}

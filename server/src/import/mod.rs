//! `cohort import`: a way over from a running MySQL, MariaDB or Cohort to a running Cohort.
//!
//! It is a client of both. First it looks what the target would refuse; then it takes one moment of the
//! source, copies that in parallel, and notes in the target which transactions are in it, so that the
//! target can go on as a replica from exactly there.
//!
//! | file | what is inside |
//! |---|---|
//! | `servers`, `settings`, `text` | sessions on both servers, and what they set; names and values in SQL |
//! | `schema` | what the source has |
//! | `look` | what the target refuses of that, by trying |
//! | `accounts`, `rights` | users with their hashes, and what they may |
//! | `grants` | what the account of the source may |
//! | `snapshot` | one moment of the source, for several sessions, and its place in the log |
//! | `prepared`, `identity` | what may not be in that log; which table a name stands for |
//! | `tables` | definitions on the target, and the mark of an import that is not finished |
//! | `ranges`, `rows` | parts of tables, and how they are copied |
//! | `follow` | the target as a replica, and how far it is |
//! | `digest`, `compare` | whether both have the same rows, also while they change |
//! | `definitions` | whether both have the same tables, columns and views |
//! | `stop` | Ctrl-C |

mod accounts;
mod compare;
mod definitions;
mod digest;
mod follow;
mod grants;
mod identity;
mod look;
mod prepared;
mod ranges;
mod rights;
mod rows;
mod schema;
mod servers;
mod settings;
mod snapshot;
mod stop;
mod tables;
pub mod text;

use crate::progress::size;
use accounts::Account;
use cohort_mysql::client::url::decoded;
use cohort_process::progress;
use follow::Followed;
use grants::Grants;
use identity::Identities;
use look::Refused;
use rows::Copied;
use schema::Schema;
use servers::{Flavor, Server, Session};
use snapshot::Snapshot;
use std::time::Instant;
use stop::Stop;

/// The end of the help.
pub const EXAMPLES: &str = "\
A URL is mysql://USER[:PASSWORD]@HOST[:PORT]/[DATABASE[,DATABASE…]][?ssl-mode=…&ssl-ca=…], with %XX
for special characters in names and passwords. Without TLS, a server on another machine that wants
the password itself does not get it, unless get-server-public-key=1 says to trust whoever answers.

The account needs RELOAD, PROCESS, SELECT, SHOW VIEW and REPLICATION CLIENT; to follow REPLICATION
SLAVE, and on MySQL XA_RECOVER_ADMIN; and TRIGGER, EVENT and EXECUTE to see what cannot come over.

Examples:
  cohort import mysql://app:secret@db.example/shop
      what shop has at this moment, into the Cohort at 127.0.0.1:3306
  cohort import mysql://repl:secret@db.example/ --follow
      all databases; the target goes on as a replica, and this ends when it has caught up
  cohort import mysql://repl:secret@db.example/ --compare
      copies nothing; says which rows differ, also while both change
  cohort import mysql://sb@127.0.0.1:3310/shop --to mysql://root@127.0.0.1:3307 --replace";

/// What --compare does not look at.
const NOT_COMPARED: &str =
    "indexes, defaults, constraints, texts of views, triggers, routines, events and accounts";

/// Its command line.
#[derive(clap::Args)]
pub struct Options {
    /// The source: mysql://USER[:PASSWORD]@HOST[:PORT]/[DATABASE[,DATABASE…]]; no database: all
    source: String,
    /// The target, a Cohort that runs
    #[arg(
        long,
        value_name = "URL",
        default_value = "mysql://root@127.0.0.1:3306"
    )]
    to: String,
    /// Make the target a replica of the source from the moment of the copy on, and wait until it has
    /// caught up
    #[arg(long)]
    follow: bool,
    /// Compare tables, columns, views and the rows of both. Alone it copies nothing; with --follow it
    /// comes last
    #[arg(long)]
    compare: bool,
    /// Leave out what the target refuses, after listing it
    #[arg(long)]
    skip_unsupported: bool,
    /// Leave accounts and their rights out
    #[arg(long)]
    no_accounts: bool,
    /// Drop the databases first if the target has them, and end what it follows
    #[arg(long)]
    replace: bool,
    /// Connections to each server that copy or compare at the same time
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
}

/// Does what the command line says.
///
/// # Errors
/// What went wrong, what is at the target now, and how to go on.
pub fn run(options: &Options) -> Result<(), String> {
    let stop = Stop::listen()?;
    let source = Server::find("source", &options.source)?;
    let target = Server::find("target", &options.to)?;
    if target.flavor != Flavor::Cohort {
        return Err(format!(
            "{} is {}, and no Cohort",
            target.name, target.version
        ));
    }
    progress!(
        "{} is {}, {} is {}",
        source.name,
        source.version,
        target.name,
        target.version
    );
    let import = Import {
        options,
        source,
        target,
        stop,
    };
    let copies = options.follow || !options.compare;
    if copies {
        import.copy()?;
    }
    if options.compare {
        import.compare()?;
    }
    Ok(())
}

struct Import<'a> {
    options: &'a Options,
    source: Server,
    target: Server,
    stop: Stop,
}

impl Import<'_> {
    /// A session of the target that writes. What a source's GTIDs stand for gets none here.
    fn prepare(&self, target: &mut Session) -> Result<(), String> {
        match self.options.follow {
            true => target.execute("SET SESSION sql_log_bin = 0"),
            false => Ok(()),
        }
    }

    fn writer(&self) -> Result<Session, String> {
        let mut session = self.target.connect()?;
        self.prepare(&mut session)?;
        Ok(session)
    }

    /// The databases that are to come over.
    fn names(&self, source: &mut Session) -> Result<Vec<String>, String> {
        let all = Schema::databases(source, self.source.flavor)?;
        if self.source.path.is_empty() {
            return Ok(all);
        }
        let mut names = Vec::new();
        for part in self.source.path.split(',') {
            let name = decoded(part)?;
            if !all.contains(&name) {
                return Err(format!("{} has no database {name}", self.source.name));
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn copy(&self) -> Result<(), String> {
        let begun = Instant::now();
        let (mut from, mut to) = (self.source.connect()?, self.writer()?);
        let names = self.names(&mut from)?;
        if names.is_empty() {
            return Err(format!("{} has no databases", self.source.name));
        }
        self.check_target(&mut to, &names)?;
        if self.options.follow {
            let servers = (&self.source, &self.target);
            let is_whole = self.source.path.is_empty();
            let obstacles =
                follow::obstacles(servers, (&mut from, &mut to), &names, is_whole, &self.stop)?;
            if !obstacles.is_empty() {
                return Err(format!(
                    "the target cannot follow:\n  {}",
                    obstacles.join("\n  ")
                ));
            }
        }
        // What may not be read under the lock is told before anything else is done.
        Identities::read(&mut from, self.source.flavor)?;
        let whole = Schema::read(&mut from, &names)?;
        let (wanted, accounts) = self.look(&mut from, &whole)?;
        self.stop.check()?;

        let snapshot = Snapshot::take(
            &self.source,
            self.options.threads.into(),
            &whole,
            self.options.follow,
            &self.stop,
        )?;
        let position = snapshot.position.clone();
        progress!("the snapshot is of {position}");
        if self.options.follow {
            follow::check_executed(&mut from, &mut to, &position)?;
        }
        // From here on the target is changed, and what fails is told with what is there.
        self.begin(&mut to, &names, &wanted)?;
        let result = self.fill((&mut from, &mut to), &wanted, &accounts, snapshot);
        let copied = result.map_err(|error| self.undone(&error, &wanted))?;
        let seconds = begun.elapsed().as_secs_f64();
        progress!(
            "all is there: {} tables, {} rows, {} in {seconds:.1} s ({}/s)",
            wanted.tables.len(),
            copied.rows,
            size(copied.bytes),
            size((copied.bytes as f64 / seconds) as u64)
        );
        if !self.options.follow {
            return Ok(());
        }
        to.execute("START REPLICA")?;
        self.catch_up(
            &mut from,
            &mut to,
            &Followed::at(self.source.flavor, &position),
        )
    }

    /// Refuses a target that has something in the way.
    fn check_target(&self, target: &mut Session, names: &[String]) -> Result<(), String> {
        if let Some(left) = tables::unfinished(target)? {
            if !self.options.replace {
                return Err(format!(
                    "{}: {left}; --replace begins anew",
                    self.target.name
                ));
            }
            // Without the mark they would look whole.
            for other in left.names.iter().filter(|name| !names.contains(name)) {
                if tables::exists(target, other)? {
                    return Err(format!(
                        "{}: {left}; name {other}, too, or say DROP DATABASE there",
                        self.target.name
                    ));
                }
            }
        }
        if self.options.replace {
            return Ok(());
        }
        for name in names {
            if tables::exists(target, name)? {
                return Err(format!(
                    "{} has a database {name} already; --replace drops it first",
                    self.target.name
                ));
            }
        }
        if self.options.follow && follow::follows(target)? {
            return Err(format!(
                "{} follows a source already; --replace ends that (RESET REPLICA ALL)",
                self.target.name
            ));
        }
        Ok(())
    }

    /// Lists what cannot come over; what can, if that is wanted then.
    fn look(&self, source: &mut Session, whole: &Schema) -> Result<(Schema, Vec<Account>), String> {
        let lacking = Grants::read(source)?.lacking(&["SHOW VIEW", "TRIGGER", "EVENT", "EXECUTE"]);
        if !lacking.is_empty() {
            progress!(
                "{}: without the privileges {} not all may be seen there, and what is not seen is not listed",
                self.source.name,
                lacking.join(", ")
            );
        }
        let mut trial = self.target.connect()?;
        trial.execute("SET SESSION sql_log_bin = 0")?;
        accounts::drop_trials(&mut trial)?;
        let mut look = look::look(source, &mut trial, whole)?;
        let mut accounts = Vec::new();
        if !self.options.no_accounts {
            let found = accounts::read(source, self.source.flavor, &mut trial)?;
            let tried = accounts::make(&mut trial, &found.accounts, true)?;
            look.refused.extend(tried);
            look.refused.extend(found.refused);
            accounts = found.accounts;
        }
        drop(trial);
        look.refused.sort();
        for Refused { what, why } in &look.refused {
            println!("cannot come over: {what}: {why}");
        }
        let is_whole =
            look.tables.is_empty() && look.databases.is_empty() && whole.others.is_empty();
        if self.options.follow && !is_whole {
            return Err("a replica needs all tables: --follow cannot leave those out".into());
        }
        if !look.refused.is_empty() && !self.options.skip_unsupported {
            return Err(format!(
                "{} things cannot come over, and nothing was copied; --skip-unsupported leaves them \
                 out, --no-accounts leaves accounts alone",
                look.refused.len()
            ));
        }
        let mut wanted = whole.clone();
        look.leave_out(&mut wanted);
        Ok((wanted, accounts))
    }

    /// Sets the mark, and makes the databases.
    fn begin(&self, target: &mut Session, names: &[String], wanted: &Schema) -> Result<(), String> {
        // Copying waited for the snapshot: somebody may have been here.
        self.check_target(target, names)?;
        // What follows this source would apply to the copy what is in it.
        let is_in_the_way = match self.options.follow {
            true => follow::follows(target)?,
            false => self.options.replace && follow::followed(&self.source, target)?.is_some(),
        };
        if is_in_the_way {
            follow::end(target)?;
            progress!("{} follows no source any more", self.target.name);
        }
        let left = tables::unfinished(target)?;
        let was_marked = left.is_some();
        let is_wanted = |name: &String| wanted.databases.iter().any(|one| one.name == *name);
        for name in left.unwrap_or_default().names {
            // What is left out this time is not whole either.
            if !is_wanted(&name) {
                tables::drop_database(target, &name)?;
            }
        }
        tables::mark(target, &self.source.name, names)?;
        let made = tables::create_databases(target, &wanted.databases, self.options.replace);
        made.or_else(|error| match was_marked {
            // Some of what was not whole may be there yet.
            true => Err(error),
            false => tables::unmark(target).and(Err(error)),
        })
    }

    /// Definitions, rows, accounts; and where to go on as a replica.
    fn fill(
        &self,
        (source, target): (&mut Session, &mut Session),
        wanted: &Schema,
        accounts: &[Account],
        snapshot: Snapshot,
    ) -> Result<Copied, String> {
        let refused = tables::create(target, wanted)?;
        for view in &refused {
            println!("cannot come over: {view}");
        }
        if !refused.is_empty() && !self.options.skip_unsupported {
            return Err(
                "views of several databases are refused; --skip-unsupported leaves them out".into(),
            );
        }
        let prepare = |session: &mut Session| self.prepare(session);
        let (sessions, position) = (snapshot.sessions, snapshot.position);
        let copied = rows::copy(sessions, &self.target, &wanted.tables, &prepare, &self.stop)?;
        self.check_unchanged(source, wanted, &snapshot.identities)?;
        // What else is refused of them was listed before.
        for Refused { what, why } in accounts::make(target, accounts, false)? {
            println!("cannot come over: {what}: {why}");
        }
        if self.options.follow {
            follow::note_executed(target, &position)?;
            follow::set_source(target, &self.source, &position)?;
            let chosen: Vec<_> = wanted
                .databases
                .iter()
                .map(|one| one.name.clone())
                .collect();
            let is_whole = self.source.path.is_empty();
            follow::set_filter(target, (!is_whole).then_some(&*chosen))?;
        }
        tables::unmark(target)?;
        Ok(copied)
    }

    /// Refuses tables that have become others while they were copied.
    fn check_unchanged(
        &self,
        source: &mut Session,
        wanted: &Schema,
        before: &Identities,
    ) -> Result<(), String> {
        let after = Identities::read(source, self.source.flavor)?;
        let mut changed = before.changed(&after, &wanted.tables);
        changed.extend(wanted.changed_tables(source)?);
        changed.sort();
        changed.dedup();
        if changed.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{}: {}: renamed, truncated, altered or dropped while it was copied. Start again when no \
             definitions change there",
            self.source.name,
            changed.join(", ")
        ))
    }

    /// Takes away what an import that failed has made; what to tell.
    fn undone(&self, error: &str, wanted: &Schema) -> String {
        let undo = || {
            let mut target = self.writer()?;
            tables::drop_databases(&mut target, &wanted.databases)?;
            tables::unmark(&mut target)
        };
        match undo() {
            Ok(()) => format!("{error}\nWhat was copied is dropped again: start anew."),
            Err(_) => format!(
                "{error}\nWhat was copied is still at the target, and not whole: the database {} says so. \
                 --replace begins anew.",
                tables::MARK
            ),
        }
    }

    /// Waits until the replica has caught up, and says how to move.
    fn catch_up(
        &self,
        source: &mut Session,
        target: &mut Session,
        followed: &Followed,
    ) -> Result<(), String> {
        let passed = followed.pass(source, target, &self.stop);
        passed.map_err(|error| {
            format!("{error}\nThe copy is whole and at the target; SHOW REPLICA STATUS there says how it goes on.")
        })?;
        progress!("the replica has caught up, and goes on");
        println!(
            "To move: end the applications; run this with --compare; say STOP REPLICA; RESET REPLICA ALL at \
             the target when SHOW REPLICA STATUS there is 0 s behind; let the applications begin there."
        );
        Ok(())
    }

    fn compare(&self) -> Result<(), String> {
        let (mut from, mut to) = (self.source.connect()?, self.target.connect()?);
        if let Some(left) = tables::unfinished(&mut to)? {
            return Err(format!(
                "{}: {left}; --replace begins anew",
                self.target.name
            ));
        }
        let names = self.names(&mut from)?;
        let schema = Schema::read(&mut from, &names)?;
        let begun = Instant::now();
        let threads = self.options.threads.into();
        let servers = (&self.source, &self.target);
        let found = compare::compare(servers, &schema, threads, &self.stop)?;
        for difference in &found.differences {
            println!("{difference}");
        }
        if found.restless > 0 {
            println!("{} rows changed too often to be compared", found.restless);
        }
        let seconds = begun.elapsed().as_secs_f64();
        let what = format!(
            "{} tables with their columns, {} views, {} rows compared in {seconds:.1} s; {NOT_COMPARED} were not",
            schema.tables.len(),
            schema.views.len(),
            found.rows
        );
        match found.differing {
            0 => {
                println!("no difference: {what}");
                Ok(())
            }
            n => Err(format!("{n} differences: {what}")),
        }
    }
}

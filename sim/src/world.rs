//! The running engine, its sessions, and what is known of it.

use crate::{
    access,
    figures::Figures,
    model::{Model, Own, State},
};
use cohort_engine::{
    Seq,
    env::fake::{Disk, Noise},
    log::LogStep,
    txn::{
        Engine, EngineOptions, Isolation, OpenError, Owner, Placed, Step, TableLocks, Txn,
        TxnError, XidClaim,
    },
};
use std::{path::Path, sync::Arc};

/// The data directory.
pub const DIR: &str = "/data";

/// How many sessions there are.
pub const SESSIONS: usize = 4;

/// Small files and small memory, so that all of it turns over often.
pub fn engine_options(seed: u64) -> EngineOptions {
    let mut noise = Noise::new(seed);
    EngineOptions {
        delta_bytes: 4 << 10 << noise.below(4),
        quiet_checkpoint_ms: 200,
        base_cache_bytes: 64 << 10,
        max_binlog_size: 4 << 10 << noise.below(3),
        expire_logs_seconds: 60,
        log_preallocate_bytes: 1 << 10 << noise.below(3),
        sync_binlog: [1, 1, 1, 0, 3][noise.below(5) as usize],
        inline: true,
        ..EngineOptions::default()
    }
}

/// Opens what the disk has.
pub fn open(disk: &Disk, options: &EngineOptions) -> Result<Engine, OpenError> {
    Engine::open(&disk.env(), Path::new(DIR), options.clone(), &mut |_| {})
}

/// Lets go of an engine whose process ends here.
pub fn abandon<T>(disk: &Disk, engine: T) {
    disk.stop();
    drop(engine);
}

/// A transaction under way.
pub struct Live {
    pub txn: Txn,
    pub isolation: Isolation,
    /// What its plain reads see, once one was made.
    pub snapshot: Option<State>,
    pub own: Own,
    /// Its name, if it is to be prepared.
    pub claim: Option<XidClaim>,
}

/// A client.
pub struct Session {
    pub owner: Arc<Owner>,
    pub live: Option<Live>,
    /// Commits that have their place, and were not waited for.
    pub placed: Vec<(Placed, Seq)>,
}

/// All there is while the engine runs.
pub struct World {
    pub disk: Disk,
    pub engine: Engine,
    pub sessions: Vec<Session>,
    /// FLUSH TABLES WITH READ LOCK or LOCK INSTANCE FOR BACKUP of a session of its own.
    pub hold: Option<TableLocks>,
    pub model: Model,
    pub noise: Noise,
    pub figures: Figures,
    /// Something else than a crash was ordered since the engine was opened.
    pub faulty: bool,
    /// How often the disk was to blame.
    pub trouble: u32,
    /// A number for rows that nothing else tells apart.
    pub serial: i64,
    pub verbose: bool,
    /// All states are kept: damage may lead back to an earlier one.
    pub keeps: bool,
}

impl World {
    /// Around an engine that has just been opened.
    pub fn new(disk: Disk, engine: Engine, state: State, noise: Noise, verbose: bool) -> World {
        let sessions = (1..=SESSIONS as u64).map(|number| Session {
            owner: access::owner(number),
            live: None,
            placed: Vec::new(),
        });
        World {
            disk,
            engine,
            sessions: sessions.collect(),
            hold: None,
            model: Model::new(state),
            noise,
            figures: Figures::default(),
            faulty: false,
            trouble: 0,
            serial: 1000,
            verbose,
            keeps: false,
        }
    }
    /// Notes that somebody was told of a commit.
    pub fn tell(&mut self, seq: Seq) {
        self.model.tell(seq, self.engine.log().durable());
    }
    /// Tells what happens, if asked to.
    pub fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("  {}", what());
        }
    }
    /// Whether this error may be: the statement is undone then.
    pub fn tolerate(&mut self, what: &str, error: &TxnError) -> Result<(), String> {
        self.say(|| format!("{what}: {error:?}"));
        self.figures.count("statements refused");
        match error {
            TxnError::Storage(_) | TxnError::Full(_) if self.faulty => {
                self.trouble += 1;
                Ok(())
            }
            TxnError::LockWaitTimeout { .. }
            | TxnError::Deadlock
            | TxnError::Nowait
            | TxnError::ReadLocked
            | TxnError::TableChanged => Ok(()),
            error => Err(format!("{what}: {error:?}")),
        }
    }
    /// One step of anything.
    pub fn step(&mut self) -> Result<(), String> {
        self.figures.count("steps");
        if !self.keeps {
            self.model.forget(self.engine.log().visible());
        }
        let who = self.noise.below(SESSIONS as u64) as usize;
        if self.hold.is_some() && self.noise.one_in(8) {
            self.hold = None;
        }
        if self.noise.one_in(400) {
            return self.bulk();
        }
        if self.model.latest().tables.len() < 2 && self.noise.one_in(3) {
            return self.change_schema();
        }
        match self.noise.below(100) {
            0..46 => self.statement(who),
            46..64 => self.end(who),
            64..72 => self.wait_for_placed(who),
            72..79 => self.change_schema(),
            79..85 => self.end_prepared(),
            85..98 => self.work(),
            _ => self.lock_or_unlock(),
        }
    }
    /// What threads and administrators do.
    fn work(&mut self) -> Result<(), String> {
        let what = self.noise.below(10);
        self.say(|| format!("work {what}"));
        match what {
            0..2 => self.engine.step(Step::Log(LogStep::Write)),
            2..5 => self.engine.step(Step::Log(LogStep::Keep)),
            5 => self.engine.step(Step::Checkpoint),
            6 => {
                self.figures.count("checkpoints asked for");
                if let Err(error) = self.engine.checkpoint() {
                    self.tolerate("checkpoint", &error)?;
                }
            }
            7 => {
                self.figures.count("rotations");
                if let Err(error) = self.engine.log().rotate() {
                    self.tolerate("rotate", &error.into())?;
                }
            }
            8 => {
                let files = self.engine.log().files();
                let file = files.get(self.noise.below(files.len() as u64) as usize);
                let name = file.map(cohort_engine::log::FileInfo::name);
                if let Err(error) = self.engine.log().purge_to(&name.unwrap_or_default()) {
                    self.tolerate("purge", &error.into())?;
                }
            }
            _ => self.disk.advance(30_000_000),
        }
        Ok(())
    }
    /// Takes or gives back a lock of all tables, or of all definitions.
    fn lock_or_unlock(&mut self) -> Result<(), String> {
        if self.hold.take().is_some() {
            return Ok(());
        }
        let owner = access::owner(60);
        let locks = if self.noise.one_in(2) {
            let locks = self.engine.lock_all_tables(&owner, "FLUSH TABLES", 0);
            if locks.is_ok() {
                // Everything that is committed is visible now.
                self.tell(self.model.latest().seq);
            }
            locks
        } else {
            self.engine.lock_definitions(&owner, "LOCK INSTANCE", 0)
        };
        match locks {
            Ok(locks) => {
                self.figures.count("server locks");
                self.hold = Some(locks);
                Ok(())
            }
            Err(error) => self.tolerate("server lock", &error),
        }
    }
    /// Ends the process without a word to the disk.
    pub fn kill(self) -> Disk {
        let copy = self.disk.copy();
        let World {
            disk,
            engine,
            sessions,
            hold,
            ..
        } = self;
        abandon(&disk, (sessions, hold, engine));
        copy
    }
}

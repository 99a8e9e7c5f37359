//! A history: lives of an engine, one after another, on one disk; and beside them, at many of the
//! disk's calls, the question what would be left if it ended there.

use crate::{
    access::Failure,
    check::{self, Probe},
    figures::Figures,
    model::{Model, State},
    options::Kinds,
    world::{self, World},
};
use cohort_engine::{
    Seq,
    env::fake::{Damage, Disk, Noise},
    txn::{self, Engine, EngineOptions},
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

/// Lives of one history.
const LIVES: u64 = 4;
/// Steps of one life, at most.
const STEPS: u64 = 160;
/// A life with so much trouble from the disk ends.
const TROUBLE: u32 = 20;
/// Between two crash points are so many calls of the disk, on average.
const SPACING: u64 = 6;
/// How often a recovery is cut short.
const DEPTH: u32 = 3;

/// One history.
pub struct History {
    kinds: Kinds,
    options: EngineOptions,
    noise: Noise,
    verbose: bool,
    pub figures: Figures,
    /// A hash of all calls of all disks.
    pub trace: u64,
}

/// How a machine stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    Crash,
    Power,
    Tear,
}

/// A place in a history from which an engine must recover.
struct Point<'m> {
    model: &'m Model,
    /// What was promised there, if the machine loses its power.
    known: Seq,
    /// What was promised there, if only the process ends.
    acknowledged: Seq,
    /// How many recoveries may still be cut short.
    depth: u32,
}

impl History {
    /// With this seed.
    pub fn new(seed: u64, kinds: Kinds, verbose: bool) -> History {
        History {
            kinds,
            options: world::engine_options(seed),
            noise: Noise::new(seed),
            verbose,
            figures: Figures::default(),
            trace: 0,
        }
    }
    /// Runs it; the error is what is wrong.
    pub fn run(&mut self) -> Result<(), String> {
        self.figures.count("histories");
        let mut disk = Disk::new(self.noise.next_u64());
        let mut model = Model::new(State::default());
        for number in 0..LIVES {
            disk = self.life(number, disk, &mut model)?;
            self.note(&disk);
        }
        Ok(())
    }
    fn note(&mut self, disk: &Disk) {
        self.trace = Noise::new(self.trace ^ disk.trace()).next_u64();
    }
    fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("{}", what());
        }
    }
    /// Opens the engine, works with it, and ends it in some way. `model` is what there may be at
    /// its beginning, and then what there may be at its end.
    fn life(&mut self, number: u64, disk: Disk, model: &mut Model) -> Result<Disk, String> {
        let engine = world::open(&disk, &self.options);
        let engine = engine.map_err(|error| format!("it does not start: {error}"))?;
        let state = check::recovered(&engine, model, model.known);
        let state = state.map_err(|failure| format!("after a start: {}", told(failure)))?;
        self.figures.count("recoveries");
        self.say(|| format!("a life begins at commit {}", state.seq));
        let noise = Noise::new(self.noise.next_u64());
        let mut world = World::new(disk, engine, state, noise, self.verbose);
        let steps = STEPS / 4 + self.noise.below(STEPS);
        world.keeps = self.kinds.flip;
        world.serial = 10_000 * (number as i64 + 1);
        let mut next = 0;
        let mut full = 0;
        for step in 0..steps {
            if self.noise.one_in(2 * STEPS) {
                self.order_failure(&mut world);
            }
            if self.kinds.enospc && full == 0 && self.noise.one_in(2 * STEPS) {
                let capacity = world.disk.used() + self.noise.below(1 << 15) as usize;
                world.disk.set_capacity_for(capacity, 1_000_000);
                world.faulty = true;
                self.figures.count("disk full");
                full = 1 + self.noise.below(30);
            }
            if full > 0 {
                full -= 1;
                if full == 0 {
                    world.disk.set_capacity(usize::MAX);
                }
            }
            if world.disk.operations() >= next {
                next = world.disk.operations() + 1 + self.noise.below(2 * SPACING);
                world.disk.copy_before([next]);
            }
            let (known, acknowledged) = (world.model.known, world.model.acknowledged);
            let stepped = world.step();
            let point = Point {
                model: &world.model,
                known,
                acknowledged,
                depth: DEPTH,
            };
            for copy in world.disk.take_copies() {
                let checked = self.crash_point(&copy, &point);
                checked.map_err(|error| format!("step {step}, a crash point: {error}"))?;
            }
            stepped.map_err(|error| format!("step {step}: {error}"))?;
            if world.trouble > TROUBLE && full == 0 {
                break;
            }
        }
        self.end_life(world, model)
    }
    fn order_failure(&mut self, world: &mut World) {
        if !self.kinds.eio {
            return;
        }
        world.faulty = true;
        let disk = &world.disk;
        if self.noise.one_in(3) {
            self.figures.count("reads that fail");
            let from = disk.reads() + 1 + self.noise.below(10);
            disk.fail_reads(from, 1 + self.noise.below(3), ErrorKind::Other);
            return;
        }
        self.figures.count("writes and syncs that fail");
        if self.noise.one_in(2) {
            disk.lose_on_failed_sync();
        }
        let at = disk.operations() + 1 + self.noise.below(30);
        // Some disks say only when they sync that they are full.
        let kind = if self.noise.one_in(3) {
            ErrorKind::StorageFull
        } else {
            ErrorKind::Other
        };
        disk.fail_at(at, kind);
    }
    /// Ends the engine: it is closed, killed, or its machine loses its power.
    fn end_life(&mut self, world: World, model: &mut Model) -> Result<Disk, String> {
        self.figures.merge(&world.figures);
        let faulty = world.faulty;
        if self.noise.one_in(3) && !faulty {
            self.say(|| "closed".to_owned());
            let World {
                disk,
                engine,
                sessions,
                hold,
                model: last,
                ..
            } = world;
            *model = last;
            // Whoever has not waited is told nothing, but the close writes it.
            drop((sessions, hold));
            let now = disk.operations();
            disk.copy_before([0; 3].map(|_: u8| now + 1 + self.noise.below(40)));
            let closed = engine.close();
            closed.map_err(|error| format!("the close failed: {error:?}"))?;
            let point = Point {
                model,
                known: model.known,
                acknowledged: model.acknowledged,
                depth: DEPTH,
            };
            for copy in disk.take_copies() {
                let checked = self.crash_point(&copy, &point);
                checked.map_err(|error| format!("closing, a crash point: {error}"))?;
            }
            let last = model.latest().seq;
            model.tell(last, last);
            self.figures.count("closes");
            self.compact(&disk, model)?;
            self.note(&disk);
            self.damage(&disk, model, true)?;
            return Ok(disk.copy());
        }
        *model = Model {
            states: world.model.states.clone(),
            known: world.model.known,
            acknowledged: world.model.acknowledged,
            doubtful: world.model.doubtful.clone(),
        };
        self.note(&world.disk);
        let disk = world.kill();
        let stop = self.any_stop();
        if stop == Stop::Crash {
            model.known = model.acknowledged;
        }
        self.say(|| format!("ended by {stop:?}, known {}", model.known));
        let disk = self.stop(&disk, stop);
        self.damage(&disk, model, false)?;
        if self.noise.one_in(8) {
            // What the log has is not durable yet, so there are no crash points here.
            compact(&disk)?;
            self.figures.count("compactions");
        }
        Ok(disk)
    }
    /// Sometimes compacts the base of an engine that was closed, with crash points meanwhile.
    fn compact(&mut self, disk: &Disk, model: &Model) -> Result<(), String> {
        if !self.noise.one_in(3) {
            return Ok(());
        }
        let now = disk.operations();
        disk.copy_before([0; 4].map(|_: u8| now + 1 + self.noise.below(60)));
        compact(disk)?;
        self.figures.count("compactions");
        let point = Point {
            model,
            known: model.known,
            acknowledged: model.known,
            depth: DEPTH,
        };
        for copy in disk.take_copies() {
            let checked = self.crash_point(&copy, &point);
            checked.map_err(|error| format!("compacting, a crash point: {error}"))?;
        }
        Ok(())
    }
    fn any_stop(&mut self) -> Stop {
        let kinds = [
            (self.kinds.crash, Stop::Crash),
            (self.kinds.power, Stop::Power),
            (self.kinds.tear, Stop::Tear),
        ];
        let on: Vec<Stop> = kinds
            .into_iter()
            .filter(|(on, _)| *on)
            .map(|(_, stop)| stop)
            .collect();
        on[self.noise.below(on.len() as u64) as usize]
    }
    fn stop(&mut self, disk: &Disk, stop: Stop) -> Disk {
        let seed = self.noise.next_u64();
        match stop {
            Stop::Crash => disk.copy(),
            Stop::Power => disk.power_loss(seed),
            Stop::Tear => disk.crash(seed),
        }
    }
    /// What is left if it ends here, with the page cache that `disk` has.
    fn crash_point(&mut self, disk: &Disk, point: &Point<'_>) -> Result<(), String> {
        let stop = self.any_stop();
        self.figures.count(match stop {
            Stop::Crash => "crash points: process killed",
            Stop::Power => "crash points: power lost, writes whole or lost",
            Stop::Tear => "crash points: power lost, writes torn",
        });
        self.figures.count("crash points");
        let disk = self.stop(disk, stop);
        let again = point.depth > 0 && self.noise.one_in(5);
        if again {
            let at = [1 + self.noise.below(12), 1 + self.noise.below(40)];
            disk.copy_before(at);
        }
        let engine = world::open(&disk, &self.options);
        let copies = disk.take_copies();
        let engine = engine.map_err(|error| format!("{stop:?}: it does not start: {error}"))?;
        self.figures.count("recoveries");
        let point = Point {
            acknowledged: match stop {
                Stop::Crash => point.acknowledged,
                Stop::Power | Stop::Tear => point.known,
            },
            ..*point
        };
        let checked = self.check(&disk, engine, &point);
        self.note(&disk);
        checked.map_err(|error| format!("{stop:?}: {error}"))?;
        for copy in copies {
            self.figures.count("recoveries cut short");
            let deeper = Point {
                depth: point.depth - 1,
                ..point
            };
            let checked = self.crash_point(&copy, &deeper);
            checked.map_err(|error| format!("{stop:?}, recovery cut short: {error}"))?;
        }
        Ok(())
    }
    /// Checks an engine that was just opened, goes on with it for a while, and ends it.
    fn check(&mut self, disk: &Disk, engine: Engine, point: &Point<'_>) -> Result<(), String> {
        let state = check::recovered(&engine, point.model, point.acknowledged).map_err(told)?;
        let mut noise = Noise::new(self.noise.next_u64());
        let mut probe = Probe {
            engine: &engine,
            model: Model::new(state),
            noise: &mut noise,
        };
        let went_on = probe.new_tables().and_then(|()| probe.prepared());
        let mut model = probe.model;
        went_on.map_err(|failure| format!("going on: {}", told(failure)))?;
        if self.noise.one_in(8) {
            let closed = self.noise.one_in(2);
            let durable = engine.log().durable();
            let after = if closed {
                engine
                    .close()
                    .map_err(|error| format!("the close failed: {error:?}"))?;
                disk.copy()
            } else {
                let after = disk.crash(self.noise.next_u64());
                world::abandon(disk, engine);
                after
            };
            let last = model.latest().seq;
            model.tell(last, if closed { last } else { durable });
            let engine = world::open(&after, &self.options);
            let engine = engine.map_err(|error| format!("the second start: {error}"))?;
            self.figures.count("recoveries");
            let second = check::recovered(&engine, &model, model.known);
            world::abandon(&after, engine);
            second.map_err(|failure| format!("the second start: {}", told(failure)))?;
            return Ok(());
        }
        world::abandon(disk, engine);
        Ok(())
    }
    /// Files are damaged at rest: a start is refused, or what is read is right, or an error.
    fn damage(&mut self, disk: &Disk, model: &Model, closed: bool) -> Result<(), String> {
        if !self.kinds.flip {
            return Ok(());
        }
        for _ in 0..8 {
            let copy = disk.copy();
            let files: Vec<_> = copy
                .files()
                .into_iter()
                .filter(|(_, length)| *length > 0)
                .collect();
            if files.is_empty() {
                return Ok(());
            }
            let (path, length) = &files[self.noise.below(files.len() as u64) as usize];
            let sectors = *length as u64 / 512 + 1;
            let mut sector = || self.noise.below(sectors) as usize;
            let pair = (sector(), sector());
            let damage = match self.noise.below(4) {
                0 | 1 => Damage::Flip {
                    offset: self.noise.below(*length as u64) as usize,
                    bit: self.noise.below(8) as u8,
                },
                2 => Damage::Zero(pair.0),
                _ => Damage::Swap(pair.0, pair.1),
            };
            copy.damage(path, damage);
            self.figures.count("damages at rest");
            let what = format!("{damage:?} of {}", path.display());
            // The last group of a log that was not closed may look like one that was torn.
            let is_last = is_log(path) && path >= &last_group(disk);
            let known = if closed || !is_last { model.known } else { 0 };
            self.damaged(&copy, model, known)
                .map_err(|error| format!("{what}: {error}"))?;
        }
        Ok(())
    }
    fn damaged(&mut self, disk: &Disk, model: &Model, known: Seq) -> Result<(), String> {
        let engine = match world::open(disk, &self.options) {
            Ok(engine) => engine,
            Err(_) => {
                self.figures.count("damages: start refused");
                return Ok(());
            }
        };
        let checked = check::recovered(&engine, model, known);
        world::abandon(disk, engine);
        match checked {
            Ok(_) => self.figures.count("damages: nothing wrong is read"),
            Err(Failure::Told(_)) => self.figures.count("damages: told when read"),
            Err(Failure::Wrong(wrong)) => return Err(wrong),
        }
        Ok(())
    }
}

fn compact(disk: &Disk) -> Result<(), String> {
    let done = txn::compact(&disk.env(), Path::new(world::DIR), &mut |_, _| {});
    done.map(|_| ())
        .map_err(|error| format!("the compaction failed: {error}"))
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::Told(error) => format!("{error:?}"),
        Failure::Wrong(wrong) => wrong,
    }
}

/// Keeps the last panic's text, for the report.
pub fn catch_panics() -> Arc<std::sync::Mutex<String>> {
    let last = Arc::new(std::sync::Mutex::new(String::new()));
    let keep = Arc::clone(&last);
    std::panic::set_hook(Box::new(move |info| {
        if let Ok(mut last) = keep.lock() {
            *last = info.to_string();
        }
    }));
    last
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("binlog.0"))
}

/// The last file of the log that has a group. Behind it there may be one that has none yet, and one that was only
/// prepared.
fn last_group(disk: &Disk) -> PathBuf {
    let has_group = |path: &PathBuf| {
        let contents = disk.contents(path);
        contents.is_some_and(|contents| event_types(&contents).any(|kind| kind == GTID))
    };
    let logs = disk.files().into_iter().map(|(path, _)| path);
    let groups = logs.filter(|path| is_log(path) && has_group(path));
    groups.max().unwrap_or_default()
}

/// The type of a GTID event, which each group begins with.
const GTID: u8 = 33;

/// The types of the events of a file of the log.
fn event_types(file: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = file.get(4..).unwrap_or_default();
    std::iter::from_fn(move || {
        let header = rest.get(..13)?;
        let length = u32::from_le_bytes(header[9..13].try_into().ok()?) as usize;
        rest = rest.get(length.max(19)..)?;
        Some(header[4])
    })
}

//! The command line.

/// What may go wrong in a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// The process is killed: the page cache stays.
    pub crash: bool,
    /// The machine loses its power: what is not synced is kept or lost, write by write.
    pub power: bool,
    /// The same, sector by sector.
    pub tear: bool,
    /// Reads, writes and syncs fail.
    pub eio: bool,
    /// The disk is full for a while.
    pub enospc: bool,
    /// Files are damaged while nobody uses them.
    pub flip: bool,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The first history's seed.
    pub seed: u64,
    /// Histories go on until there were so many crash points.
    pub points: u64,
    /// At most so many histories.
    pub histories: u64,
    /// What goes wrong.
    pub kinds: Kinds,
    /// Every history is run twice, and must do the same on the disk.
    pub twice: bool,
    /// Every statement is printed.
    pub verbose: bool,
    /// Goes on with the next seed after a failure.
    pub keep_going: bool,
}

/// What `--help` prints.
pub const HELP: &str = "\
Runs random histories on the engine over a disk that fails, and checks what is left.

Usage: cohort-sim [OPTIONS]
       cohort-sim coordinator [OPTIONS]   the coordinator's model; its --help says more

  --seed N          the first history's seed (default 1); the next one is N + 1
  --points N        end after so many crash points (default 20000)
  --histories N     end after so many histories
  --faults LIST     of crash, power, tear, eio, enospc, flip (default: all)
  --twice           run each history twice: both must do the same on the disk
  --keep-going      go on with the next seed after a failure
  --verbose         print every step
  --help            print this

Examples:
  cohort-sim --points 1000000                  a long run
  cohort-sim --seed 17 --histories 1 --verbose run one history again
  cohort-sim --faults crash,power --twice      prove that histories repeat themselves
";

impl Kinds {
    /// All of them.
    pub const ALL: Kinds = Kinds {
        crash: true,
        power: true,
        tear: true,
        eio: true,
        enospc: true,
        flip: true,
    };

    /// Reads a list.
    pub fn parse(list: &str) -> Result<Kinds, String> {
        let mut kinds = Kinds::default();
        for name in list.split(',') {
            match name {
                "crash" => kinds.crash = true,
                "power" => kinds.power = true,
                "tear" => kinds.tear = true,
                "eio" => kinds.eio = true,
                "enospc" => kinds.enospc = true,
                "flip" => kinds.flip = true,
                other => return Err(format!("unknown fault '{other}'")),
            }
        }
        if !(kinds.crash || kinds.power || kinds.tear) {
            return Err("one of crash, power, tear must be among the faults".to_owned());
        }
        Ok(kinds)
    }

    /// As `--faults` takes it.
    pub fn list(self) -> String {
        let all = [
            ("crash", self.crash),
            ("power", self.power),
            ("tear", self.tear),
            ("eio", self.eio),
            ("enospc", self.enospc),
            ("flip", self.flip),
        ];
        let names = all.iter().filter(|(_, on)| *on).map(|(name, _)| *name);
        names.collect::<Vec<_>>().join(",")
    }
}

impl Options {
    /// Reads the arguments; `None`: help is wanted.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Option<Options>, String> {
        let mut options = Options {
            seed: 1,
            points: 20_000,
            histories: u64::MAX,
            kinds: Kinds::ALL,
            twice: false,
            verbose: false,
            keep_going: false,
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let mut value = || {
                let value = arguments.next();
                value.ok_or_else(|| format!("{argument} needs a value"))
            };
            let number = |text: String| {
                let number = text.parse::<u64>();
                number.map_err(|_| format!("'{text}' is not a number"))
            };
            match argument.as_str() {
                "--help" | "-h" => return Ok(None),
                "--twice" => options.twice = true,
                "--verbose" => options.verbose = true,
                "--keep-going" => options.keep_going = true,
                "--seed" => options.seed = number(value()?)?,
                "--points" => options.points = number(value()?)?,
                "--histories" => {
                    options.histories = number(value()?)?;
                    options.points = u64::MAX;
                }
                "--faults" => options.kinds = Kinds::parse(&value()?)?,
                other => return Err(format!("unknown option '{other}'; see --help")),
            }
        }
        Ok(Some(options))
    }
}

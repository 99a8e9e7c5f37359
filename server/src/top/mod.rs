//! `cohort top`: the console's first pages in a terminal, of Cohort, and of MySQL and MariaDB as far as they
//! tell.
//!
//! | file | what is inside |
//! |---|---|
//! | `look` | what a server is asked, and what it has answered |
//! | `pages` | the pages, as titles, lines and tables |
//! | `screen` | how they are drawn |

mod look;
mod pages;
mod screen;

use crate::backup::connect::Server;
use look::{Looker, Seen};
use pages::Kind;
use ratatui::crossterm::{
    event::{self, Event, KeyCode, KeyEventKind, KeyModifiers},
    tty::IsTty,
};
use std::{
    collections::VecDeque,
    io::{self, Write},
    time::{Duration, Instant},
};

/// So many looks are kept for the lines.
const KEPT: usize = 600;

/// What `cohort top` is told.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = EXAMPLES)]
pub struct Top {
    #[command(flatten)]
    server: Server,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = interval)]
    interval: f64,
    /// Look twice, print all pages as text, and end
    #[arg(long)]
    once: bool,
}

const EXAMPLES: &str = "\
Keys: 1 to 4, Tab and the arrows choose a page; p stops and goes on; q or Esc ends.

What a server does not tell is said to be so: MySQL and MariaDB know no groups of commits and no times of
transactions, and MariaDB has sums by statement only with performance_schema=ON. Needs PROCESS, and SELECT
on performance_schema and sys.

Examples:
  cohort top
  MYSQL_PWD=secret cohort top --host db --user watcher --ssl-mode REQUIRED
  cohort top --port 3307 --once";

fn interval(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds is wanted")?;
    match (0.1..=3600.0).contains(&seconds) {
        true => Ok(seconds),
        false => Err("from 0.1 to 3600 seconds".into()),
    }
}

/// Shows it until it is ended; what went wrong as text.
pub fn run(top: &Top) -> Result<(), String> {
    let mut looker = Looker::new(top.server.connect()?, top.server.place())?;
    let every = Duration::from_secs_f64(top.interval);
    if top.once || !io::stdout().is_tty() {
        return print(&mut looker, every);
    }
    let mut terminal = ratatui::try_init().map_err(|error| format!("the terminal: {error}"))?;
    let ended = show(&mut terminal, &mut looker, every);
    ratatui::restore();
    ended
}

/// All pages as text.
fn print(looker: &mut Looker, every: Duration) -> Result<(), String> {
    let mut seen = VecDeque::from([looker.look()?]);
    std::thread::sleep(every);
    seen.push_back(looker.look()?);
    let mut out = io::stdout().lock();
    for kind in Kind::ALL {
        let page = pages::page(kind, &seen, &looker.server);
        // Who reads may have seen enough.
        if writeln!(out, "{}", screen::plain(&page)).is_err() {
            break;
        }
    }
    Ok(())
}

/// What is shown, and how.
struct Shown {
    kind: Kind,
    is_paused: bool,
    /// Lines of tables that are passed over.
    scroll: u16,
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    looker: &mut Looker,
    every: Duration,
) -> Result<(), String> {
    let failed = |error: io::Error| format!("the terminal: {error}");
    let mut seen: VecDeque<Seen> = VecDeque::new();
    let mut shown = Shown {
        kind: Kind::Now,
        is_paused: false,
        scroll: 0,
    };
    let mut due = Instant::now();
    loop {
        if Instant::now() >= due {
            if !shown.is_paused {
                if seen.len() >= KEPT {
                    seen.pop_front();
                }
                seen.push_back(looker.look()?);
            }
            due = Instant::now() + every;
        }
        let page = pages::page(shown.kind, &seen, &looker.server);
        let drawn = terminal
            .draw(|frame| screen::draw(frame, &page, shown.kind, (shown.is_paused, shown.scroll)));
        drawn.map_err(failed)?;
        let left = due.saturating_duration_since(Instant::now());
        if event::poll(left).map_err(failed)?
            && let Event::Key(key) = event::read().map_err(failed)?
            && key.kind != KeyEventKind::Release
            && !obey(&mut shown, key.code, key.modifiers)
        {
            return Ok(());
        }
    }
}

/// Does what a key says; false: it is the end.
fn obey(shown: &mut Shown, key: KeyCode, with: KeyModifiers) -> bool {
    match key {
        KeyCode::Char('c') if with.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('p' | ' ') => shown.is_paused = !shown.is_paused,
        KeyCode::Down => shown.scroll = shown.scroll.saturating_add(1),
        KeyCode::Up => shown.scroll = shown.scroll.saturating_sub(1),
        KeyCode::Char(digit @ '1'..='4') => {
            let at = digit as usize - '1' as usize;
            shown.turn_to(at);
        }
        KeyCode::Tab | KeyCode::Right => shown.turn_to(shown.kind as usize + 1),
        KeyCode::BackTab | KeyCode::Left => {
            shown.turn_to(shown.kind as usize + Kind::ALL.len() - 1);
        }
        _ => {}
    }
    true
}

impl Shown {
    fn turn_to(&mut self, at: usize) {
        if let Some(kind) = Kind::ALL.get(at % Kind::ALL.len()) {
            self.kind = *kind;
            self.scroll = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_turn_pages() {
        let mut shown = Shown {
            kind: Kind::Now,
            is_paused: false,
            scroll: 3,
        };
        let none = KeyModifiers::NONE;
        for (key, kind) in [
            (KeyCode::Char('3'), Kind::Sessions),
            (KeyCode::Tab, Kind::Statements),
            (KeyCode::Right, Kind::Now),
            (KeyCode::BackTab, Kind::Statements),
        ] {
            assert!(obey(&mut shown, key, none));
            assert_eq!((shown.kind, shown.scroll), (kind, 0));
        }
        assert!(obey(&mut shown, KeyCode::Char('p'), none) && shown.is_paused);
        assert!(!obey(&mut shown, KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(obey(&mut shown, KeyCode::Char('c'), none));
        assert!(!obey(&mut shown, KeyCode::Char('q'), none));
    }
}

//! `cohort man` and `cohort completions`: the command line, told to `man` and to shells.
//!
//! Both are made of the description that `--help` is made of, so they cannot say anything else.

use clap::Command;
use clap_complete::Shell;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

/// What `cohort man` is told.
#[derive(clap::Args)]
#[command(after_help = PAGES_EXAMPLES)]
pub struct Pages {
    /// Directory for the pages, made if it does not exist; pages that are there are replaced
    directory: PathBuf,
}

#[cfg(test)]
impl Pages {
    /// Pages in this directory.
    pub fn to(directory: &Path) -> Pages {
        Pages {
            directory: directory.to_owned(),
        }
    }
}

const PAGES_EXAMPLES: &str = "\
Writes cohort.1 and a page for each subcommand: cohort-serve.1, cohort-log-undo.1 and so on. The
Debian package has them.

Example:
  cohort man ~/.local/share/man/man1 && man cohort-serve";

/// What `cohort completions` is told.
#[derive(clap::Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

const COMPLETIONS_EXAMPLES: &str = "\
Prints a script that the shell reads at its start; then it completes commands and flags of cohort.
The Debian package has those of bash, zsh and fish.

Examples:
  cohort completions bash > ~/.local/share/bash-completion/completions/cohort
  cohort completions zsh > ~/.zfunc/_cohort        # a directory that is in $fpath
  cohort completions fish > ~/.config/fish/completions/cohort.fish";

/// Writes the manual pages of a program and its subcommands.
pub fn write_pages(program: Command, pages: &Pages) -> Result<(), String> {
    let directory = &pages.directory;
    let mut program = program.disable_help_subcommand(true);
    program.build();
    fs::create_dir_all(directory)
        .and_then(|()| write_page(&program, directory))
        .map_err(|error| format!("{}: {error}", directory.display()))
}

/// Prints the script with which a shell completes a program's command line.
pub fn print_completions(program: Command, completions: &Completions) -> Result<(), String> {
    io::stdout()
        .write_all(&script(program, completions.shell))
        .map_err(|error| format!("the standard output: {error}"))
}

/// The script, in which every command and flag stands.
pub(crate) fn script(mut program: Command, shell: Shell) -> Vec<u8> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, name, &mut script);
    script
}

/// Writes the page of a command, and those of the commands below it.
fn write_page(command: &Command, directory: &Path) -> io::Result<()> {
    let man = Man::new(command.clone())
        .source(concat!("Cohort ", env!("CARGO_PKG_VERSION")))
        .manual("Cohort");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command
        .get_arguments()
        .any(|argument| !argument.is_hide_set())
    {
        man.render_options_section(&mut page)?;
    }
    let below: Vec<_> = visible(command).collect();
    if !below.is_empty() {
        man.render_subcommands_section(&mut page)?;
    }
    notes(command).to_writer(&mut page)?;
    fs::write(directory.join(man.get_filename()), page)?;
    below
        .into_iter()
        .try_for_each(|below| write_page(below, directory))
}

/// The commands below one that people are told of.
fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
}

/// What stands below the flags in `--help`. Its lines stay as they are: there are examples in it.
fn notes(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let notes = command.get_after_long_help().or(command.get_after_help());
    if let Some(notes) = notes {
        roff.control("SH", ["NOTES"]).control("nf", []);
        for line in notes.to_string().lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, ValueEnum};

    fn program() -> Command {
        let hidden = Command::new("secret").hide(true);
        let inner = Command::new("inner").after_help("Example:\n  outer inner\n\n  'quoted'");
        let outer = Command::new("outer").about("Holds another");
        let flag = Arg::new("flag").long("flag").help("A flag");
        let outer = outer.subcommand(inner.arg(flag)).subcommand(hidden);
        Command::new("tool")
            .version("1")
            .about("A tool")
            .subcommand(outer)
    }

    #[test]
    fn a_page_for_each_command_that_is_not_hidden() {
        let directory = std::env::temp_dir().join(format!("cohort-manual-{}", std::process::id()));
        let pages = Pages::to(&directory.join("man1"));
        write_pages(program(), &pages).unwrap();
        let entries = fs::read_dir(&pages.directory).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["tool-outer-inner.1", "tool-outer.1", "tool.1"]);
        let page = fs::read_to_string(pages.directory.join("tool-outer-inner.1")).unwrap();
        assert!(page.contains("\\-\\-flag"), "{page}");
        let notes = ".SH NOTES\n.nf\nExample:\n  outer inner\n\n  \\*(Aqquoted\\*(Aq\n.fi\n";
        assert!(page.ends_with(notes), "{page}");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_script_for_each_shell() {
        for &shell in Shell::value_variants() {
            let script = String::from_utf8(script(program(), shell)).unwrap();
            for word in ["outer", "inner", "flag"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}

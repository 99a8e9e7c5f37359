//! docs/variables.md, which is made of the tables of variables, of their meanings, and of modes.
//!
//! `VARIABLES=write cargo test -p cohort-sql page` writes it.

use super::{Access, Effect, Variable, all, meanings::MEANINGS, sql_mode};
use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

const HEAD: &str = "\
# Variables and modes

<!-- Made of sql/src/variables/table.rs, meanings.rs and sql_mode.rs: VARIABLES=write cargo test -p cohort-sql page -->

What can be set is obeyed, or changes nothing that a client could tell. What is not done is refused:
SET, and a settings file, accept only the value that the variable has. \"MySQL: \" begins what a variable
is for there, and cannot be for here; those that change nothing have no such line.

";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn told(effect: Effect) -> String {
    match effect {
        Effect::Shown(test) => format!("obeyed: {test}"),
        Effect::Read(source) => format!("obeyed by {source}"),
        Effect::Nothing(why) => format!("changes nothing: {why}"),
    }
}

fn meaning(variable: &Variable) -> Option<&'static str> {
    let at = MEANINGS.binary_search_by_key(&variable.name, |(name, _)| name);
    at.ok().map(|at| MEANINGS[at].1)
}

fn page() -> String {
    let mut page = format!("{HEAD}| Variable | Default | What for | |\n|---|---|---|---|\n");
    for variable in all() {
        let told = match variable.access {
            Access::Dynamic(effect) | Access::ComputedDynamic(effect) => told(effect),
            Access::Pinned => "only this value".into(),
            Access::Fixed | Access::Computed => "read only".into(),
        };
        let default = variable.show(&variable.default());
        let default = if default.len() > 40 {
            "…".into()
        } else {
            default
        };
        let what = meaning(&variable).unwrap_or_default();
        let _ = writeln!(page, "| {} | {default} | {what} | {told} |", variable.name);
    }
    page += "\n| Mode of sql_mode | |\n|---|---|\n";
    for (name, effect) in sql_mode::EFFECTS {
        let _ = writeln!(page, "| {name} | {} |", told(effect));
    }
    for name in sql_mode::REFUSED {
        let _ = writeln!(page, "| {name} | refused |");
    }
    page
}

#[test]
fn what_is_said_to_show_or_obey_a_variable_names_it() {
    let settable = all().filter_map(|variable| match variable.access {
        Access::Dynamic(effect) | Access::ComputedDynamic(effect) => Some((variable.name, effect)),
        Access::Pinned | Access::Fixed | Access::Computed => None,
    });
    for (name, effect) in settable.chain(sql_mode::EFFECTS) {
        let (Effect::Shown(file) | Effect::Read(file)) = effect else {
            continue;
        };
        let text = fs::read_to_string(repository().join(file));
        let text = text.unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
        let names = text
            .to_ascii_lowercase()
            .contains(&name.to_ascii_lowercase());
        assert!(names, "{file} says nothing of {name}");
    }
}

#[test]
fn every_variable_that_changes_anything_has_a_meaning() {
    let names: Vec<_> = MEANINGS.iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted(), "meanings.rs is ordered by name");
    let (without, with): (Vec<_>, Vec<_>) = all().partition(|variable| {
        let nothing = |effect| matches!(effect, Effect::Nothing(_));
        matches!(variable.access, Access::Dynamic(e) | Access::ComputedDynamic(e) if nothing(e))
    });
    let missing = with.iter().filter(|variable| meaning(variable).is_none());
    let missing: Vec<_> = missing.map(|variable| variable.name).collect();
    assert!(
        missing.is_empty(),
        "meanings.rs says nothing of {missing:?}"
    );
    let idle: Vec<_> = without.iter().map(|variable| variable.name).collect();
    let needless = |name: &&str| idle.contains(name) || super::find(name).is_err();
    let needless: Vec<_> = names.into_iter().filter(needless).collect();
    assert!(
        needless.is_empty(),
        "meanings.rs needs not say what {needless:?} is for"
    );
}

#[test]
fn the_page_is_up_to_date() {
    let path = repository().join("docs/variables.md");
    if std::env::var("VARIABLES").as_deref() == Ok("write") {
        fs::write(&path, page()).expect("the page is written");
    }
    let written = fs::read_to_string(&path).expect("docs/variables.md");
    assert!(
        written == page(),
        "docs/variables.md is old: VARIABLES=write cargo test -p cohort-sql page"
    );
}

//! The order of modules and files, and the size of files, held by tests.

mod circles;

use circles::Files;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// No file has more lines.
const LINES_MAX: usize = 1_000;

/// The crates, lowest first: a crate knows only those before it.
const CRATES: [&str; 10] = [
    "engine",
    "sql",
    "process",
    "scheduler",
    "mysql",
    "coordinator_core",
    "coordinator",
    "server",
    "sim",
    "fuzz",
];

/// Modules of a crate in layers, lowest first: each imports only from layers below its own, and
/// from itself. Modules of one layer do not know each other.
const LAYERS: [(&str, &[&[&str]]); 4] = [
    (
        "engine",
        &[
            &["env", "invariant"],
            &["types"],
            &["log", "store"],
            &["txn"],
        ],
    ),
    (
        "sql",
        &[
            &["error_names"],
            &[
                "compression",
                "error",
                "networks",
                "output",
                "password",
                "room",
                "status",
            ],
            &["account_limits", "password_history", "privileges", "text"],
            &[
                "collations",
                "interrupt",
                "json",
                "lexer",
                "replication",
                "search",
                "temporary",
                "user_locks",
                "users",
                "warnings",
            ],
            &["command", "error_log", "expr", "rights"],
            &["data_type", "digest", "files", "hint", "histogram"],
            &["parse", "statements"],
            &["variables"],
            &["expr_text", "password_policy"],
            &["row_expr"],
            &["defaults", "foreign_key_text"],
            &["advice", "plan"],
            &["exec", "selected", "state"],
            &["catalog"],
            &["ddl"],
            &["show"],
            &["session"],
        ],
    ),
    (
        "process",
        &[&["companion", "limits", "notice"], &["service"]],
    ),
    (
        "server",
        &[
            &["progress", "refusals"],
            &[
                "connections",
                "database",
                "import",
                "lab",
                "replica",
                "scrub",
                "tls",
            ],
            &["pool"],
            &["config", "manual", "supervisor"],
            &["console", "coordinate", "metrics"],
            &["serve"],
            &["backup", "check", "fuzz", "testing"],
            &["binlog", "compact", "security", "top"],
            &["cli", "packaging", "status_page"],
        ],
    ),
];

/// Modules of the engine whose files import one another in circles: the type that callers see and
/// its parts, which need it. No other files of the engine may do so.
const CIRCULAR: [&str; 2] = ["env::fake", "types::collation"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files below a directory.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a source names after `crate::`, also within braces.
fn imports(source: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for part in source.split("crate::").skip(1) {
        let word = |text: &'_ str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
        if let Some(list) = part.strip_prefix('{') {
            // The first word at each comma of the outermost braces.
            let mut depth = 1;
            let mut start = true;
            for (at, c) in list.char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    ',' if depth == 1 => start = true,
                    c if start && depth == 1 && c.is_alphanumeric() => {
                        let rest = &list[at..];
                        names.push(&rest[..word(rest).unwrap_or(rest.len())]);
                        start = false;
                    }
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
            }
        } else {
            names.push(&part[..word(part).unwrap_or(part.len())]);
        }
    }
    names
}

/// Whether a file holds only tests, which may look at everything.
fn is_test(file: &Path) -> bool {
    let is_test_name = |name: &std::ffi::OsStr| name == "tests" || name == "golden";
    file.components().any(|part| is_test_name(part.as_os_str()))
        || file.file_stem().is_some_and(is_test_name)
}

#[test]
fn imports_are_found() {
    let source = "use crate::{\n    env::Env,\n    txn::{Engine, Waiting},\n    Seq,\n};\n\
                  use crate::log;\nfn f() -> crate::store::View {}";
    assert_eq!(imports(source), ["env", "txn", "Seq", "log", "store"]);
}

#[test]
fn imports_point_downwards() {
    let mut wrong = Vec::new();
    for (name, layers) in LAYERS {
        let layer = |module: &str| layers.iter().position(|layer| layer.contains(&module));
        let source = root().join(name).join("src");
        let mut files = Vec::new();
        sources(&source, &mut files);
        assert!(!files.is_empty());
        for file in files {
            let inner = file.strip_prefix(&source).unwrap();
            if is_test(inner) {
                continue;
            }
            let module = inner.iter().next().unwrap().to_str().unwrap();
            let module = module.strip_suffix(".rs").unwrap_or(module);
            let Some(own) = layer(module) else {
                assert!(module == "lib" || module == "main", "{module} has no layer");
                continue;
            };
            let text = fs::read_to_string(&file).unwrap();
            for imported in imports(&text) {
                let below = layer(imported).is_none_or(|other| other < own);
                if imported != module && !below {
                    wrong.push(format!("{name}: {} imports {imported}", inner.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a module is another one or below it.
fn is_in(module: &str, other: &str) -> bool {
    let below = module.strip_prefix(other);
    below.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

#[test]
fn no_circles() {
    let source = root().join("engine/src");
    let mut paths = Vec::new();
    sources(&source, &mut paths);
    let mut files = Files::default();
    for path in paths {
        let inner = path.strip_prefix(&source).unwrap();
        if is_test(inner) {
            continue;
        }
        let inner = inner.with_extension("");
        let mut module: Vec<&str> = inner.iter().map(|part| part.to_str().unwrap()).collect();
        module.pop_if(|last| matches!(*last, "mod" | "lib"));
        files.add(&module, &fs::read_to_string(&path).unwrap());
    }
    let mut unused = CIRCULAR.to_vec();
    for circle in files.circles() {
        let within = |module: &&&str| circle.iter().all(|file| is_in(file, module));
        let files = circle.join(", ");
        let module = CIRCULAR.iter().find(within);
        let module = module.unwrap_or_else(|| panic!("a circle of {files}"));
        unused.retain(|other| other != module);
    }
    assert!(unused.is_empty(), "no circles any more in {unused:?}");
}

#[test]
fn files_are_short() {
    let mut files = Vec::new();
    for name in CRATES {
        sources(&root().join(name), &mut files);
    }
    for file in files {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines", file.display());
    }
}

/// The paths in backquotes of a page: `sql/src/room.rs`, `engine/log`.
fn paths(page: &str) -> impl Iterator<Item = &str> {
    page.split('`').skip(1).step_by(2).filter(|text| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "/_.-".contains(c);
        let first = text.split('/').next().unwrap_or_default();
        let is_known = CRATES.contains(&first) || FOLDERS.contains(&first);
        text.contains('/') && text.chars().all(is_path) && is_known
    })
}

/// The other folders that paths in the documents begin with.
const FOLDERS: [&str; 5] = ["applications", "differ", "docs", "examples", "packaging"];

/// Whether a path of the documents is there, with or without `src` and the ending.
fn exists(path: &str) -> bool {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let rest = rest.trim_end_matches('/');
    [path.to_owned(), format!("{first}/src/{rest}")]
        .iter()
        .any(|at| {
            let at = root().join(at);
            at.exists() || at.with_extension("rs").exists()
        })
}

#[test]
fn documents_name_what_is_there() {
    let mut pages = vec![root().join("README.md")];
    for directory in ["docs", "docs/decisions"] {
        let entries = fs::read_dir(root().join(directory)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|e| e == "md")));
    }
    let mut missing = Vec::new();
    let mut seen = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for path in paths(&text) {
            seen += 1;
            if !exists(path) {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(seen > 50, "only {seen} paths");
    assert!(missing.is_empty(), "not there:\n{}", missing.join("\n"));
}

#[test]
fn modules_with_parts_have_one_layout() {
    let mut files = Vec::new();
    for name in CRATES {
        sources(&root().join(name).join("src"), &mut files);
    }
    let beside: Vec<_> = files
        .iter()
        .filter(|file| file.with_extension("").is_dir())
        .collect();
    assert!(
        beside.is_empty(),
        "these are mod.rs in their directories: {beside:?}"
    );
}

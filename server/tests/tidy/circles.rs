//! Files of a directory that import one another in a circle.
//!
//! A file is a module. It depends on the files that define what it names: a name that a module
//! only passes on (`pub use`) counts as a name of the file that it comes from. Where a method is
//! written does not matter: whoever calls it names the type, or nothing.

use std::collections::{BTreeMap, BTreeSet};

/// A module, as the names on the way from the crate's root.
type Module = Vec<String>;

/// What a file imports and passes on.
#[derive(Default)]
struct File {
    /// Paths that it names, from the crate's root or from itself.
    paths: Vec<Vec<String>>,
    /// Names that it passes on, and the paths they stand for.
    exports: BTreeMap<String, Vec<String>>,
}

/// The files of one crate.
#[derive(Default)]
pub struct Files(BTreeMap<Module, File>);

impl Files {
    /// Adds the file that is the module `module`.
    pub fn add(&mut self, module: &[&str], source: &str) {
        let module: Module = module.iter().map(|&name| name.to_owned()).collect();
        let file = Reader::new(source).read();
        self.0.insert(module, file);
    }
    /// The circles: of each, all modules in it.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let edges: BTreeMap<&Module, BTreeSet<&Module>> = self
            .0
            .iter()
            .map(|(module, file)| (module, self.imports(module, file)))
            .collect();
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = edges
            .keys()
            .map(|&module| (module, reachable(module, &edges)))
            .collect();
        let mut circles = BTreeSet::new();
        for (&module, far) in &reached {
            if far.contains(module) {
                let back = |other: &&&Module| reached[**other].contains(module);
                let members = far.iter().filter(back);
                let names: Vec<String> = members.map(|member| member.join("::")).collect();
                circles.insert(names);
            }
        }
        circles.into_iter().collect()
    }
    fn imports(&self, module: &Module, file: &File) -> BTreeSet<&Module> {
        let found = file.paths.iter();
        let found = found.filter_map(|path| self.resolve(module, path, 0));
        found.filter(|other| *other != module).collect()
    }
    /// The module whose file defines what `path` names in `module`; `None`: it is not of this
    /// crate.
    fn resolve(&self, module: &Module, path: &[String], depth: usize) -> Option<&Module> {
        assert!(depth < 8, "{path:?} is passed on in a circle");
        let mut here = module.clone();
        let mut rest = path;
        let mut anchored = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => {
                    here.pop();
                }
                name => {
                    here.push(name.to_owned());
                    if !self.0.contains_key(&here) {
                        here.pop();
                        break;
                    }
                }
            }
            anchored = true;
            rest = others;
        }
        let (found, file) = self.0.get_key_value(&here)?;
        let Some((name, _)) = rest.split_first() else {
            return Some(found);
        };
        match file.exports.get(name) {
            Some(export) if anchored => self.resolve(&here, export, depth + 1),
            _ => anchored.then_some(found),
        }
    }
}

fn reachable<'a>(
    from: &'a Module,
    edges: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for other in edges.get(module).into_iter().flatten() {
            if reached.insert(*other) {
                open.push(other);
            }
        }
    }
    reached
}

/// Reads the paths of a source.
struct Reader {
    words: Vec<String>,
    at: usize,
    /// The modules below that it has met.
    children: BTreeSet<String>,
    /// The words outside of imports.
    named: BTreeSet<String>,
    file: File,
}

impl Reader {
    fn new(source: &str) -> Reader {
        Reader {
            words: words(source),
            at: 0,
            children: BTreeSet::new(),
            named: BTreeSet::new(),
            file: File::default(),
        }
    }
    fn peek(&self, ahead: usize) -> &str {
        self.words.get(self.at + ahead).map_or("", String::as_str)
    }
    fn read(mut self) -> File {
        while self.at < self.words.len() {
            match self.peek(0) {
                "mod" if self.peek(2) == "{" => self.inline_module(),
                // `use<…>` behind a type says what that captures.
                "use" if self.peek(1) != "<" => self.import(),
                // Who may see an item, not a path to one.
                "in" if self.at > 0 && self.words[self.at - 1] == "(" => {
                    self.at += 1;
                    self.path();
                }
                "mod" => {
                    self.children.insert(self.peek(1).to_owned());
                    self.at += 2;
                }
                name if self.peek(1) == "::" && self.is_start(name) => {
                    let path = self.path();
                    self.file.paths.push(path);
                }
                name => {
                    self.named.insert(name.to_owned());
                    self.at += 1;
                }
            }
        }
        // What is passed on and named as well is imported.
        for (name, path) in &self.file.exports {
            if self.named.contains(name) {
                self.file.paths.push(path.clone());
            }
        }
        self.file
    }
    /// Whether a path within this crate begins with the word that comes next.
    fn is_start(&self, name: &str) -> bool {
        let goes_on = self.at > 0 && self.words[self.at - 1] == "::";
        !goes_on && (matches!(name, "crate" | "super" | "self") || self.children.contains(name))
    }
    /// Passes a module within the file: it has tests or constants.
    fn inline_module(&mut self) {
        let mut depth = 0;
        while self.at < self.words.len() {
            match self.peek(0) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 && self.peek(0) != "{" && self.words[self.at - 1] == "}" {
                return;
            }
        }
    }
    fn path(&mut self) -> Vec<String> {
        let mut path = vec![self.peek(0).to_owned()];
        self.at += 1;
        while self.peek(0) == "::" && is_name(self.peek(1)) {
            path.push(self.peek(1).to_owned());
            self.at += 2;
        }
        path
    }
    fn import(&mut self) {
        let public = self.at > 0 && matches!(self.words[self.at - 1].as_str(), "pub" | ")");
        self.at += 1;
        let mut found = Vec::new();
        self.tree(&[], &mut found);
        for (name, path) in found {
            if !public {
                self.file.paths.push(path.clone());
            }
            self.file.exports.insert(name, path);
        }
    }
    /// Reads one branch of an import: the names it brings, and their paths.
    fn tree(&mut self, prefix: &[String], found: &mut Vec<(String, Vec<String>)>) {
        let mut path = prefix.to_vec();
        loop {
            match self.peek(0) {
                "{" => {
                    self.at += 1;
                    while !matches!(self.peek(0), "}" | "") {
                        self.tree(&path, found);
                        if self.peek(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "::" => self.at += 1,
                "*" => {
                    self.at += 1;
                    found.push(("*".to_owned(), path));
                    return;
                }
                "," | "}" | ";" | "" => break,
                "as" => {
                    found.push((self.peek(1).to_owned(), path));
                    self.at += 2;
                    return;
                }
                // `self` at the end of a path is the module itself.
                "self" if !path.is_empty() => self.at += 1,
                name => {
                    path.push(name.to_owned());
                    self.at += 1;
                }
            }
        }
        if let Some(last) = path.last() {
            found.push((last.clone(), path));
        }
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names and signs of a source, without comments and texts.
fn words(source: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            text(rest)
        } else if is_name(rest) {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let end = end.unwrap_or(rest.len());
            words.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("'\"'") || rest.starts_with("'{'") || rest.starts_with("'}'") {
            3
        } else if let Some(escaped) = rest.strip_prefix("'\\") {
            2 + escaped.chars().next().map_or(0, char::len_utf8)
        } else if rest.starts_with("::") {
            words.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                words.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    words
}

/// The length of a text that begins here.
fn text(source: &str) -> usize {
    let mut escaped = true;
    for (at, c) in source.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    source.len()
}

#[test]
fn circles_are_found() {
    let mut files = Files::default();
    files.add(&[], "mod a; mod b;");
    files.add(
        &["a"],
        "mod one; mod two; mod three; pub use one::One; struct Own;",
    );
    files.add(&["a", "one"], "use super::{Own, two::Two}; pub struct One;");
    files.add(
        &["a", "two"],
        "// super::One\nfn f(x: super::One, s: \"super::three\") -> impl Sized + use<> {}",
    );
    files.add(
        &["a", "three"],
        "use crate::a::One; use std::fmt; mod tests { use super::*; }",
    );
    files.add(&["c"], "mod inner; fn f() { inner::g() }");
    files.add(&["c", "inner"], "pub(in crate::c) fn g() {}");
    files.add(
        &["b"],
        "use crate::a::{self, three::{self, Three as Other}}; use a::One;",
    );
    assert_eq!(files.circles(), [["a::one", "a::two"]]);
    files.add(&["a", "one"], "use super::Own; pub struct One;");
    assert!(files.circles().is_empty());
    files.add(&["c", "inner"], "fn g(x: super::State) {}");
    assert_eq!(files.circles(), [["c", "c::inner"]]);
}

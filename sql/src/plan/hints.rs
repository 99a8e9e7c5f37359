//! What optimizer hints say of the query blocks of a text.

use super::{
    Planner,
    from::{From, LeafInput},
};
use crate::{
    error::SqlError,
    hint::{Hint, Join, Name},
    parse::Text,
};
use cohort_engine::types::Table;
use sqlparser::ast;

/// The hints of a text.
#[derive(Default)]
pub(super) struct BlockHints {
    /// By the token that begins the query block.
    of: Vec<(usize, Vec<Hint>)>,
    /// What the query blocks are called, and the token that begins each.
    names: Vec<(String, usize)>,
    /// MAX_EXECUTION_TIME of the statement, in milliseconds.
    pub execution_ms_max: Option<u64>,
}

/// What of FROM is not read in its place.
pub(super) enum Unmerged {
    None,
    All,
    /// What is called so.
    Some(Vec<String>),
}

impl Unmerged {
    pub fn has(&self, alias: &str) -> bool {
        match self {
            Unmerged::None => false,
            Unmerged::All => true,
            Unmerged::Some(names) => names.iter().any(|name| name.eq_ignore_ascii_case(alias)),
        }
    }
}

impl BlockHints {
    /// The hints of a text, each at the query block that it is about. What is wrong with them is a warning.
    pub fn of(text: &Text<'_>, warnings: &mut Vec<SqlError>) -> BlockHints {
        let mut all = BlockHints::default();
        if !text.has_hints() {
            return all;
        }
        let blocks = text.hints();
        let mut names = Vec::new();
        for (number, (token, read)) in blocks.iter().enumerate() {
            names.push((format!("select#{}", number + 1), *token));
            for hint in &read.hints {
                if let Hint::BlockName(name) = hint {
                    names.push((name.clone(), *token));
                }
            }
        }
        let block_of = |name: &str| {
            let named = names
                .iter()
                .find(|(other, _)| other.eq_ignore_ascii_case(name));
            named.map(|(_, token)| *token)
        };
        for (token, read) in blocks {
            if let Some(at) = read.wrong {
                warnings.push(text.wrong_hint(token, at));
            }
            for hint in read.hints {
                match &hint {
                    Hint::ExecutionTime(ms) if token == text.verb() && text.is_select() => {
                        all.execution_ms_max.get_or_insert(*ms);
                    }
                    Hint::ExecutionTime(_) => {
                        warnings.push(SqlError::execution_time_unsupported());
                    }
                    // The session's variables are the session's. What is about ways that are not there is passed
                    // over, as MySQL passes over what does not apply.
                    Hint::SetVariable(..)
                    | Hint::ResourceGroup(_)
                    | Hint::BlockName(_)
                    | Hint::Other(_) => {}
                    Hint::Join(..) | Hint::Index { .. } | Hint::Merge(..) | Hint::Hash(..) => {
                        match block(&hint).map(|name| (name, block_of(name))) {
                            None => all.push(token, hint),
                            Some((_, Some(token))) => all.push(token, hint),
                            Some((name, None)) => {
                                let name = format_args!("`{name}`");
                                warnings.push(SqlError::unknown_block(name, name_of(&hint)));
                            }
                        }
                    }
                }
            }
        }
        all.names = names;
        all
    }

    /// What a query block is called: last by itself.
    fn name(&self, token: usize) -> &str {
        let mut named = self.names.iter().rev();
        let found = named.find(|(_, other)| *other == token);
        found.map_or("", |(name, _)| name)
    }

    fn push(&mut self, token: usize, hint: Hint) {
        match self.of.iter_mut().find(|(other, _)| *other == token) {
            Some((_, hints)) => hints.push(hint),
            None => self.of.push((token, vec![hint])),
        }
    }

    fn of_block(&self, token: usize) -> Vec<Hint> {
        let found = self.of.iter().find(|(other, _)| *other == token);
        found.map(|(_, hints)| hints.clone()).unwrap_or_default()
    }
}

/// The query block that a hint names.
fn block(hint: &Hint) -> Option<&str> {
    let first = match hint {
        Hint::Join(_, tables) | Hint::Merge(_, tables) | Hint::Hash(_, _, tables) => tables.first(),
        Hint::Index { table, .. } => Some(table),
        Hint::ExecutionTime(_)
        | Hint::SetVariable(..)
        | Hint::ResourceGroup(_)
        | Hint::BlockName(_)
        | Hint::Other(_) => None,
    };
    first?.block.as_deref()
}

fn name_of(hint: &Hint) -> &'static str {
    match hint {
        Hint::ExecutionTime(_) => "MAX_EXECUTION_TIME",
        Hint::SetVariable(..) => "SET_VAR",
        Hint::ResourceGroup(_) => "RESOURCE_GROUP",
        Hint::BlockName(_) => "QB_NAME",
        Hint::Join(join, _) => join.name(),
        Hint::Index { hint, .. } | Hint::Hash(hint, ..) | Hint::Other(hint) => hint,
        Hint::Merge(true, _) => "MERGE",
        Hint::Merge(false, _) => "NO_MERGE",
    }
}

/// A hint that names tables, for what is told of it.
#[derive(Clone, Copy)]
struct Naming {
    hint: &'static str,
    /// The query block that it is about.
    token: usize,
    /// It is about the order of the join: then MySQL does not name the block.
    is_of_order: bool,
}

/// Whether a list of tables stands for all of the block.
fn is_all(tables: &[Name]) -> bool {
    tables.iter().all(|name| name.table.is_empty())
}

impl Planner<'_> {
    /// FROM of a query block, with what its hints say.
    pub(super) fn hinted_from(
        &mut self,
        token: usize,
        tables: &[ast::TableWithJoins],
    ) -> Result<From, SqlError> {
        let unmerged = self.unmerged_of(token);
        let before = std::mem::replace(&mut self.unmerged, unmerged);
        let from = self.from(tables);
        self.unmerged = before;
        let mut from = from?;
        self.apply_hints(token, &mut from, 0);
        Ok(from)
    }

    /// The same for what is read in the place of a text.
    pub(super) fn with_hints(
        &mut self,
        token: usize,
        from: &mut From,
        work: impl FnOnce(&mut Self, &mut From) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let unmerged = self.unmerged_of(token);
        let before = std::mem::replace(&mut self.unmerged, unmerged);
        let begin = from.leaves.len();
        let done = work(self, from);
        self.unmerged = before;
        self.apply_hints(token, from, begin);
        done
    }

    fn unmerged_of(&self, token: usize) -> Unmerged {
        let mut names = Vec::new();
        for hint in self.hints.of_block(token) {
            if let Hint::Merge(false, tables) = hint {
                if is_all(&tables) {
                    return Unmerged::All;
                }
                names.extend(tables.into_iter().map(|name| name.table));
            }
        }
        match names.is_empty() {
            true => Unmerged::None,
            false => Unmerged::Some(names),
        }
    }

    /// Notes what the hints of a query block say of its leaves, those from `begin` on.
    pub(super) fn apply_hints(&mut self, token: usize, from: &mut From, begin: usize) {
        for hint in self.hints.of_block(token) {
            let naming = Naming {
                hint: name_of(&hint),
                token,
                is_of_order: matches!(hint, Hint::Join(..)),
            };
            match hint {
                Hint::Join(Join::Fixed, _) => from.straight = true,
                Hint::Join(join, tables) => {
                    if let Some(leaves) = self.leaves_named(&tables, naming, from, begin) {
                        order(join, &leaves, begin, from);
                    }
                }
                Hint::Index {
                    wanted,
                    table,
                    indexes,
                    ..
                } => {
                    if let Some(leaf) = self.leaf_named(&table, naming, from, begin) {
                        self.index_hint(leaf, naming, (wanted, &indexes), from);
                    }
                }
                Hint::Hash(_, wanted, tables) => {
                    let leaves = match is_all(&tables) {
                        true => Some((begin..from.leaves.len()).collect()),
                        false => self.leaves_named(&tables, naming, from, begin),
                    };
                    for leaf in leaves.unwrap_or_default() {
                        if let Some(leaf) = from.leaves.get_mut(leaf) {
                            leaf.no_hash = !wanted;
                        }
                    }
                }
                Hint::Merge(..)
                | Hint::ExecutionTime(_)
                | Hint::SetVariable(..)
                | Hint::ResourceGroup(_)
                | Hint::BlockName(_)
                | Hint::Other(_) => {}
            }
        }
    }

    fn leaves_named(
        &mut self,
        names: &[Name],
        naming: Naming,
        from: &From,
        begin: usize,
    ) -> Option<Vec<usize>> {
        // All that are missing are told.
        let leaves = names
            .iter()
            .map(|name| self.leaf_named(name, naming, from, begin));
        let leaves: Vec<Option<usize>> = leaves.collect();
        leaves.into_iter().collect()
    }

    /// The leaf that a hint names. If there is none that is a warning.
    fn leaf_named(
        &mut self,
        name: &Name,
        naming: Naming,
        from: &From,
        begin: usize,
    ) -> Option<usize> {
        let tables = &self.names().tables;
        let leaf = (begin..from.leaves.len()).find(|leaf| {
            let table = tables.get(*leaf);
            table.is_some_and(|table| table.alias.eq_ignore_ascii_case(&name.table))
        });
        if leaf.is_none() {
            let table = &name.table;
            let name = match naming.is_of_order && name.block.is_none() {
                true => format!("`{table}`"),
                false => format!("`{table}`@`{}`", self.hints.name(naming.token)),
            };
            let hint = naming.hint;
            self.warnings.push(SqlError::unresolved_hint(name, hint));
        }
        leaf
    }

    fn index_hint(
        &mut self,
        leaf: usize,
        naming: Naming,
        (wanted, indexes): (bool, &[String]),
        from: &mut From,
    ) {
        let tables = &self.names().tables;
        let alias = tables
            .get(leaf)
            .map_or(String::new(), |table| table.alias.clone());
        let Some(leaf) = from.leaves.get_mut(leaf) else {
            return;
        };
        let LeafInput::Stored(table) = &leaf.input else {
            return;
        };
        let mut names = Vec::new();
        for index in indexes {
            match index_name(table, index) {
                Some(name) => names.push(name),
                None => {
                    let (hint, block) = (naming.hint, self.hints.name(naming.token));
                    let name = format!("`{alias}`@`{block}` `{index}`");
                    self.warnings.push(SqlError::unresolved_hint(name, hint));
                }
            }
        }
        match (wanted, indexes.is_empty(), names.is_empty()) {
            // None of the indexes, but the rows.
            (false, true, _) => leaf.hints.push((true, Vec::new())),
            (true, true, _) | (_, false, true) => {}
            (_, false, false) => leaf.hints.push((wanted, names)),
        }
    }
}

/// The whole name of an index.
fn index_name(table: &Table, name: &str) -> Option<String> {
    table.index_named(name).map(|index| index.name.clone())
}

/// Notes what a hint says of the order of these leaves, among those from `begin` on.
fn order(join: Join, leaves: &[usize], begin: usize, from: &mut From) {
    let others = (begin..from.leaves.len()).filter(|leaf| !leaves.contains(leaf));
    let others: Vec<usize> = others.collect();
    let chain = leaves
        .windows(2)
        .filter_map(|two| Some((*two.first()?, *two.get(1)?)));
    let mut before: Vec<(usize, usize)> = chain.collect();
    for &leaf in leaves {
        match join {
            Join::Prefix => before.extend(others.iter().map(|other| (leaf, *other))),
            Join::Suffix => before.extend(others.iter().map(|other| (*other, leaf))),
            Join::Fixed | Join::Order => {}
        }
    }
    from.before.extend(before);
}

//! How deep a statement's tree can be, told from its tokens: the tree is walked by recursion, and a
//! stack has an end.
//!
//! Each parenthesis takes a level, and so does each operator of a row of them: `1 + 2 + 3` is
//! `(1 + 2) + 3`. What stands beside each other takes none: the items of a list, the rows of VALUES,
//! the branches of a CASE, the operands of AND.
//!
//! `a = 1 AND (b = 2 OR c = 3), d + 4` is four levels deep: at `c = 3` there are the AND, the
//! parenthesis, the OR, and the `=`.

use crate::lexer::Kind;

/// One pair of parentheses, or one CASE.
#[derive(Clone, Copy, Default)]
struct Level {
    /// Operators of the operand that is being read.
    operand: usize,
    /// Operators whose operands are already over: AND, OR and the like.
    chain: usize,
    is_case: bool,
}

/// Counts levels, token by token.
#[derive(Default)]
pub(super) struct Depth {
    levels: Vec<Level>,
    current: Level,
    /// The sum of `levels`.
    below: usize,
    /// UNIONs.
    unions: usize,
    deepest: usize,
}

impl Depth {
    /// The levels that there were at most so far.
    pub fn deepest(&self) -> usize {
        self.deepest
    }
    /// Takes the next token.
    pub fn take(&mut self, kind: Kind, text: &[u8]) {
        match kind {
            Kind::Symbol => match text {
                b"(" => self.open(false),
                b")" => self.close(),
                b"," | b";" => self.next_item(),
                b"." => {}
                _ => self.current.operand += 1,
            },
            Kind::Word => self.word(text),
            _ => {}
        }
        let here = self.current.operand + self.current.chain;
        self.deepest = self.deepest.max(self.below + here + self.unions);
    }
    fn word(&mut self, text: &[u8]) {
        let is = |words: &[&str]| super::is_one_of(text, words);
        match text.len() {
            2..=9 => {}
            _ => return,
        }
        if is(&["AND", "OR", "XOR", "BETWEEN"]) {
            self.current.operand = 0;
            self.current.chain += 1;
        } else if is(&[
            "NOT", "DIV", "MOD", "LIKE", "IS", "IN", "COLLATE", "BINARY", "REGEXP", "RLIKE",
            "EXPLAIN", "DESCRIBE",
        ]) {
            self.current.operand += 1;
        } else if is(&["UNION", "EXCEPT", "INTERSECT"]) {
            self.next_item();
            self.unions += 1;
        } else if is(&["CASE"]) {
            self.open(true);
        } else if is(&["END"]) && self.current.is_case {
            self.close();
        } else if is(&[
            "WHEN", "THEN", "ELSE", "SELECT", "FROM", "WHERE", "ON", "SET", "VALUES", "HAVING",
            "BY", "LIMIT",
        ]) {
            self.next_item();
        }
    }
    fn next_item(&mut self) {
        self.current.operand = 0;
        self.current.chain = 0;
    }
    fn open(&mut self, is_case: bool) {
        self.current.operand += 1;
        self.below += self.current.operand + self.current.chain;
        self.levels.push(self.current);
        self.current = Level {
            is_case,
            ..Level::default()
        };
    }
    fn close(&mut self) {
        if let Some(level) = self.levels.pop() {
            self.below -= level.operand + level.chain;
            self.current = level;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::{Lexer, Mode};

    fn depth(source: &str) -> usize {
        let mut depth = Depth::default();
        for token in Lexer::tokens(source.as_bytes(), Mode::default()) {
            depth.take(token.kind, token.text(source.as_bytes()));
        }
        depth.deepest()
    }

    #[test]
    fn nesting_counts_and_siblings_do_not() {
        assert_eq!(depth("SELECT 1"), 0);
        assert_eq!(depth("SELECT 1 + 2 + 3"), 2);
        assert_eq!(depth("a = 1 AND (b = 2 OR c = 3), d + 4"), 4);
        assert_eq!(depth("SELECT f(1, 2, g(3)), f(4)"), 2);
        let rows = vec!["(1, -2, f(3))"; 1000].join(", ");
        assert_eq!(depth(&format!("INSERT INTO t VALUES {rows}")), 2);
        let branches = "WHEN a = 1 THEN b + 1 ".repeat(1000);
        assert_eq!(depth(&format!("SELECT CASE {branches} END")), 2);
        let list = vec!["-1"; 1000].join(", ");
        assert_eq!(depth(&format!("SELECT a IN ({list})")), 3);
        assert_eq!(depth(&format!("SELECT {}1", "- ".repeat(50))), 50);
        assert_eq!(depth(&"(".repeat(50)), 50);
        assert_eq!(depth(&format!("SELECT a{}", " OR a".repeat(50))), 50);
        assert_eq!(depth(&"SELECT a UNION ".repeat(50)), 50);
    }
}

//! From text to sqlparser's syntax tree: our tokens become its tokens, and what its MySQL dialect
//! does not know is rewritten on the way.
//!
//! Each token's place is passed to the library as "line 1, column i + 1", i being its position in
//! our list: so its error messages lead back to the text (MySQL's "near '…' at line N"), and its
//! tree leads back to the words of a select list, which name the result's columns.

mod ahead;
mod convert;
mod depth;
mod dialect;
mod files;
mod json_table;
mod key;
mod units;

pub use files::{FieldTarget, FileFormat, IntoFile, IntoSyntax, LoadSyntax};
pub use json_table::{JsonColumnSyntax, JsonTableSyntax, OtherwiseSyntax};

use crate::{
    error::SqlError,
    hint::{self, Hints},
    interrupt,
    lexer::{self, Kind, Lifted, Mode, Token},
};
use convert::Converter;
use depth::Depth;
pub use key::{key_name, key_position};
use sqlparser::{
    ast::{Spanned, Statement},
    parser::{Parser, ParserError},
    tokenizer::{Span, Token as Out, TokenWithSpan},
};

/// Trees that may be deeper are refused: see `depth`. It is as long as chains of AND and OR get
/// that programs write.
const DEPTH_MAX: usize = 30_000;

/// A parsed statement, still tied to its text.
pub struct Parsed<'a> {
    /// The tree.
    pub statement: Statement,
    /// The text it was made of.
    pub text: Text<'a>,
    /// UPDATE IGNORE or DELETE IGNORE, which the tree cannot say.
    pub ignore: bool,
    /// How many parameters there are.
    pub parameters: u32,
    /// Where the rows of a SELECT go.
    pub into: IntoSyntax,
    /// It is a LOAD DATA, and the tree only says into what, and what it SETs.
    pub load: Option<LoadSyntax>,
    /// The columns of each JSON_TABLE, by number: the tree has that for a path.
    pub json_tables: Vec<JsonTableSyntax>,
    /// Warnings about what is deprecated.
    pub warnings: Vec<SqlError>,
}

/// A statement's text and its tokens, in the numbering of the syntax tree's locations.
pub struct Text<'a> {
    source: &'a [u8],
    mode: Mode,
    tokens: Vec<Token>,
}

impl Text<'_> {
    /// The texts of the items of the select list whose SELECT is the token `select`.
    #[must_use]
    pub fn select_items(&self, select: usize) -> Vec<String> {
        let mut items = Vec::new();
        let mut depth = 0;
        let mut first = None;
        let mut last = 0;
        for (i, token) in self.tokens.iter().enumerate().skip(select + 1) {
            let text = token.text(self.source);
            match (token.kind, text) {
                (Kind::Symbol, b"(") => depth += 1,
                (Kind::Symbol, b")") if depth == 0 => break,
                (Kind::Symbol, b")") => depth -= 1,
                (Kind::Symbol, b";") => break,
                (Kind::Symbol, b",") if depth == 0 => {
                    items.push(self.between(first, last));
                    first = None;
                    continue;
                }
                (Kind::Word, _) if depth == 0 && ends_list(text) && !self.is_qualified(i) => break,
                (Kind::Word, _) if first.is_none() && is_modifier(text) => continue,
                _ => {}
            }
            first = first.or(Some(i));
            last = i;
        }
        items.push(self.between(first, last));
        items
    }

    /// Where the clause RETURNING of a statement that changes rows is.
    #[must_use]
    pub fn returning(&self) -> Option<usize> {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate() {
            if token.is_symbol(self.source, "(") {
                depth += 1;
            } else if token.is_symbol(self.source, ")") {
                depth = depth.saturating_sub(1);
            } else if depth == 0
                && token.is_word(self.source, "RETURNING")
                && !self.is_qualified(at)
            {
                return Some(at);
            }
        }
        None
    }

    /// 1064 for what a select list may have and RETURNING, which is the token of this number, may
    /// not: modifiers, VALUES(column), and clauses behind it.
    pub fn refuse_in_returning(&self, returning: usize) -> Result<(), SqlError> {
        let mut depth = 0_usize;
        let behind = self.tokens.iter().enumerate().skip(returning + 1);
        for (at, token) in behind {
            let text = token.text(self.source);
            let opens = |at: usize| {
                let token = self.tokens.get(at);
                token.is_some_and(|token| token.is_symbol(self.source, "("))
            };
            let refused = match (token.kind, text) {
                (Kind::Symbol, b"(") => {
                    depth += 1;
                    false
                }
                (Kind::Symbol, b")") => {
                    depth = depth.saturating_sub(1);
                    false
                }
                (Kind::Word, _) if is_one_of(text, &["VALUES"]) => opens(at + 1),
                (Kind::Word, _) if at == returning + 1 => is_modifier(text) && !opens(at + 1),
                (Kind::Word, _) if depth == 0 && !self.is_qualified(at) => {
                    is_one_of(text, &["ORDER", "LIMIT"])
                }
                _ => false,
            };
            if refused {
                return Err(self.error_at(at));
            }
        }
        Ok(())
    }

    /// Whether a parenthesis that opens before the token `first` closes after the token `later`.
    #[must_use]
    pub fn encloses(&self, first: usize, later: usize) -> bool {
        let before = self.opened_before(first);
        // Others that open behind it close first.
        let (mut depth, mut still_open) = (before, before);
        for token in self.tokens.get(first..=later).unwrap_or_default() {
            if token.is_symbol(self.source, "(") {
                depth += 1;
            } else if token.is_symbol(self.source, ")") {
                depth = depth.saturating_sub(1);
                still_open = still_open.min(depth);
            }
        }
        still_open > 0
    }

    /// How many parentheses open right before the token `first`.
    fn opened_before(&self, first: usize) -> usize {
        let before = self.tokens.get(..first).unwrap_or_default();
        let open = |token: &&Token| token.is_symbol(self.source, "(");
        before.iter().rev().take_while(open).count()
    }

    /// How many of the parentheses that open right before the token `first` or behind it are still
    /// open before the token `end`.
    fn open_behind(&self, first: usize, end: usize) -> usize {
        let mut depth = 0_usize;
        let open = first.saturating_sub(self.opened_before(first));
        for token in self.tokens.get(open..end).unwrap_or_default() {
            if token.is_symbol(self.source, "(") {
                depth += 1;
            } else if token.is_symbol(self.source, ")") {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return 0;
                }
            }
        }
        depth
    }

    /// Whether a query is written somewhere in a span.
    #[must_use]
    pub fn has_query(&self, span: Span) -> bool {
        let end = usize::try_from(span.end.column).unwrap_or(usize::MAX);
        let tokens = self.tokens.get(index_of(span)..end).unwrap_or_default();
        let mut tokens = tokens.iter();
        tokens.any(|token| token.is_word(self.source, "SELECT"))
    }

    /// The word behind FORMAT = of EXPLAIN.
    #[must_use]
    pub fn explain_format(&self) -> String {
        let mut tokens = self.tokens.iter();
        let format = tokens.position(|token| token.is_word(self.source, "FORMAT"));
        let word = format.and_then(|at| self.tokens.get(at + 2));
        let text = word.map(|word| word.text(self.source)).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// The statement behind EXPLAIN and its clauses.
    #[must_use]
    pub fn explained(&self) -> String {
        let text = self
            .beginning()
            .and_then(|token| self.source.get(token.start..));
        String::from_utf8_lossy(text.unwrap_or_default().trim_ascii()).into_owned()
    }

    fn beginning(&self) -> Option<&Token> {
        self.tokens.get(self.first())
    }

    /// The first token of the statement, or of what EXPLAIN explains.
    #[must_use]
    pub fn first(&self) -> usize {
        convert::beginning(self.source, &self.tokens)
    }

    /// The word that says what the statement does: the first one, or behind WITH the one that is in no
    /// brackets.
    #[must_use]
    pub fn verb(&self) -> usize {
        let first = self.first();
        let is = |token: &Token, word| token.is_word(self.source, word);
        if !self.beginning().is_some_and(|token| is(token, "WITH")) {
            return first;
        }
        let mut depth = 0_usize;
        let found = self
            .tokens
            .iter()
            .enumerate()
            .skip(first)
            .find(|(_, token)| {
                depth += usize::from(token.is_symbol(self.source, "("));
                depth -= usize::from(depth > 0 && token.is_symbol(self.source, ")"));
                depth == 0 && hint::may_begin_block(token, self.source)
            });
        found.map_or(first, |(at, _)| at)
    }

    /// Whether the statement, or what EXPLAIN explains, is a SELECT.
    #[must_use]
    pub fn is_select(&self) -> bool {
        let verb = self.tokens.get(self.verb());
        verb.is_some_and(|verb| verb.is_word(self.source, "SELECT"))
    }

    /// Whether the statement sets user variables while it runs.
    #[must_use]
    pub fn assigns(&self) -> bool {
        memchr::memmem::find(self.source, b":=").is_some()
    }

    /// Whether a query block has optimizer hints.
    #[must_use]
    pub fn has_hints(&self) -> bool {
        memchr::memmem::find(self.source, b"/*+").is_some()
    }

    /// The query blocks as MySQL numbers them, the statement's own first and then those of the text in order: the
    /// token that begins each, and the optimizer hints behind it.
    #[must_use]
    pub fn hints(&self) -> Vec<(usize, Hints)> {
        let verb = self.verb();
        let begins = |(at, token): &(usize, &Token)| {
            hint::may_begin_block(token, self.source)
                && (*at == verb || token.is_word(self.source, "SELECT"))
        };
        let blocks = self.tokens.iter().enumerate().filter(begins);
        let read = blocks.map(|(at, token)| {
            let behind = self.source.get(token.end..).unwrap_or_default();
            (at, Hints::read(lexer::hints(behind), self.mode))
        });
        let mut read: Vec<_> = read.collect();
        read.sort_by_key(|(at, _)| *at != verb);
        read
    }

    /// The warning about the hint at this place of those behind a token.
    #[must_use]
    pub fn wrong_hint(&self, token: usize, at: usize) -> SqlError {
        let behind = self.tokens.get(token).map_or(0, |token| token.end);
        let rest = self.source.get(behind..).unwrap_or_default();
        let begin = memchr::memmem::find(rest, b"/*+").map_or(0, |begin| begin + 3);
        let from = behind + begin + at;
        let near = self.source.get(from..).unwrap_or_default();
        // Where the hints have ended that is all.
        let near = match near.trim_ascii_start().starts_with(b"*/") {
            true => b"*/",
            false => near,
        };
        let before = self.source.get(..from).unwrap_or_default();
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        SqlError::wrong_hint(String::from_utf8_lossy(near), line)
    }

    fn is_qualified(&self, i: usize) -> bool {
        i > 0
            && self
                .tokens
                .get(i - 1)
                .is_some_and(|t| t.is_symbol(self.source, "."))
    }

    fn between(&self, first: Option<usize>, last: usize) -> String {
        let start = first.and_then(|i| self.tokens.get(i));
        let (Some(start), Some(end)) = (start, self.tokens.get(last)) else {
            return String::new();
        };
        let range = first.unwrap_or(last)..=last;
        let inner = self.inside(self.tokens.get(range).unwrap_or_default());
        if let Some(string) = self.only_strings(inner) {
            let bytes = lexer::string(string.text(self.source), self.mode);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let bytes = match inner {
            [number] if matches!(number.kind, Kind::Integer | Kind::Decimal | Kind::Float) => {
                number.text(self.source)
            }
            _ => self.source.get(start.start..end.end).unwrap_or_default(),
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Tokens without parentheses around all of them, and without `+` in front.
    fn inside<'t>(&self, mut tokens: &'t [Token]) -> &'t [Token] {
        let is = |token: &Token, symbol: &str| token.is_symbol(self.source, symbol);
        loop {
            tokens = match tokens {
                [first, inner @ .., last] if is(first, "(") && is(last, ")") => inner,
                [first, inner @ ..] if is(first, "+") => inner,
                inner => return inner,
            };
        }
    }

    /// The first of some strings, a character set before it perhaps, if there is nothing else.
    fn only_strings<'t>(&self, tokens: &'t [Token]) -> Option<&'t Token> {
        let (first, rest) = tokens.split_first()?;
        let strings = match first.kind {
            Kind::String => tokens,
            Kind::Word if first.text(self.source).first() == Some(&b'_') => rest,
            _ => return None,
        };
        let all = strings.iter().all(|t| t.kind == Kind::String);
        strings.first().filter(|_| all)
    }

    /// 1064 at the last token that is this word, if a clause that begins with it is there: the
    /// library knows it, and MySQL does not.
    pub fn refuse(&self, word: &str, is_there: bool) -> Result<(), SqlError> {
        if is_there {
            Err(self.error_at_word(word))
        } else {
            Ok(())
        }
    }

    /// The same where MySQL takes the word itself for a name: 1064 is behind it.
    pub fn refuse_behind(&self, word: &str, is_there: bool) -> Result<(), SqlError> {
        match self.last(word) {
            _ if !is_there => Ok(()),
            Some(at) => Err(self.error_at(at + 1)),
            None => Err(SqlError::syntax(word, 1)),
        }
    }

    /// 1064 at the last token that is this word.
    #[must_use]
    pub fn error_at_word(&self, word: &str) -> SqlError {
        match self.last(word) {
            Some(at) => self.error_at(at),
            None => SqlError::syntax(word, 1),
        }
    }

    /// 1064 at the first `?`, for a statement that is not prepared.
    pub fn refuse_placeholders(&self) -> Result<(), SqlError> {
        let mut tokens = self.tokens.iter();
        match tokens.position(|token| token.kind == Kind::Placeholder) {
            Some(at) => Err(self.error_at(at)),
            None => Ok(()),
        }
    }

    /// Where the last token is that is this word, symbol or literal.
    fn last(&self, word: &str) -> Option<usize> {
        let is_it = |token: &Token| {
            token.is_word(self.source, word) || token.text(self.source) == word.as_bytes()
        };
        self.tokens.iter().rposition(is_it)
    }

    /// 1064 at the token before a part of the tree.
    #[must_use]
    pub fn error_before(&self, part: Span) -> SqlError {
        self.error_at(index_of(part).saturating_sub(1))
    }

    /// 1064 at the token behind a part of the tree and the parentheses around it.
    #[must_use]
    pub fn error_behind(&self, part: Span) -> SqlError {
        let end = usize::try_from(part.end.column).unwrap_or(usize::MAX);
        self.error_at(end.saturating_add(self.open_behind(index_of(part), end)))
    }

    /// 1064 where a part of the tree begins, with its sign and the parentheses around it.
    #[must_use]
    pub fn error_at_span(&self, part: Span) -> SqlError {
        let mut first = index_of(part).min(self.tokens.len());
        let is = |at: usize, symbol: &str| {
            let token = self.tokens.get(at);
            token.is_some_and(|token| token.is_symbol(self.source, symbol))
        };
        let is_name = |at: usize| {
            let token = self.tokens.get(at);
            token.is_some_and(|token| matches!(token.kind, Kind::Word | Kind::QuotedName))
        };
        // The parenthesis of a call is none around its arguments.
        while first > 0
            && (is(first - 1, "-") || is(first - 1, "(") && !is_name(first.saturating_sub(2)))
        {
            first -= 1;
        }
        self.error_at(first)
    }

    /// 1064 at the row of a VALUES clause, whose parenthesis this is, if it stands there without the
    /// word ROW.
    pub fn refuse_row_without_word(&self, open: Span) -> Result<(), SqlError> {
        let open = index_of(open).min(self.tokens.len());
        match open
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
        {
            Some(before) if before.is_word(self.source, "ROW") => Ok(()),
            _ => Err(self.error_at(open)),
        }
    }

    /// 1064 behind a call of the function whose name this is.
    #[must_use]
    pub fn error_behind_call(&self, name: Span) -> SqlError {
        self.error_at(self.end_of_call(name).saturating_add(1))
    }

    /// 1064 where the parentheses of such a call end.
    #[must_use]
    pub fn error_at_end_of_call(&self, name: Span) -> SqlError {
        self.error_at(self.end_of_call(name))
    }

    fn end_of_call(&self, name: Span) -> usize {
        let open = index_of(name).saturating_add(1);
        let mut depth = 0_usize;
        let tokens = self.tokens.iter().enumerate().skip(open);
        for (at, token) in tokens {
            if token.is_symbol(self.source, "(") {
                depth += 1;
            } else if token.is_symbol(self.source, ")") {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
        }
        self.tokens.len()
    }

    /// 1064 at a token; past the last one: at the end.
    fn error_at(&self, index: usize) -> SqlError {
        let start = self
            .tokens
            .get(index)
            .map_or(self.source.len(), |token| token.start);
        let before = self.source.get(..start).unwrap_or_default();
        let near = String::from_utf8_lossy(self.source.get(start..).unwrap_or_default());
        let near: String = near.trim_end().chars().take(80).collect();
        let line = 1 + before.iter().filter(|&&b| b == b'\n').count();
        SqlError::syntax(near, line)
    }
}

fn is_one_of(word: &[u8], words: &[&str]) -> bool {
    words
        .iter()
        .any(|w| word.eq_ignore_ascii_case(w.as_bytes()))
}

fn ends_list(word: &[u8]) -> bool {
    [
        "FROM",
        "WHERE",
        "LIMIT",
        "UNION",
        "ORDER",
        "GROUP",
        "HAVING",
        "INTO",
        "FOR",
        "EXCEPT",
        "INTERSECT",
        "LOCK",
        "WINDOW",
    ]
    .iter()
    .any(|w| word.eq_ignore_ascii_case(w.as_bytes()))
}

fn is_modifier(word: &[u8]) -> bool {
    [
        "DISTINCT",
        "ALL",
        "DISTINCTROW",
        "SQL_CALC_FOUND_ROWS",
        "SQL_NO_CACHE",
        "SQL_SMALL_RESULT",
        "SQL_BIG_RESULT",
        "SQL_BUFFER_RESULT",
        "HIGH_PRIORITY",
        "STRAIGHT_JOIN",
    ]
    .iter()
    .any(|w| word.eq_ignore_ascii_case(w.as_bytes()))
}

/// Parses one statement, and has `work` do something with it, where the stack suffices for the
/// depth of its tree. With `lifted`, its literals are parameters (see `lexer::Lifted`), and `?` is
/// refused.
pub fn parse<R>(
    source: &[u8],
    mode: Mode,
    lifted: Option<&Lifted>,
    work: impl FnOnce(&Parsed<'_>) -> Result<R, SqlError>,
) -> Result<R, SqlError> {
    let mut converter = Converter {
        source,
        mode,
        tokens: Vec::new(),
        out: Vec::new(),
        parameters: 0,
        ignore: false,
        into: IntoSyntax::Client,
        load: None,
        lifted: lifted.is_some(),
        warnings: Vec::new(),
        points: 0,
        updated: convert::UpdatedTables::default(),
        verb: 0,
        open: Vec::new(),
        outside: convert::Parenthesis::default(),
        locking: None,
        json_tables: Vec::new(),
    };
    let depth = converter.convert(lifted)?;
    let Converter {
        tokens,
        out,
        parameters,
        ignore,
        into,
        load,
        warnings,
        json_tables,
        ..
    } = converter;
    let text = Text {
        source,
        mode,
        tokens,
    };
    if depth > DEPTH_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    crate::room::with_room(depth, || {
        let statement = tree(&text, out, depth)?;
        work(&Parsed {
            statement,
            text,
            ignore,
            parameters,
            into,
            load,
            warnings,
            json_tables,
        })
    })
}

/// The tree of the tokens of one statement, which is at most so deep.
fn tree(text: &Text<'_>, tokens: Vec<TokenWithSpan>, depth: usize) -> Result<Statement, SqlError> {
    /// What sqlparser counts beside the levels of the text, of which it counts some more than once.
    const MORE: usize = 50;
    let dialect = dialect::MySql::default();
    let mut parser = Parser::new(&dialect)
        .with_recursion_limit(3 * depth + MORE)
        .with_tokens_with_locations(tokens);
    let parsed = parser.parse_statement();
    // What stopped it may be KILL: the library takes it for an error of syntax.
    interrupt::look()?;
    let mut statement = parsed.map_err(|error| syntax_error(&error, text))?;
    let returned = dialect::returning_behind(&mut parser, &mut statement);
    returned.map_err(|error| syntax_error(&error, text))?;
    let next = parser.next_token();
    match next.token {
        Out::EOF | Out::SemiColon => Ok(statement),
        _ => Err(match misplaced_alias(&statement) {
            Some(select) => text.error_behind(select),
            None => text.error_at(index_of(next.span)),
        }),
    }
}

/// The SELECT of an INSERT behind which the library has taken an alias for one of the row:
/// `INSERT INTO t SELECT * AS a FROM u`.
fn misplaced_alias(statement: &Statement) -> Option<Span> {
    let Statement::Insert(insert) = statement else {
        return None;
    };
    let source = insert.source.as_ref()?;
    insert.insert_alias.as_ref().map(|_| source.span())
}

fn index_of(span: Span) -> usize {
    usize::try_from(span.start.column)
        .ok()
        .and_then(|column| column.checked_sub(1))
        .unwrap_or(usize::MAX)
}

fn syntax_error(error: &ParserError, text: &Text) -> SqlError {
    match error {
        ParserError::RecursionLimitExceeded => SqlError::nesting_too_deep(),
        ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
            let column = message
                .rsplit_once("Column: ")
                .and_then(|(_, column)| column.trim().parse::<usize>().ok());
            text.error_at(match column {
                Some(column) => column.saturating_sub(1),
                None if message.contains("EOF") => usize::MAX,
                None => 0,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(source: &str) -> String {
        let shown = |parsed: &Parsed<'_>| Ok(parsed.statement.to_string());
        match parse(source.as_bytes(), Mode::default(), None, shown) {
            Ok(shown) => shown,
            Err(error) => error.message,
        }
    }

    #[test]
    fn errors_show_the_text_they_are_near() {
        assert!(
            error("SELECT * FORM t").ends_with("near 'FORM t' at line 1"),
            "{}",
            error("SELECT * FORM t")
        );
        assert!(error("SELECT *\nFROM t WHERE").ends_with("near '' at line 2"));
        assert!(error("SELECT 'abc").ends_with("near ''abc' at line 1"));
        assert!(error("SELECT 1 FROM t )").ends_with("near ')' at line 1"));
    }

    #[test]
    fn files_are_a_target() {
        for (sql, rest) in [
            ("SELECT 1 INTO OUTFILE 'x'", "SELECT 1"),
            (
                "SELECT * INTO OUTFILE 'x' FIELDS TERMINATED BY ',' FROM t",
                "SELECT * FROM t",
            ),
            ("(SELECT a FROM t) INTO DUMPFILE 'x'", "(SELECT a FROM t)"),
            (
                "SELECT a FROM t INTO OUTFILE 'x' LINES TERMINATED BY 'y' FOR UPDATE",
                "SELECT a FROM t FOR UPDATE",
            ),
        ] {
            let read = |parsed: &Parsed<'_>| {
                let is_file = matches!(parsed.into, IntoSyntax::File(_));
                Ok((is_file, parsed.statement.to_string()))
            };
            let parsed = parse(sql.as_bytes(), Mode::default(), None, read);
            assert_eq!(parsed, Ok((true, rest.to_owned())), "{sql}");
        }
        let syntax = error("SELECT 1 INTO DUMPFILE 'x' FIELDS TERMINATED BY 'a'");
        assert!(syntax.contains("near 'FIELDS"), "{syntax}");
    }

    #[test]
    fn parentheses_of_joins_are_told_from_those_of_tables() {
        let encloses = |source: &str, first: usize, later: usize| {
            let encloses = |parsed: &Parsed<'_>| Ok(parsed.text.encloses(first, later));
            parse(source.as_bytes(), Mode::default(), None, encloses).unwrap()
        };
        // Parentheses of tables are there twice.
        assert!(encloses("SELECT 1 FROM a JOIN (b JOIN c)", 7, 9));
        assert!(!encloses("SELECT 1 FROM a JOIN b JOIN c", 5, 7));
        assert!(!encloses("SELECT 1 FROM a JOIN (b) JOIN c", 7, 11));
        assert!(!encloses("SELECT 1 FROM a JOIN b JOIN (SELECT 1) c", 5, 8));
    }

    #[test]
    fn rewrites_what_the_library_does_not_know() {
        assert_eq!(
            error("SELECT a FROM t LOCK IN SHARE MODE"),
            "SELECT a FROM t FOR SHARE"
        );
        assert_eq!(error("SELECT a || b && c"), "SELECT a OR b AND c");
        let ignore = |parsed: &Parsed<'_>| Ok(parsed.ignore);
        let source = b"UPDATE IGNORE t SET a = 1";
        assert!(parse(source, Mode::default(), None, ignore).unwrap());
    }

    #[test]
    fn select_items_are_the_texts() {
        let source = b"SELECT DISTINCT count( * ), 'x', a+1 AS b, f(1,(2)), (+( 1.5 )), (1)+(2), ('a' 'b'), -(1) FROM t";
        let items = |parsed: &Parsed<'_>| Ok(parsed.text.select_items(0));
        assert_eq!(
            parse(source, Mode::default(), None, items).unwrap(),
            [
                "count( * )",
                "x",
                "a+1 AS b",
                "f(1,(2))",
                "1.5",
                "(1)+(2)",
                "a",
                "-(1)"
            ]
        );
    }

    #[test]
    fn lifted_literals_are_placeholders() {
        let source = b"INSERT INTO t VALUES (1,'a'),(2,'b') ON DUPLICATE KEY UPDATE a = a + 1";
        let mut lifted = Lifted::default();
        assert!(lifted.lift(source, Mode::default()));
        let shown = |parsed: &Parsed<'_>| Ok((parsed.statement.to_string(), parsed.parameters));
        let (statement, parameters) = parse(source, Mode::default(), Some(&lifted), shown).unwrap();
        assert_eq!(
            statement,
            "INSERT INTO t VALUES (?0, ?1) ON DUPLICATE KEY UPDATE a = a + ?2"
        );
        assert_eq!(parameters, 3);
    }

    #[test]
    fn names_have_three_parts_at_most() {
        assert_eq!(
            error("SELECT a.b.c, a.b.* FROM a.b"),
            "SELECT a.b.c, a.b.* FROM a.b"
        );
        assert!(error("SELECT a.b.c.d FROM t").ends_with("near '.d FROM t' at line 1"));
        let long = format!("SELECT a{}", ".a".repeat(100_000));
        assert!(error(&long).contains("near '.a.a.a"));
    }

    #[test]
    fn nesting_is_bounded() {
        let parse = |sql: String| parse(sql.as_bytes(), Mode::default(), None, |_| Ok(()));
        let nested = |n| parse(format!("SELECT {}1{}", "(".repeat(n), ")".repeat(n)));
        assert!(nested(3_000).is_ok());
        assert_eq!(nested(DEPTH_MAX + 1).unwrap_err().code, 1436);
        let long = |n| parse(format!("SELECT 1{}", " OR 1".repeat(n)));
        assert!(long(25_000).is_ok());
        assert_eq!(long(DEPTH_MAX + 1).unwrap_err().code, 1436);
    }
}

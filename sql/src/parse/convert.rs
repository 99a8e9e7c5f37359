//! Our tokens as sqlparser's, and what it does not know in words that it does.

use super::{
    Depth, IntoSyntax, LoadSyntax, Text, files, is_one_of,
    json_table::{self, JsonTableSyntax},
};

use crate::{
    collations::NamedCharset,
    command::reserved::{self, EXPLAIN_CLAUSES},
    error::SqlError,
    interrupt,
    lexer::{self, Kind, Lexer, Lifted, Mode, Token},
};
use sqlparser::tokenizer::{Location, Span, Token as Out, TokenWithSpan, Whitespace};

/// Converts the tokens of a text.
pub(super) struct Converter<'a> {
    pub source: &'a [u8],
    pub mode: Mode,
    pub tokens: Vec<Token>,
    pub out: Vec<TokenWithSpan>,
    pub parameters: u32,
    pub ignore: bool,
    pub into: IntoSyntax,
    pub load: Option<LoadSyntax>,
    /// The literals are parameters.
    pub lifted: bool,
    pub warnings: Vec<SqlError>,
    /// How many points the name has that the last tokens are of.
    pub points: usize,
    /// How far `in_updated_tables` has looked, and what it has seen.
    pub updated: UpdatedTables,
    /// Where the word is that says what the statement does: behind WITH, if it has that.
    pub verb: usize,
    /// The parentheses that are open now.
    pub open: Vec<Parenthesis>,
    /// Outside all of them.
    pub outside: Parenthesis,
    /// While a locking clause names tables: its UPDATE or SHARE, and what follows the names.
    pub locking: Option<(Token, Vec<Token>)>,
    /// The columns of each JSON_TABLE.
    pub json_tables: Vec<JsonTableSyntax>,
}

/// What is known of what stands in parentheses.
#[derive(Clone, Copy, Default)]
pub(super) struct Parenthesis {
    pub kind: Inside,
    /// The last clause that began is FROM.
    pub from: bool,
}

/// What stands in parentheses.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Inside {
    /// Tables of FROM.
    Tables,
    /// The arguments of CAST.
    Cast,
    /// The arguments of CHAR, with USING.
    Char,
    /// Those of JSON_TABLE.
    JsonTable,
    #[default]
    Other,
}

/// Whether the tokens so far are in the list of UPDATE's tables.
#[derive(Default)]
pub(super) struct UpdatedTables {
    seen: usize,
    depth: usize,
    over: bool,
}

/// `database.table.column` has so many points.
const POINTS_MAX: usize = 2;

/// How deep parentheses are looked into ahead.
const AHEAD_MAX: isize = 250;

impl<'a> Converter<'a> {
    /// Converts all tokens; returns how deep the tree can be.
    pub fn convert(&mut self, lifted: Option<&Lifted>) -> Result<usize, SqlError> {
        let mut lexer = self.begin()?;
        let mut places = lifted.map_or(&[][..], |l| &l.places[..]).iter();
        let mut place = places.next();
        let folded = lifted.and_then(|l| l.folded).unwrap_or((usize::MAX, 0));
        let mut skip_to = 0;
        let mut depth = Depth::default();
        loop {
            let token = lexer.next_token();
            if token.kind == Kind::End {
                break;
            }
            interrupt::step()?;
            if token.start < skip_to || (folded.0..folded.1).contains(&token.start) {
                continue;
            }
            let text = token.text(self.source);
            depth.take(token.kind, text);
            if let Some(&(start, end)) = place
                && start == token.start
            {
                place = places.next();
                skip_to = end;
                let whole = Token {
                    start,
                    end,
                    ..token
                };
                let name = format!("?{}", self.parameters);
                self.parameters += 1;
                self.push(whole, Out::Placeholder(name));
                continue;
            }
            if !self.is_name_short(token, text) {
                self.tokens.push(token);
                return Err(self.error_here());
            }
            let nothing_selected = self.follows(&["SELECT"]) && token.is_word(self.source, "FROM");
            // For the library these are LIMIT ALL and units such as DAY TO HOUR.
            let no_limit = self.follows(&["LIMIT"]) && token.is_word(self.source, "ALL");
            // LOCK IN SHARE MODE stands as FOR SHARE, and unlike it has no further words.
            let further = is_one_of(text, &["NOWAIT", "SKIP", "OF"]);
            let bad_lock = further && self.follows(&["MODE", "LOCK"]);
            if nothing_selected || no_limit || bad_lock || token.is_word(self.source, "TO") {
                self.tokens.push(token);
                return Err(self.error_here());
            }
            self.refuse_missing(token, text)?;
            if text == b"," && self.in_updated_tables() {
                self.push(token, Out::make_word("CROSS", None));
                self.push(token, Out::make_word("JOIN", None));
                continue;
            }
            self.warn(token, text, &lexer);
            self.warn_of_charset(token, text, &lexer);
            if self.convert_symbol(token, text, &lexer) {
                continue;
            }
            if let Some(rest) = self.take_more(token, &lexer)? {
                lexer = rest;
                continue;
            }
            if token.kind == Kind::Word {
                let next = lexer.clone().next_token();
                if self.last_is(".") && !next.is_symbol(self.source, "(") {
                    // After a point every word is a name.
                    let name = lexer::name(text);
                    let quote = reserved::is_reserved(text).then_some('`');
                    let kind = Kind::QuotedName;
                    self.push(Token { kind, ..token }, Out::make_word(&name, quote));
                    continue;
                }
                if self.rewrite_table(token, &lexer)? {
                    continue;
                }
                if let Some(rest) = self.take_words(token, &lexer)? {
                    lexer = rest;
                    continue;
                }
                self.note_verb(text);
                self.note_clause(text);
                self.note_locking(token, text, &lexer);
                if self.rewrite_word(token, text, next) || self.rewrite_call(token, text, &lexer) {
                    continue;
                }
            }
            let Some(out) = self.token(token, text, lifted.is_some()) else {
                self.tokens.push(token);
                return Err(self.error_here());
            };
            self.push(token, out);
        }
        Ok(depth.deepest())
    }

    /// A lexer at the beginning; of LOAD DATA, which the library is told as an INSERT, behind its SET.
    fn begin(&mut self) -> Result<Lexer<'a>, SqlError> {
        let mut lexer = Lexer::new(self.source, self.mode);
        let mut after = lexer.clone();
        let verb = after.next_token();
        if !verb.is_word(self.source, "LOAD") {
            return Ok(lexer);
        }
        let Some(read) = files::read_load(self.source, self.mode, &after)? else {
            return Ok(lexer);
        };
        self.load = Some(read.syntax);
        self.warnings.extend(read.warnings);
        self.push(verb, Out::make_word("INSERT", None));
        self.push(verb, Out::make_word("INTO", None));
        for token in read.table {
            let name = lexer::name(token.text(self.source));
            let out = match token.is_symbol(self.source, ".") {
                true => Out::Period,
                false => Out::make_word(&name, Some('`')),
            };
            self.push(token, out);
        }
        let Some(set) = read.set else {
            self.push(read.end, Out::make_word("VALUES", None));
            self.push(read.end, Out::LParen);
            self.push(read.end, Out::RParen);
            while lexer.next_token().kind != Kind::End {}
            return Ok(lexer);
        };
        self.push(set, Out::make_word("SET", None));
        while lexer.next_token() != set {}
        Ok(lexer)
    }

    /// What is read ahead here: then the lexer behind it.
    fn take_more<'l>(
        &mut self,
        token: Token,
        after: &Lexer<'l>,
    ) -> Result<Option<Lexer<'l>>, SqlError> {
        match token.is_word(self.source, "INTO") {
            true => self.take_into(after),
            false => self.take_json_columns(token, after),
        }
    }

    /// Notes that a character set is deprecated, if this is the name of one.
    fn warn_of_charset(&mut self, token: Token, text: &[u8], after: &Lexer) {
        let name = match (token.kind, text) {
            (Kind::String, [b'n' | b'N', ..]) => {
                self.warnings.extend(NamedCharset::NATIONAL.warning());
                return;
            }
            (Kind::Word, [b'_', name @ ..]) => {
                let next = after.clone().next_token().kind;
                match next {
                    Kind::String | Kind::Hex | Kind::Bit => name,
                    _ => return,
                }
            }
            (Kind::Word, name) if self.follows(&["USING"]) => name,
            _ => return,
        };
        let named = NamedCharset::find(&String::from_utf8_lossy(name)).ok();
        self.warnings.extend(named.and_then(NamedCharset::warning));
    }

    /// Notes what MySQL calls deprecated.
    fn warn(&mut self, token: Token, text: &[u8], after: &Lexer) {
        let (what, instead) = match (token.kind, text) {
            (Kind::Symbol, b"&&") => ("&&", "AND"),
            (Kind::Symbol, b"||") if !self.mode.pipes_as_concat => ("|| as a synonym for OR", "OR"),
            (Kind::Symbol, b"!") => ("!", "NOT"),
            (Kind::Word, _) if self.is_binary_operator(token, after) => ("BINARY expr", "CAST"),
            (Kind::Word, _) if is_one_of(text, &["SQL_NO_CACHE"]) && self.follows(&["SELECT"]) => {
                let warning = SqlError::deprecated_without_replacement("SQL_NO_CACHE");
                self.warnings.push(warning);
                return;
            }
            _ => return,
        };
        self.warnings.push(SqlError::deprecated(what, instead));
    }

    /// BINARY as an operator, not as a type or a character set.
    fn is_binary_operator(&self, token: Token, after: &Lexer) -> bool {
        const BEFORE_NAMES: [&str; 6] = ["AS", "SET", "CHARSET", "COLLATE", "USING", "RETURNING"];
        token.is_word(self.source, "BINARY")
            && !BEFORE_NAMES.iter().any(|word| self.follows(&[word]))
            && !after.clone().next_token().is_symbol(self.source, ")")
    }

    /// 1064 at the last token.
    fn error_here(&mut self) -> SqlError {
        let text = Text {
            source: self.source,
            mode: self.mode,
            tokens: std::mem::take(&mut self.tokens),
        };
        text.error_at(text.tokens.len().saturating_sub(1))
    }

    pub(super) fn push(&mut self, token: Token, out: Out) {
        self.tokens.push(token);
        let at = Location {
            line: 1,
            column: self.tokens.len() as u64,
        };
        self.out.push(TokenWithSpan::new(out, Span::new(at, at)));
    }

    /// Parentheses, and what depends on those that are open. True if the token is done with.
    fn convert_symbol(&mut self, token: Token, text: &[u8], after: &Lexer) -> bool {
        if token.kind != Kind::Symbol {
            return false;
        }
        match text {
            b"(" => {
                if self.inserts_query(after) {
                    self.push(token, Out::LParen);
                    self.push(token, Out::RParen);
                }
                let kind = self.opened(after);
                self.open.push(Parenthesis { kind, from: false });
                if kind == Inside::Tables {
                    self.push(token, Out::LParen);
                }
                false
            }
            b")" => {
                self.locking = None;
                if self.open.pop().is_some_and(|p| p.kind == Inside::Tables) {
                    self.push(token, Out::RParen);
                }
                false
            }
            // In parentheses, too, a comma binds less tightly than any JOIN.
            b"," if self.inside().kind == Inside::Tables => {
                let cross = ["CROSS", "JOIN"].map(|word| Out::make_word(word, None));
                let between = [Out::RParen].into_iter().chain(cross).chain([Out::LParen]);
                between.for_each(|out| self.push(token, out));
                true
            }
            b"," => self.lock_next(token),
            // DELETE t.* FROM …
            b"*" if self.last_is(".") && self.deletes_from_tables() => {
                self.tokens.pop();
                self.out.pop();
                true
            }
            _ => false,
        }
    }

    /// The innermost open parenthesis.
    fn inside(&self) -> Parenthesis {
        self.open.last().copied().unwrap_or(self.outside)
    }

    /// What the next parenthesis opens.
    fn opened(&self, after: &Lexer) -> Inside {
        let Some(last) = self.tokens.last() else {
            return Inside::Other;
        };
        let is = |word: &str| last.is_word(self.source, word);
        if is("CAST") {
            return Inside::Cast;
        }
        if is("CHAR") && self.is_rewritten() {
            return Inside::Char;
        }
        if is("JSON_TABLE") {
            return Inside::JsonTable;
        }
        let inside = self.inside();
        let lists = ["FROM", "JOIN", "STRAIGHT_JOIN", "UPDATE"];
        // … USE INDEX FOR JOIN (name)
        let is_hint = self.follows(&["JOIN", "FOR"]);
        let at_table = lists.into_iter().any(is) && !is_hint
            || inside.kind == Inside::Tables && last.is_symbol(self.source, "(")
            || (inside.kind == Inside::Tables || inside.from) && last.is_symbol(self.source, ",");
        let next = after.clone().next_token();
        let queries = ["SELECT", "WITH", "VALUES", "TABLE"];
        let is_query = queries.iter().any(|word| next.is_word(self.source, word));
        match at_table && !is_query {
            true => Inside::Tables,
            false => Inside::Other,
        }
    }

    /// Notes the UPDATE or DELETE behind WITH, and what follows EXPLAIN.
    fn note_verb(&mut self, text: &[u8]) {
        let writes = is_one_of(text, &["UPDATE", "DELETE"]);
        let behind_with = || self.begins_with("WITH") && self.open.is_empty() && self.last_is(")");
        let explained = || {
            let verbs = ["UPDATE", "DELETE", "INSERT", "REPLACE"];
            is_one_of(text, &verbs) && self.beginning() == self.tokens.len()
        };
        if writes && behind_with() || explained() {
            self.verb = self.tokens.len();
            self.updated = UpdatedTables {
                seen: self.verb,
                ..UpdatedTables::default()
            };
        }
    }

    /// Notes which clause of a query begins with a word.
    fn note_clause(&mut self, text: &[u8]) {
        const OTHERS: [&str; 9] = [
            "SELECT", "WHERE", "BY", "HAVING", "SET", "VALUES", "VALUE", "LIMIT", "INTO",
        ];
        let from = is_one_of(text, &["FROM"]);
        if from || is_one_of(text, &OTHERS) {
            self.open.last_mut().unwrap_or(&mut self.outside).from = from;
        }
    }

    /// What follows the document in JSON_TABLE, which the library reads in a way of its own: for
    /// it there is the number of the columns instead. Then the lexer behind them.
    fn take_json_columns<'l>(
        &mut self,
        comma: Token,
        after: &Lexer<'l>,
    ) -> Result<Option<Lexer<'l>>, SqlError> {
        let is_comma = comma.is_symbol(self.source, ",");
        if !is_comma || self.inside().kind != Inside::JsonTable {
            return Ok(None);
        }
        let (columns, rest) =
            json_table::read(self.source, self.mode, after.clone(), &mut self.warnings)?;
        let number = self.json_tables.len().to_string();
        self.json_tables.push(columns);
        let column = [Out::make_word("c", None)].into_iter();
        let column = column.chain(["FOR", "ORDINALITY"].map(|word| Out::make_word(word, None)));
        let before = [
            Out::Comma,
            Out::SingleQuotedString(number),
            Out::make_word("COLUMNS", None),
            Out::LParen,
        ];
        let all = before.into_iter().chain(column).chain([Out::RParen]);
        all.for_each(|out| self.push(comma, out));
        Ok(Some(rest))
    }

    /// Whether the last token stands for something else than itself.
    fn is_rewritten(&self) -> bool {
        let mut last = self.tokens.iter().rev().map(|token| token.start);
        let (last, before) = (last.next(), last.next());
        last.is_some() && last == before
    }

    /// FOR UPDATE OF a, b: sqlparser knows one table, so there is one clause for each. True if the
    /// token is the comma between two.
    fn lock_next(&mut self, token: Token) -> bool {
        let Some((kind, options)) = self.locking.clone() else {
            return false;
        };
        let kind = String::from_utf8_lossy(kind.text(self.source)).into_owned();
        let options = options.iter().map(|option| option.text(self.source));
        let options: Vec<_> = options.map(String::from_utf8_lossy).collect();
        let again = ["FOR", kind.as_str(), "OF"];
        let words = options.iter().map(|option| option.as_ref()).chain(again);
        words.for_each(|word| self.push(token, Out::make_word(word, None)));
        true
    }

    /// Notes that a list of tables begins which a locking clause names.
    fn note_locking(&mut self, token: Token, text: &[u8], after: &Lexer) {
        let of = |kind: &str| self.follows(&[kind, "FOR"]);
        if !is_one_of(text, &["OF"]) || !of("UPDATE") && !of("SHARE") {
            if is_one_of(
                text,
                &[
                    "FOR",
                    "NOWAIT",
                    "SKIP",
                    "ON",
                    "INTO",
                    "UNION",
                    "EXCEPT",
                    "INTERSECT",
                ],
            ) {
                self.locking = None;
            }
            return;
        }
        let mut options = Vec::new();
        let mut lexer = after.clone();
        loop {
            let next = lexer.next_token();
            let goes_on = match next.kind {
                Kind::Symbol => matches!(next.text(self.source), b"," | b"."),
                kind => kind != Kind::End && !next.is_word(self.source, "FOR"),
            };
            if !goes_on {
                break;
            }
            let words = ["NOWAIT", "SKIP", "LOCKED"];
            if words
                .into_iter()
                .any(|word| next.is_word(self.source, word))
            {
                options.push(next);
            } else if !options.is_empty() {
                break;
            }
        }
        let kind = self.tokens.last().copied().unwrap_or(token);
        self.locking = Some((kind, options));
    }

    fn last_is(&self, symbol: &str) -> bool {
        let last = self.tokens.last();
        last.is_some_and(|last| last.is_symbol(self.source, symbol))
    }

    /// Refuses what MySQL has here and sqlparser does not.
    fn refuse_missing(&self, token: Token, text: &[u8]) -> Result<(), SqlError> {
        if token.kind == Kind::Word && is_one_of(text, &["EXCLUDE"]) {
            let ends = ["PRECEDING", "FOLLOWING", "ROW"];
            if ends.iter().any(|word| self.follows(&[word])) {
                return Err(SqlError::not_supported("EXCLUDE"));
            }
        }
        Ok(())
    }

    /// Whether the statement, or what EXPLAIN explains, begins with a word.
    pub(super) fn begins_with(&self, word: &str) -> bool {
        let first = self.tokens.get(self.beginning());
        first.is_some_and(|first| first.is_word(self.source, word))
    }

    /// Where the statement begins: see the function.
    fn beginning(&self) -> usize {
        beginning(self.source, &self.tokens)
    }

    /// Whether the tokens so far name the tables that DELETE deletes from.
    fn deletes_from_tables(&self) -> bool {
        let is = |token: &Token, word: &str| token.is_word(self.source, word);
        let mut tokens = self.tokens.iter().skip(self.verb);
        tokens.next().is_some_and(|first| is(first, "DELETE"))
            && !tokens.any(|token| is(token, "SELECT") || is(token, "WHERE"))
    }

    /// Functions that are written in a way of their own. True if the word is done with.
    fn rewrite_call(&mut self, token: Token, text: &[u8], after: &Lexer) -> bool {
        let is = |words: &[&str]| is_one_of(text, words);
        let calls = after.clone().next_token().is_symbol(self.source, "(");
        if is(&["CHAR"]) && calls && has_using(after.clone(), self.source) {
            self.push(token, Out::make_word("CONVERT", None));
            self.push(token, Out::LParen);
            self.push(token, Out::make_word("CHAR", None));
            return true;
        }
        if is(&["USING"]) && self.inside().kind == Inside::Char {
            self.push(token, Out::RParen);
            return false;
        }
        if is(&["CURRENT_USER", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP"]) && !calls {
            let name = String::from_utf8_lossy(text);
            self.push(token, Out::make_word(&name, None));
            self.push(token, Out::LParen);
            self.push(token, Out::RParen);
            return true;
        }
        if is(&["MID"]) && calls {
            self.push(token, Out::make_word("SUBSTRING", None));
            return true;
        }
        if is(&["FROM"]) && self.trims_spaces() {
            self.push(token, Out::SingleQuotedString(" ".into()));
            return false;
        }
        if is(&["DATE", "TIME", "DATETIME", "TIMESTAMP"]) && self.follows_symbol("(", "GET_FORMAT")
        {
            let kind = String::from_utf8_lossy(text).into_owned();
            self.push(token, Out::SingleQuotedString(kind));
            return true;
        }
        // CAST(… AS SIGNED INT)
        is(&["INT", "INTEGER"]) && (self.follows(&["SIGNED"]) || self.follows(&["UNSIGNED"]))
    }

    /// Whether the spaces at the ends are to be trimmed: TRIM(BOTH FROM …).
    fn trims_spaces(&self) -> bool {
        let mut last = self.tokens.iter().rev();
        let side = last
            .next()
            .map_or(&b""[..], |token| token.text(self.source));
        is_one_of(side, &["BOTH", "LEADING", "TRAILING"])
            && last.next().is_some_and(|t| t.is_symbol(self.source, "("))
            && last.next().is_some_and(|t| t.is_word(self.source, "TRIM"))
    }

    /// CAST(… AS CHAR CHARACTER SET name): for sqlparser the character set is a FORMAT, a string in
    /// double quotes, which no literal is. Then the lexer behind it.
    fn take_charset<'l>(&mut self, token: Token, after: &Lexer<'l>) -> Option<Lexer<'l>> {
        if self.inside().kind != Inside::Cast {
            return None;
        }
        let mut lexer = after.clone();
        let named = token.is_word(self.source, "CHARSET")
            || token.is_word(self.source, "CHARACTER")
                && lexer.next_token().is_word(self.source, "SET");
        let name = lexer.next_token();
        if !named || self.follows(&["AS"]) {
            return None;
        }
        let text = name.text(self.source);
        let name = match name.kind {
            Kind::Word => String::from_utf8_lossy(text).into_owned(),
            Kind::QuotedName => lexer::name(text).into_owned(),
            Kind::String => String::from_utf8_lossy(&lexer::string(text, self.mode)).into_owned(),
            _ => return None,
        };
        let named = NamedCharset::find(&name).ok();
        self.warnings.extend(named.and_then(NamedCharset::warning));
        self.push(token, Out::make_word("FORMAT", None));
        self.push(token, Out::DoubleQuotedString(name));
        Some(lexer)
    }

    /// TABLE t as a query: SELECT * FROM t. True if the word is done with.
    fn rewrite_table(&mut self, token: Token, after: &Lexer) -> Result<bool, SqlError> {
        if !token.is_word(self.source, "TABLE") || !self.begins_query() {
            return Ok(false);
        }
        let mut lexer = after.clone();
        lexer.next_token();
        let mut next = lexer.next_token();
        if next.is_symbol(self.source, ".") {
            lexer.next_token();
            next = lexer.next_token();
        }
        let ends = [
            "ORDER",
            "LIMIT",
            "INTO",
            "UNION",
            "EXCEPT",
            "INTERSECT",
            "ON",
            "FOR",
            "LOCK",
        ];
        let goes_on = next.kind == Kind::End
            || [")", ";"]
                .iter()
                .any(|symbol| next.is_symbol(self.source, symbol))
            || ends.iter().any(|word| next.is_word(self.source, word));
        if !goes_on {
            self.tokens.push(next);
            return Err(self.error_here());
        }
        self.push(token, Out::make_word("SELECT", None));
        self.push(token, Out::Mul);
        self.push(token, Out::make_word("FROM", None));
        self.open.last_mut().unwrap_or(&mut self.outside).from = true;
        Ok(true)
    }

    /// Whether a query can begin behind the tokens so far.
    fn begins_query(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return true;
        };
        let operators = ["UNION", "EXCEPT", "INTERSECT"];
        let is = |token: &Token, words: &[&str]| {
            words.iter().any(|word| token.is_word(self.source, word))
        };
        let before = self.tokens.iter().rev().nth(1);
        let combines = is(last, &operators)
            || is(last, &["ALL", "DISTINCT"]) && before.is_some_and(|t| is(t, &operators));
        let inserts = self.begins_with("INSERT") || self.begins_with("REPLACE");
        let into = inserts && !is(last, &["INSERT", "REPLACE", "INTO", "IGNORE"]);
        let explains = self.beginning() == self.tokens.len();
        let follows_with = || self.begins_with("WITH") && self.last_is(")");
        combines || into || explains || self.last_is("(") || follows_with()
    }

    /// Words that are taken together: then the lexer behind them.
    fn take_words<'l>(
        &mut self,
        token: Token,
        after: &Lexer<'l>,
    ) -> Result<Option<Lexer<'l>>, SqlError> {
        match self.take_from_first(token, after)? {
            None => Ok(self.take_charset(token, after)),
            rest => Ok(rest),
        }
    }

    /// NTH_VALUE(…) FROM FIRST, which is what it does anyway: then the lexer behind it.
    fn take_from_first<'l>(
        &self,
        token: Token,
        after: &Lexer<'l>,
    ) -> Result<Option<Lexer<'l>>, SqlError> {
        if !token.is_word(self.source, "FROM") || !self.last_is(")") {
            return Ok(None);
        }
        let mut lexer = after.clone();
        let which = lexer.next_token();
        let next = lexer.clone().next_token();
        let goes_on = ["OVER", "RESPECT", "IGNORE"];
        if !goes_on.iter().any(|word| next.is_word(self.source, word)) {
            return Ok(None);
        }
        if which.is_word(self.source, "LAST") {
            return Err(SqlError::not_supported("FROM LAST"));
        }
        Ok(which.is_word(self.source, "FIRST").then_some(lexer))
    }

    /// The last words so far, newest first, are these (upper case)?
    fn follows(&self, words: &[&str]) -> bool {
        words
            .iter()
            .zip(self.tokens.iter().rev())
            .filter(|(word, token)| token.is_word(self.source, word))
            .count()
            == words.len()
    }

    /// The last two tokens are this word and this symbol?
    pub(super) fn follows_symbol(&self, symbol: &str, word: &str) -> bool {
        let mut last = self.tokens.iter().rev();
        last.next()
            .is_some_and(|t| t.is_symbol(self.source, symbol))
            && last.next().is_some_and(|t| t.is_word(self.source, word))
    }

    /// Whether the next token is in the list of UPDATE's tables, outside parentheses. For
    /// sqlparser these are one table and its joins. (A RIGHT JOIN would see the tables before
    /// the comma then; the planner refuses it.)
    fn in_updated_tables(&mut self) -> bool {
        let UpdatedTables { seen, depth, over } = &mut self.updated;
        let unseen = self.tokens.get(*seen..).unwrap_or_default();
        for token in unseen {
            let is = |word: &str| token.is_word(self.source, word);
            match token.text(self.source) {
                b"(" => *depth += 1,
                b")" => *depth = depth.saturating_sub(1),
                _ => *over |= is("SET"),
            }
        }
        *seen = self.tokens.len();
        let verb = self.tokens.get(self.verb);
        let updates = verb.is_some_and(|token| token.is_word(self.source, "UPDATE"));
        updates && !*over && *depth == 0
    }

    /// Whether a name has no more parts with this token than a name can have. The library would
    /// take any number of them, each in more time than the one before.
    fn is_name_short(&mut self, token: Token, text: &[u8]) -> bool {
        let last = self.tokens.last();
        if token.kind == Kind::Symbol && text == b"." {
            self.points += 1;
        } else if !last.is_some_and(|last| last.is_symbol(self.source, ".")) {
            self.points = 0;
        }
        self.points <= POINTS_MAX
    }

    /// Whether the last token ends an operand.
    fn after_operand(&self) -> bool {
        let Some(last) = self.tokens.last() else {
            return false;
        };
        let text = last.text(self.source);
        match last.kind {
            Kind::Symbol => text == b")",
            Kind::Word => !is_one_of(
                text,
                &[
                    "SELECT", "WHERE", "AND", "OR", "NOT", "XOR", "BY", "ON", "SET", "WHEN",
                    "THEN", "ELSE", "CASE", "IN", "LIKE", "BETWEEN", "HAVING", "DISTINCT", "ALL",
                    "DIV", "MOD", "IS", "LIMIT", "VALUES",
                ],
            ),
            _ => true,
        }
    }

    /// What sqlparser does not know, said in words that it does. True if the word is done with.
    fn rewrite_word(&mut self, token: Token, text: &[u8], next: Token) -> bool {
        let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
        if is("MODE") && self.follows(&["SHARE", "IN", "LOCK"]) {
            let first = self.tokens.len() - 3;
            let words = self.tokens.split_off(first);
            self.out.truncate(first);
            let begin = words.first().copied().unwrap_or(token);
            self.push(begin, Out::make_word("FOR", None));
            self.push(token, Out::make_word("SHARE", None));
            return true;
        }
        let first = self.tokens.get(self.verb).map(|t| t.text(self.source));
        let of = |word: &str| first.is_some_and(|f| f.eq_ignore_ascii_case(word.as_bytes()));
        let leading = self.tokens.len() == self.verb + 1;
        if leading && (of("UPDATE") || of("DELETE")) {
            if is("IGNORE") {
                self.ignore = true;
                return true;
            }
            return is("LOW_PRIORITY") || is("QUICK");
        }
        // INSERT … VALUE (…); VALUE is no reserved word, so a column may have that name.
        let opens_list = || {
            let rest = self.source.get(token.end..).unwrap_or_default();
            rest.trim_ascii_start().first() == Some(&b'(')
        };
        if is("VALUE") && (of("INSERT") || of("REPLACE")) && opens_list() {
            self.push(token, Out::make_word("VALUES", None));
            return true;
        }
        // A row is a list in parentheses.
        if is("ROW") && next.is_symbol(self.source, "(") {
            self.push(token, Out::Whitespace(Whitespace::Space));
            return true;
        }
        if is("MOD") && self.after_operand() {
            self.push(token, Out::Mod);
            return true;
        }
        let explains = of("EXPLAIN") || of("DESCRIBE") || of("DESC");
        if explains && self.follows_symbol("=", "FORMAT") && !(is("TREE") || is("JSON")) {
            // Words of other servers: one for the form of old, one for those that there are not.
            let known = is("TRADITIONAL") || is("DEFAULT");
            let word = if known { "TEXT" } else { "GRAPHVIZ" };
            self.push(token, Out::make_word(word, None));
            return true;
        }
        if is("DISTINCTROW") {
            self.push(token, Out::make_word("DISTINCT", None));
            return true;
        }
        if self.rewrite_unit(token, text) {
            return true;
        }
        if is("NOT") && self.mode.high_not_precedence && self.negates() {
            self.push(token, Out::ExclamationMark);
            return true;
        }
        if is("INTERVAL") && self.opens_several(token) {
            self.push(token, Out::make_word("interval", Some('`')));
            return true;
        }
        is("SQL_SMALL_RESULT") || is("SQL_BIG_RESULT") || is("SQL_BUFFER_RESULT")
    }

    /// Whether NOT is an operator here, and no part of IS NOT, NOT IN and the like.
    fn negates(&self) -> bool {
        !self.after_operand() && !self.follows(&["IS"])
    }

    /// Whether a list of several values in parentheses follows: INTERVAL (1) DAY has one, the
    /// function INTERVAL(1, 2) more.
    fn opens_several(&self, token: Token) -> bool {
        let rest = self.source.get(token.end..).unwrap_or_default();
        let mut lexer = Lexer::new(rest, self.mode);
        let mut depth = 0_isize;
        loop {
            let next = lexer.next_token();
            match (next.kind, next.text(rest)) {
                (Kind::Symbol, b"(") => depth += 1,
                (Kind::Symbol, b")") => depth -= 1,
                (Kind::Symbol, b",") if depth == 1 => return true,
                (Kind::End, _) => return false,
                _ => {}
            }
            if !(1..=AHEAD_MAX).contains(&depth) {
                return false;
            }
        }
    }

    fn token(&mut self, token: Token, text: &[u8], lifted: bool) -> Option<Out> {
        let string = || String::from_utf8_lossy(text).into_owned();
        Some(match token.kind {
            Kind::Word => Out::make_word(&lexer::name(text), None),
            Kind::QuotedName => Out::make_word(&lexer::name(text), Some('`')),
            Kind::UserVariable => Out::make_word(&format!("@{}", lexer::name(text)), None),
            Kind::SystemVariable => Out::make_word(&format!("@@{}", lexer::name(text)), None),
            Kind::Integer | Kind::Decimal | Kind::Float => Out::Number(string(), false),
            Kind::String => {
                let is_national = matches!(text, [b'n' | b'N', ..]);
                let bytes = lexer::string(text, self.mode).into_owned();
                match String::from_utf8(bytes) {
                    Ok(string) if is_national => Out::NationalStringLiteral(string),
                    Ok(string) => Out::SingleQuotedString(string),
                    // Only a binary string holds such bytes, and hexadecimal ones are binary.
                    Err(error) => Out::HexStringLiteral(hex(error.as_bytes())),
                }
            }
            Kind::Hex => Out::HexStringLiteral(digits(text)),
            Kind::Bit => Out::SingleQuotedByteStringLiteral(digits(text)),
            Kind::Placeholder => {
                if lifted {
                    return None;
                }
                let name = format!("?{}", self.parameters);
                self.parameters += 1;
                Out::Placeholder(name)
            }
            Kind::Symbol => self.symbol(text)?,
            Kind::Invalid | Kind::End => return None,
        })
    }

    fn symbol(&self, text: &[u8]) -> Option<Out> {
        Some(match text {
            b"(" => Out::LParen,
            b")" => Out::RParen,
            b"," => Out::Comma,
            b"." => Out::Period,
            b";" => Out::SemiColon,
            b":" => Out::Colon,
            b"=" => Out::Eq,
            b"<>" | b"!=" => Out::Neq,
            b"<" => Out::Lt,
            b">" => Out::Gt,
            b"<=" => Out::LtEq,
            b">=" => Out::GtEq,
            b"<=>" => Out::Spaceship,
            b"+" => Out::Plus,
            b"-" => Out::Minus,
            b"*" => Out::Mul,
            b"/" => Out::Div,
            b"%" => Out::Mod,
            b"||" if self.mode.pipes_as_concat => Out::StringConcat,
            b"||" => Out::make_word("OR", None),
            b"&&" => Out::make_word("AND", None),
            b":=" => Out::Assignment,
            b"&" => Out::Ampersand,
            b"|" => Out::Pipe,
            b"^" => Out::Caret,
            b"~" => Out::Tilde,
            b"!" => Out::ExclamationMark,
            b"<<" => Out::ShiftLeft,
            b">>" => Out::ShiftRight,
            b"->" => Out::Arrow,
            b"->>" => Out::LongArrow,
            b"{" => Out::LBrace,
            b"}" => Out::RBrace,
            _ => return None,
        })
    }
}

/// Whether USING stands directly in the parentheses that follow.
fn has_using(mut lexer: Lexer, source: &[u8]) -> bool {
    let mut depth = 0_isize;
    loop {
        let next = lexer.next_token();
        match (next.kind, next.text(source)) {
            (Kind::Symbol, b"(") => depth += 1,
            (Kind::Symbol, b")") => depth -= 1,
            (Kind::Word, text) if depth == 1 && is_one_of(text, &["USING"]) => return true,
            (Kind::End, _) => return false,
            _ => {}
        }
        if !(1..=AHEAD_MAX).contains(&depth) {
            return false;
        }
    }
}

/// The digits of `x'1F'`, `0x1F`, `b'01'` or `0b01`.
fn digits(text: &[u8]) -> String {
    let inner = text.get(2..).unwrap_or_default();
    let inner = inner.strip_suffix(b"'").unwrap_or(inner);
    String::from_utf8_lossy(inner).into_owned()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02X}");
        out
    })
}

/// Which token a statement begins with: behind EXPLAIN and its clauses, if these are there.
pub(super) fn beginning(source: &[u8], tokens: &[Token]) -> usize {
    const EXPLAIN: [&str; 3] = ["EXPLAIN", "DESCRIBE", "DESC"];
    let is = |token: &Token, words: &[&str]| is_one_of(token.text(source), words);
    let mut tokens = tokens.iter();
    if !tokens.next().is_some_and(|first| is(first, &EXPLAIN)) {
        return 0;
    }
    let is_clause = |token: &&Token| is(token, &EXPLAIN_CLAUSES);
    1 + tokens.take_while(is_clause).count()
}

//! What statements say of files: LOAD DATA, and the INTO OUTFILE and INTO DUMPFILE of a SELECT.
//!
//! ```text
//! LOAD DATA LOCAL INFILE 'people.csv' IGNORE INTO TABLE people
//!     CHARACTER SET utf8mb4
//!     FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"'
//!     LINES TERMINATED BY '\r\n' IGNORE 1 LINES
//!     (id, name, @born) SET born = STR_TO_DATE(@born, '%d.%m.%Y')
//! ```
//!
//! The library knows none of it. What stands before SET is read here; for the library the statement
//! is `INSERT INTO people SET …`, or `INSERT INTO people VALUES ()` if nothing is SET.

use crate::{
    collations::NamedCharset,
    command::{Cursor, Parsed},
    error::SqlError,
    lexer::{self, Kind, Lexer, Mode, Token},
};
use cohort_engine::types::Charset;
use sqlparser::ast;

/// How rows stand in a file: FIELDS and LINES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// FIELDS TERMINATED BY.
    pub between: Vec<u8>,
    /// ENCLOSED BY.
    pub enclosed: Vec<u8>,
    /// OPTIONALLY: only texts are.
    pub optionally: bool,
    /// ESCAPED BY.
    pub escaped: Vec<u8>,
    /// That was said, and is not the default.
    pub escaped_given: bool,
    /// LINES STARTING BY.
    pub starting: Vec<u8>,
    /// LINES TERMINATED BY.
    pub lines: Vec<u8>,
}

impl Default for FileFormat {
    fn default() -> FileFormat {
        FileFormat {
            between: b"\t".to_vec(),
            enclosed: Vec::new(),
            optionally: false,
            escaped: b"\\".to_vec(),
            escaped_given: false,
            starting: Vec::new(),
            lines: b"\n".to_vec(),
        }
    }
}

impl FileFormat {
    /// The byte that escapes others: the default one does not under NO_BACKSLASH_ESCAPES.
    #[must_use]
    pub fn escape(&self, no_backslash_escapes: bool) -> Option<u8> {
        let first = self.escaped.first().copied();
        first.filter(|_| self.escaped_given || !no_backslash_escapes)
    }

    /// Whether fields have a fixed number of bytes each, and nothing stands between them.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        self.between.is_empty() && self.enclosed.is_empty()
    }

    /// 1083 if what escapes or encloses is longer than may be; what is to be said of separators that
    /// are not ASCII.
    pub fn check(&self, length: fn(&[u8]) -> usize) -> Result<Option<SqlError>, SqlError> {
        if length(&self.escaped) > 1 || length(&self.enclosed) > 1 {
            return Err(SqlError::wrong_field_terminators());
        }
        let all = [
            &self.escaped,
            &self.enclosed,
            &self.between,
            &self.lines,
            &self.starting,
        ];
        let is_ascii = all.iter().all(|one| one.is_ascii());
        Ok((!is_ascii).then(SqlError::separator_not_ascii))
    }
}

/// LOAD DATA, but for its table and what it SETs.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSyntax {
    /// The file.
    pub file: String,
    /// LOCAL: it is the client's.
    pub local: bool,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// CHARACTER SET.
    pub charset: Option<Charset>,
    /// FIELDS and LINES.
    pub format: FileFormat,
    /// IGNORE n LINES.
    pub skip: u64,
    /// Where the fields go; none: to all columns.
    pub targets: Vec<FieldTarget>,
}

impl LoadSyntax {
    /// The user variables that fields go to.
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let names = self.targets.iter().filter_map(|target| match target {
            FieldTarget::Variable(name) => Some(name.as_str()),
            FieldTarget::Column(_) => None,
        });
        names.collect()
    }
}

/// Where a field of a file goes.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldTarget {
    /// To a column.
    Column(ast::ObjectName),
    /// To a user variable, whose name is in lower case.
    Variable(String),
}

/// Where the rows of a SELECT go.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum IntoSyntax {
    /// To the client.
    #[default]
    Client,
    /// Into user variables.
    Variables(Vec<String>),
    /// Into a file.
    File(IntoFile),
}

/// INTO OUTFILE and INTO DUMPFILE.
#[derive(Clone, Debug, PartialEq)]
pub struct IntoFile {
    /// The file.
    pub path: String,
    /// DUMPFILE: one row, as it is.
    pub dump: bool,
    /// CHARACTER SET.
    pub charset: Option<Charset>,
    /// FIELDS and LINES.
    pub format: FileFormat,
}

/// A LOAD DATA that was read up to its SET.
pub(super) struct ReadLoad {
    pub syntax: LoadSyntax,
    /// The tokens of its table.
    pub table: Vec<Token>,
    /// Its SET, behind which the library goes on.
    pub set: Option<Token>,
    /// Where it ends, if it has none.
    pub end: Token,
    /// What it warns of.
    pub warnings: Vec<SqlError>,
}

/// Reads LOAD DATA, whose first token is here; `None`: it is another statement.
pub(super) fn read_load(
    source: &[u8],
    mode: Mode,
    lexer: &Lexer<'_>,
) -> Result<Option<ReadLoad>, SqlError> {
    let mut tokens = Vec::new();
    let mut lexer = lexer.clone();
    let end = loop {
        let token = lexer.next_token();
        if token.kind == Kind::End {
            break token;
        }
        tokens.push(token);
    };
    let is = |word: &str| tokens.first().is_some_and(|t| t.is_word(source, word));
    if is("XML") {
        return Err(SqlError::not_supported("LOAD XML"));
    }
    if !is("DATA") {
        return Ok(None);
    }
    let mut c = Cursor::of_part(source, mode, tokens.clone(), source.len());
    c.next();
    load(&mut c, &tokens, end).map(Some)
}

fn load(c: &mut Cursor, tokens: &[Token], end: Token) -> Parsed<ReadLoad> {
    let mut warnings = Vec::new();
    // There are no table locks that it could wait for or pass by.
    c.eat_any(&["LOW_PRIORITY", "CONCURRENT"]);
    c.eat("FROM");
    let local = c.eat("LOCAL");
    if c.is("URL") || c.is("S3") {
        return Err(SqlError::not_supported("LOAD DATA from a URL or from S3"));
    }
    c.expect("INFILE")?;
    let file = c.string()?;
    if c.is("COUNT") || c.is("IN") {
        return Err(SqlError::not_supported("Bulk Load"));
    }
    let duplicates = c.eat_any(&["REPLACE", "IGNORE"]);
    c.expect("INTO")?;
    c.expect("TABLE")?;
    let first = c.place();
    c.table()?;
    let table = tokens.get(first..c.place()).unwrap_or_default().to_vec();
    if c.is("PARTITION") {
        return Err(SqlError::not_supported("PARTITION"));
    }
    let charset = charset(c, &mut warnings)?;
    let format = format(c)?;
    let mut skip = 0;
    if c.eat("IGNORE") {
        skip = c.unsigned()?;
        if !c.eat("ROWS") {
            c.expect("LINES")?;
        }
    }
    let mut targets = Vec::new();
    if c.eat_symbol("(") && !c.eat_symbol(")") {
        targets = c.list(target)?;
        c.expect_symbol(")")?;
    }
    let set = c.is("SET").then(|| c.next());
    if set.is_none() {
        if c.is("PARALLEL") || c.is("MEMORY") || c.is("ALGORITHM") {
            return Err(SqlError::not_supported("Bulk Load"));
        }
        c.expect_end()?;
    }
    Ok(ReadLoad {
        syntax: LoadSyntax {
            file,
            local,
            replace: duplicates == Some(0),
            ignore: duplicates == Some(1),
            charset,
            format,
            skip,
            targets,
        },
        table,
        set,
        end,
        warnings,
    })
}

fn target(c: &mut Cursor) -> Parsed<FieldTarget> {
    if c.peek().kind == Kind::UserVariable {
        return Ok(FieldTarget::Variable(c.user_variable()?.to_lowercase()));
    }
    let mut parts = vec![c.name()?];
    while parts.len() < 3 && c.eat_symbol(".") {
        parts.push(c.any_name()?);
    }
    let parts = parts.into_iter();
    let parts: Vec<ast::Ident> = parts
        .map(|part| ast::Ident::with_quote('`', part))
        .collect();
    Ok(FieldTarget::Column(parts.into()))
}

/// `'file'` and what follows it, behind OUTFILE, or DUMPFILE, which is followed by nothing.
pub(super) fn read_into_file(
    source: &[u8],
    mode: Mode,
    lexer: &Lexer<'_>,
    dump: bool,
    warnings: &mut Vec<SqlError>,
) -> Result<(IntoFile, usize), SqlError> {
    let mut tokens = Vec::new();
    let mut lexer = lexer.clone();
    loop {
        let token = lexer.next_token();
        if token.kind == Kind::End {
            break;
        }
        tokens.push(token);
    }
    let mut c = Cursor::of_part(source, mode, tokens, source.len());
    let mut into = IntoFile {
        path: c.string()?,
        dump,
        charset: None,
        format: FileFormat::default(),
    };
    if !dump {
        into.charset = charset(&mut c, warnings)?;
        into.format = format(&mut c)?;
    }
    Ok((into, c.place()))
}

/// `CHARACTER SET name`, if it is here.
fn charset(c: &mut Cursor, warnings: &mut Vec<SqlError>) -> Parsed<Option<Charset>> {
    let is_here =
        c.eat_all(&["CHARACTER", "SET"]) || c.eat_all(&["CHAR", "SET"]) || c.eat("CHARSET");
    if !is_here {
        return Ok(None);
    }
    let named = NamedCharset::find(&c.name_or_string()?)?;
    warnings.extend(named.warning());
    Ok(Some(named.charset))
}

/// FIELDS and LINES, as far as they are here.
fn format(c: &mut Cursor) -> Parsed<FileFormat> {
    let mut format = FileFormat::default();
    if c.eat_any(&["FIELDS", "COLUMNS"]).is_some() {
        let first = c.place();
        loop {
            if c.eat("TERMINATED") {
                format.between = by(c)?;
            } else if c.is("OPTIONALLY") || c.is("ENCLOSED") {
                format.optionally = c.eat("OPTIONALLY");
                c.expect("ENCLOSED")?;
                format.enclosed = by(c)?;
            } else if c.eat("ESCAPED") {
                format.escaped = by(c)?;
                format.escaped_given = true;
            } else if c.place() == first {
                return Err(c.error());
            } else {
                break;
            }
        }
    }
    if c.eat("LINES") {
        let first = c.place();
        loop {
            if c.eat("TERMINATED") {
                format.lines = by(c)?;
            } else if c.eat("STARTING") {
                format.starting = by(c)?;
            } else if c.place() == first {
                return Err(c.error());
            } else {
                break;
            }
        }
    }
    Ok(format)
}

/// `BY 'text'`: of a string the bytes that it has in UTF-8, or hexadecimal or binary digits.
fn by(c: &mut Cursor) -> Parsed<Vec<u8>> {
    c.expect("BY")?;
    let token = c.peek();
    let bytes = match token.kind {
        Kind::String => Some(lexer::string(c.text(token), c.mode()).into_owned()),
        Kind::Hex | Kind::Bit => lexer::bits(token.kind, c.text(token)),
        _ => None,
    };
    let bytes = bytes.ok_or_else(|| c.error())?;
    c.next();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn parsed(source: &str) -> Result<(Option<LoadSyntax>, String), SqlError> {
        parse::parse(source.as_bytes(), Mode::default(), None, |parsed| {
            Ok((parsed.load.clone(), parsed.statement.to_string()))
        })
    }

    #[test]
    fn clauses_are_read_and_the_rest_is_an_insert() {
        let (load, rest) = parsed(
            "LOAD DATA CONCURRENT LOCAL INFILE 'f' REPLACE INTO TABLE d.t CHARACTER SET latin1 \
             COLUMNS TERMINATED BY x'2c3b' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '' \
             LINES STARTING BY '>' TERMINATED BY '\\r\\n' IGNORE 2 ROWS (a, @B, t.c) \
             SET d = @b + (SELECT 1), e = DEFAULT",
        )
        .expect("a statement");
        let load = load.expect("a LOAD DATA");
        assert_eq!(
            (load.local, load.replace, load.ignore, load.skip),
            (true, true, false, 2)
        );
        assert_eq!(load.charset, Some(Charset::Latin1));
        assert_eq!(load.format.between, b",;");
        assert_eq!(load.format.lines, b"\r\n");
        assert!(load.format.optionally && load.format.escaped_given);
        assert_eq!(load.targets.len(), 3);
        assert_eq!(
            load.targets.get(1),
            Some(&FieldTarget::Variable("b".into()))
        );
        assert_eq!(
            rest,
            "INSERT INTO `d`.`t` SET d = @b + (SELECT 1), e = DEFAULT"
        );
        let (load, rest) = parsed("LOAD DATA INFILE 'f' INTO TABLE `t`").expect("a statement");
        assert_eq!(load.map(|load| load.format), Some(FileFormat::default()));
        assert_eq!(rest, "INSERT INTO `t` VALUES ()");
    }

    #[test]
    fn errors_show_where_they_are() {
        for (source, near) in [
            ("LOAD DATA INFILE x INTO TABLE t", "near 'x INTO TABLE t'"),
            ("LOAD DATA INFILE 'x' INTO t", "near 't'"),
            ("LOAD DATA INFILE 'x' INTO TABLE t AS x", "near 'AS x'"),
            (
                "LOAD DATA INFILE 'x' INTO TABLE t FIELDS LINES",
                "near 'LINES'",
            ),
            (
                "LOAD DATA INFILE 'x' INTO TABLE t IGNORE 2 (c)",
                "near '(c)'",
            ),
        ] {
            let error = parsed(source).expect_err(source);
            assert!(error.message.contains(near), "{source}: {}", error.message);
        }
    }
}

//! The columns of JSON_TABLE: what is written behind the document.
//!
//! ```text
//! JSON_TABLE(document, '$[*]' COLUMNS (
//!     n FOR ORDINALITY,
//!     name VARCHAR(20) PATH '$.name' DEFAULT '"nobody"' ON EMPTY,
//!     NESTED PATH '$.of[*]' COLUMNS (part INT PATH '$')
//! )) AS t
//! ```
//!
//! The library knows such columns, but fewer types than a column has, and not in which order the
//! clauses are.

use crate::{
    command::{Cursor, Parsed},
    data_type::{DataType, charset_clause, data_type},
    error::SqlError,
    interrupt,
    lexer::{Kind, Lexer, Mode},
};

/// A path, and the columns of what it leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTableSyntax {
    /// The path.
    pub path: String,
    /// The columns, and what is nested, in their order.
    pub columns: Vec<JsonColumnSyntax>,
}

/// A column of JSON_TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumnSyntax {
    /// name FOR ORDINALITY
    Ordinality(String),
    /// name type EXISTS PATH path
    Exists {
        /// Its name.
        name: String,
        /// Its type.
        ty: DataType,
        /// What is to be there.
        path: String,
    },
    /// name type PATH path
    Value {
        /// Its name.
        name: String,
        /// Its type.
        ty: DataType,
        /// Where the value is.
        path: String,
        /// … ON EMPTY
        on_empty: OtherwiseSyntax,
        /// … ON ERROR
        on_error: OtherwiseSyntax,
    },
    /// NESTED PATH
    Nested(JsonTableSyntax),
}

/// What a column is without a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum OtherwiseSyntax {
    /// NULL
    #[default]
    Null,
    /// ERROR
    Error,
    /// DEFAULT 'document'
    Default(String),
}

/// Reads what is behind the comma, up to the parenthesis that ends the arguments; then the lexer
/// before that.
pub(super) fn read<'l>(
    source: &[u8],
    mode: Mode,
    mut lexer: Lexer<'l>,
    warnings: &mut Vec<SqlError>,
) -> Result<(JsonTableSyntax, Lexer<'l>), SqlError> {
    let mut tokens = Vec::new();
    let mut depth = 0_usize;
    let (rest, end) = loop {
        interrupt::step()?;
        let before = lexer.clone();
        let token = lexer.next_token();
        if token.is_symbol(source, "(") {
            depth += 1;
        } else if token.is_symbol(source, ")") && depth > 0 {
            depth -= 1;
        } else if token.kind == Kind::End || token.is_symbol(source, ")") {
            break (before, token.start);
        }
        tokens.push(token);
    };
    let mut c = Cursor::of_part(source, mode, tokens, end);
    let table = columns(&mut c, 0, warnings)?;
    c.expect_end()?;
    Ok((table, rest))
}

/// `'path' COLUMNS (column, …)`, inside so many others.
fn columns(c: &mut Cursor, depth: usize, warnings: &mut Vec<SqlError>) -> Parsed<JsonTableSyntax> {
    /// Deeper than MySQL allows, which is told where the table's name is known.
    const DEPTH_MAX: usize = 64;
    if depth > DEPTH_MAX {
        return Err(SqlError::nesting_too_deep());
    }
    let path = text(c)?;
    c.expect("COLUMNS")?;
    c.expect_symbol("(")?;
    let columns = c.list(|c| column(c, depth, warnings))?;
    c.expect_symbol(")")?;
    Ok(JsonTableSyntax { path, columns })
}

/// A string, with a character set before it perhaps.
fn text(c: &mut Cursor) -> Parsed<String> {
    if c.peek_at(1).kind == Kind::String {
        c.eat_any(&["_UTF8MB4", "_UTF8MB3", "_UTF8"]);
    }
    c.string()
}

fn column(c: &mut Cursor, depth: usize, warnings: &mut Vec<SqlError>) -> Parsed<JsonColumnSyntax> {
    if c.eat("NESTED") {
        c.expect("PATH")?;
        return Ok(JsonColumnSyntax::Nested(columns(c, depth + 1, warnings)?));
    }
    let name = c.name()?;
    if c.eat("FOR") {
        c.expect("ORDINALITY")?;
        return Ok(JsonColumnSyntax::Ordinality(name));
    }
    let mut ty = match c.eat("SERIAL") {
        true => DataType::serial(),
        false => data_type(c, &name)?,
    };
    if c.is("COLLATE") {
        charset_clause(c, &mut ty.charset)?;
    }
    let exists = c.eat("EXISTS");
    c.expect("PATH")?;
    let path = text(c)?;
    let (on_empty, on_error) = clauses(c, warnings)?;
    Ok(match exists {
        // What it is without a value is never asked.
        true => JsonColumnSyntax::Exists { name, ty, path },
        false => JsonColumnSyntax::Value {
            name,
            ty,
            path,
            on_empty,
            on_error,
        },
    })
}

/// `[… ON EMPTY] [… ON ERROR]`, or the other way round.
fn clauses(
    c: &mut Cursor,
    warnings: &mut Vec<SqlError>,
) -> Parsed<(OtherwiseSyntax, OtherwiseSyntax)> {
    let (mut on_empty, mut on_error) = (None, None);
    while on_empty.is_none() || on_error.is_none() {
        let Some(clause) = otherwise(c)? else {
            break;
        };
        c.expect("ON")?;
        if on_empty.is_none() && c.eat("EMPTY") {
            if on_error.is_some() {
                warnings.push(SqlError::deprecated_on_empty_after_on_error());
            }
            on_empty = Some(clause);
        } else if on_error.is_none() {
            c.expect("ERROR")?;
            on_error = Some(clause);
        } else {
            return Err(c.error());
        }
    }
    Ok((on_empty.unwrap_or_default(), on_error.unwrap_or_default()))
}

fn otherwise(c: &mut Cursor) -> Parsed<Option<OtherwiseSyntax>> {
    if c.eat("NULL") {
        return Ok(Some(OtherwiseSyntax::Null));
    }
    if c.eat("ERROR") {
        return Ok(Some(OtherwiseSyntax::Error));
    }
    if !c.eat("DEFAULT") {
        return Ok(None);
    }
    let token = c.peek();
    let is_literal = match token.kind {
        Kind::Hex | Kind::Bit => return Err(SqlError::invalid_json_charset("binary")),
        Kind::Integer | Kind::Decimal | Kind::Float => true,
        Kind::Symbol => c.is_symbol("-") || c.is_symbol("+"),
        Kind::Word => {
            let words = ["TRUE", "FALSE", "DATE", "TIME", "TIMESTAMP"];
            words.iter().any(|word| c.is(word))
        }
        _ => false,
    };
    if is_literal {
        let what = "non-string DEFAULT value for a column in a JSON_TABLE expression";
        return Err(SqlError::not_supported(what));
    }
    Ok(Some(OtherwiseSyntax::Default(text(c)?)))
}

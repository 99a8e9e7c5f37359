//! sqlparser's MySQL dialect with MySQL's operator precedence.

use crate::{
    expr::JSON_VALUE,
    interrupt,
    search::{MATCH_AGAINST, SearchMode},
};
use sqlparser::{
    ast::{
        BinaryOperator, CastKind, CharacterLength, DataType, Expr, Function, FunctionArg,
        FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, SetExpr,
        Statement, UnaryOperator, Value,
    },
    dialect::{Dialect, MySqlDialect, Precedence},
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Token, Whitespace},
};
use std::any::TypeId;

/// The library's dialect, which it wraps and pretends to be.
#[derive(Debug, Default)]
pub(super) struct MySql(MySqlDialect);

/// Of `<<` and `>>`: below `+` and `-`, above `&`.
const SHIFT: u8 = 27;
/// Of the signs, `~`, `!` and the operator BINARY: above `^`.
const UNARY: u8 = 46;

/// Of `->` and `->>`: above all others.
const ARROW: u8 = 48;

/// Passes methods on to the library's dialect.
macro_rules! delegate {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool { self.0.$name() })*
    };
}

impl Dialect for MySql {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }
    fn is_identifier_start(&self, c: char) -> bool {
        self.0.is_identifier_start(c)
    }
    fn is_identifier_part(&self, c: char) -> bool {
        self.0.is_identifier_part(c)
    }
    fn is_delimited_identifier_start(&self, c: char) -> bool {
        self.0.is_delimited_identifier_start(c)
    }
    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.0.identifier_quote_style(identifier)
    }
    fn parse_infix(
        &self,
        parser: &mut Parser,
        expr: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Err(error) = check_left(parser, expr) {
            return Some(Err(error));
        }
        if sounds_like_follows(parser) {
            return Some(sounds_like(parser, expr, precedence));
        }
        let like = self.prec_value(Precedence::Like);
        let own = in_list(parser, expr)
            .or_else(|| quantified(parser, expr))
            .or_else(|| matches_null(parser, expr, like));
        own.or_else(|| self.0.parse_infix(parser, expr, precedence))
    }
    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        if OTHERS.iter().any(|word| word_follows(parser, word)) {
            let first = parser.peek_token_ref();
            return Some(parser.expected_ref("a statement", first));
        }
        self.0.parse_statement(parser)
    }
    fn is_table_factor_alias(&self, explicit: bool, word: &Keyword, parser: &mut Parser) -> bool {
        !is_variable_read(parser) && self.0.is_table_factor_alias(explicit, word, parser)
    }
    /// Words that go on after a select list are no aliases in it.
    fn is_select_item_alias(&self, explicit: bool, word: &Keyword, parser: &mut Parser) -> bool {
        let goes_on = matches!(word, Keyword::ON | Keyword::FOR);
        !is_variable_read(parser) && (explicit || !goes_on && self.is_column_alias(word, parser))
    }
    fn supports_bang_not_operator(&self) -> bool {
        true
    }
    /// `FROM (t)`
    fn supports_parens_around_table_factor(&self) -> bool {
        true
    }
    /// The units of two parts, such as DAY_HOUR.
    fn allow_extract_custom(&self) -> bool {
        true
    }
    /// The signs, `~`, `!` and BINARY bind more tightly than all operators of two operands; the library
    /// would take more of what follows for their operand.
    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Err(killed) = interrupt::step() {
            return Some(Err(ParserError::ParserError(killed.message)));
        }
        let sign = match parser.peek_token_ref().token {
            Token::Minus => Some(UnaryOperator::Minus),
            Token::Plus => Some(UnaryOperator::Plus),
            Token::Tilde => Some(UnaryOperator::BitwiseNot),
            Token::ExclamationMark => Some(UnaryOperator::BangNot),
            _ => None,
        };
        if let Some(op) = sign {
            parser.advance_token();
            let operand = parser.parse_subexpr(UNARY);
            return Some(operand.map(|expr| Expr::UnaryOp {
                op,
                expr: Box::new(expr),
            }));
        }
        if call_follows(parser, "JSON_VALUE") {
            return Some(json_value(parser));
        }
        if is_word(parser, 0, &[Keyword::MATCH]) {
            return Some(match_against(parser, self.prec_value(Precedence::Like)));
        }
        if call_follows(parser, "WEIGHT_STRING") {
            return Some(weight_string(parser));
        }
        if is_query_in_parentheses(parser) {
            return Some(query_in_parentheses(parser));
        }
        if !parser.parse_keyword(Keyword::BINARY) {
            return self.0.parse_prefix(parser);
        }
        let operand = parser.parse_subexpr(UNARY);
        Some(operand.map(|expr| Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr),
            data_type: DataType::Binary(None),
            format: None,
        }))
    }
    /// Tightest first: `^`; `* / % DIV`; `+ -`; shifts; `&`; `|`; IN, LIKE, BETWEEN; comparisons
    /// and IS; NOT; AND; XOR; OR.
    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Caret => 45,
            Precedence::PgOther => 26,
            Precedence::Ampersand => 25,
            Precedence::Pipe => 24,
            Precedence::Between | Precedence::Like => 21,
            Precedence::Eq | Precedence::Is => 20,
            Precedence::Xor => 7,
            other => self.0.prec_value(other),
        }
    }
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::ShiftLeft | Token::ShiftRight => Some(Ok(SHIFT)),
            Token::Arrow | Token::LongArrow => Some(Ok(ARROW)),
            Token::Word(_) if sounds_like_follows(parser) => {
                Some(Ok(self.prec_value(Precedence::Like)))
            }
            _ => self.0.get_next_precedence(parser),
        }
    }
    delegate! {
        ignores_wildcard_escapes
        require_interval_qualifier
        requires_single_line_comment_whitespace
        supports_binary_kw_as_cast
        supports_bitwise_shift_operators
        supports_comma_separated_set_assignments
        supports_comment_optimizer_hint
        supports_constraint_keyword_without_name
        supports_create_table_select
        supports_cross_join_constraint
        supports_data_type_signed_suffix
        supports_double_ampersand_operator
        supports_group_by_with_modifier
        supports_insert_set
        supports_key_column_option
        supports_left_associative_joins_without_parens
        supports_limit_comma
        supports_match_against
        supports_multiline_comment_hints
        supports_numeric_prefix
        supports_select_modifiers
        supports_set_names
        supports_string_literal_backslash_escape
        supports_string_literal_concatenation
        supports_table_hints
        supports_update_order_by
        supports_user_host_grantee
    }
}

/// RETURNING at the end of a DELETE: the library expects it before ORDER BY and LIMIT.
pub(super) fn returning_behind(
    parser: &mut Parser,
    statement: &mut Statement,
) -> Result<(), ParserError> {
    let delete = match statement {
        Statement::Delete(delete) => delete,
        Statement::Query(query) => match query.body.as_mut() {
            SetExpr::Delete(Statement::Delete(delete)) => delete,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    if delete.returning.is_none() && parser.parse_keyword(Keyword::RETURNING) {
        delete.returning = Some(parser.parse_comma_separated(Parser::parse_select_item)?);
    }
    Ok(())
}

/// Whether the word that was read last is a variable, which is no name of anything.
fn is_variable_read(parser: &Parser) -> bool {
    match &parser.get_current_token().token {
        Token::Word(word) => word.quote_style.is_none() && word.value.starts_with('@'),
        _ => false,
    }
}

/// Words that begin a statement for the library, but not for MySQL.
const OTHERS: [&str; 26] = [
    "ASSERT",
    "ATTACH",
    "CASE",
    "CLOSE",
    "COMMENT",
    "COPY",
    "DECLARE",
    "DETACH",
    "DISCARD",
    "FETCH",
    "IF",
    "LISTEN",
    "MERGE",
    "MSCK",
    "NOTIFY",
    "OPEN",
    "PRAGMA",
    "PRINT",
    "RAISE",
    "RAISERROR",
    "RETURN",
    "THROW",
    "UNLOAD",
    "VACUUM",
    "WAITFOR",
    "WHILE",
];

/// What stands left of the operator that follows, where not everything may: `:=` is for user variables
/// alone, and behind `a IS TRUE` and its kin nothing goes on but AND, OR and XOR.
fn check_left(parser: &Parser, left: &Expr) -> Result<(), ParserError> {
    let next = parser.peek_token_ref();
    let is_variable = |name: &Ident| name.value.starts_with('@') && !name.value.starts_with("@@");
    let is_right = match (&next.token, left) {
        (Token::Assignment, Expr::Identifier(name)) => is_variable(name),
        (Token::Assignment, _) => false,
        (
            token,
            Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_),
        ) => {
            let joins = [Keyword::AND, Keyword::OR, Keyword::XOR];
            matches!(token, Token::StringConcat) || is_word(parser, 0, &joins)
        }
        _ => true,
    };
    match is_right {
        true => Ok(()),
        false => parser.expected_ref("the end of the expression", next),
    }
}

/// `IN ((SELECT …), 2)`, `IN ((SELECT …) + 1)`: a list. The library takes what begins like a query for one.
fn in_list(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let word = |at: usize, wanted: Keyword| is_word(parser, at, &[wanted]);
    let negated = word(0, Keyword::NOT);
    let open = usize::from(negated) + 1;
    let is_list = word(open - 1, Keyword::IN)
        && is_token(parser, open, &Token::LParen)
        && is_token(parser, open + 1, &Token::LParen)
        && !goes_on_as_query(parser, closing(parser, open + 1) + 1);
    if !is_list {
        return None;
    }
    for _ in 0..=open {
        parser.advance_token();
    }
    let list = parser.parse_comma_separated(Parser::parse_expr);
    let list = list.and_then(|list| parser.expect_token(&Token::RParen).map(|_| list));
    Some(list.map(|list| Expr::InList {
        expr: Box::new(expr.clone()),
        list,
        negated,
    }))
}

/// `a [NOT] REGEXP NULL`: the library would read over the word NULL.
fn matches_null(
    parser: &mut Parser,
    expr: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    let negated = is_word(parser, 0, &[Keyword::NOT]);
    let at = usize::from(negated);
    let is_match = is_word(parser, at, &[Keyword::REGEXP, Keyword::RLIKE])
        && is_word(parser, at + 1, &[Keyword::NULL]);
    if !is_match {
        return None;
    }
    let regexp = is_word(parser, at, &[Keyword::REGEXP]);
    for _ in 0..=at {
        parser.advance_token();
    }
    let pattern = parser.parse_subexpr(precedence);
    Some(pattern.map(|pattern| Expr::RLike {
        negated,
        expr: Box::new(expr.clone()),
        pattern: Box::new(pattern),
        regexp,
    }))
}

fn sounds_like_follows(parser: &Parser) -> bool {
    word_follows(parser, "SOUNDS") && is_word(parser, 1, &[Keyword::LIKE])
}

/// `a SOUNDS LIKE b`: `SOUNDEX(a) = SOUNDEX(b)`.
fn sounds_like(parser: &mut Parser, left: &Expr, precedence: u8) -> Result<Expr, ParserError> {
    parser.advance_token();
    parser.advance_token();
    let right = parser.parse_subexpr(precedence)?;
    let soundex = |expr: Expr| Box::new(call(Ident::new("soundex"), vec![expr]));
    Ok(Expr::BinaryOp {
        left: soundex(left.clone()),
        op: BinaryOperator::Eq,
        right: soundex(right),
    })
}

/// Whether a call of the function follows.
fn call_follows(parser: &Parser, function: &str) -> bool {
    let is_name = match parser.peek_nth_token_no_skip(0).token {
        Token::Word(word) => {
            word.quote_style.is_none() && word.value.eq_ignore_ascii_case(function)
        }
        _ => false,
    };
    is_name && is_token(parser, 1, &Token::LParen)
}

/// `WEIGHT_STRING(text [AS CHAR(n) | AS BINARY(n)])` as a call: of the text and n, or of the text as
/// CAST AS BINARY(n) makes it.
fn weight_string(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    parser.expect_token(&Token::LParen)?;
    let text = parser.parse_expr()?;
    if !parser.parse_keyword(Keyword::AS) {
        parser.expect_token(&Token::RParen)?;
        return Ok(call(name, vec![text]));
    }
    let kind = parser.expect_one_of_keywords(&[Keyword::CHAR, Keyword::BINARY])?;
    parser.expect_token(&Token::LParen)?;
    let place = parser.peek_token_ref().clone();
    let length = parser.parse_literal_uint()?;
    if length == 0 {
        return parser.expected_ref("a length", &place);
    }
    parser.expect_token(&Token::RParen)?;
    parser.expect_token(&Token::RParen)?;
    if kind == Keyword::BINARY {
        return Ok(call(
            name,
            vec![Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(text),
                data_type: DataType::Binary(Some(length)),
                format: None,
            }],
        ));
    }
    let length = Value::Number(length.to_string(), false);
    Ok(call(
        name,
        vec![text, Expr::Value(length.with_empty_span())],
    ))
}

/// `JSON_VALUE(document, path [RETURNING type] [… ON EMPTY] [… ON ERROR])` as a call that says all
/// of it in its arguments: see `resolve::call::JSON_VALUE`.
fn json_value(parser: &mut Parser) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    parser.expect_token(&Token::LParen)?;
    let document = parser.parse_expr()?;
    parser.expect_token(&Token::Comma)?;
    let is_text = !matches!(
        parser.peek_token_ref().token,
        Token::Number(..) | Token::HexStringLiteral(_)
    ) && !is_word(parser, 0, &[Keyword::NULL, Keyword::TRUE, Keyword::FALSE]);
    if !is_text {
        return parser.expected_ref("a text", parser.peek_token_ref());
    }
    let path = Expr::Value(parser.parse_value()?);
    let data_type = if word_follows(parser, "RETURNING") {
        parser.advance_token();
        parser.parse_data_type()?
    } else {
        let length = 512;
        DataType::Varchar(Some(CharacterLength::IntegerLength { length, unit: None }))
    };
    let null = || Expr::Value(Value::Null.with_empty_span());
    let ty = Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(null()),
        data_type,
        format: None,
    };
    let (mut on_empty, mut on_error) = (None, None);
    while on_error.is_none() && !is_token(parser, 0, &Token::RParen) {
        let clause = if parser.parse_keyword(Keyword::NULL) {
            null()
        } else if parser.parse_keyword(Keyword::ERROR) {
            Expr::Value(Value::Boolean(true).with_empty_span())
        } else {
            parser.expect_keyword(Keyword::DEFAULT)?;
            if is_word(parser, 0, &[Keyword::NULL]) {
                return parser.expected_ref("a literal", parser.peek_token_ref());
            }
            let minus = parser.consume_token(&Token::Minus);
            let mut default = Expr::Value(parser.parse_value()?);
            if minus {
                let op = UnaryOperator::Minus;
                let expr = Box::new(default);
                default = Expr::UnaryOp { op, expr };
            }
            Expr::Nested(Box::new(default))
        };
        parser.expect_keyword(Keyword::ON)?;
        if on_empty.is_none() && parser.parse_keyword(Keyword::EMPTY) {
            on_empty = Some(clause);
        } else {
            parser.expect_keyword(Keyword::ERROR)?;
            on_error = Some(clause);
        }
    }
    parser.expect_token(&Token::RParen)?;
    let (on_empty, on_error) = (on_empty.unwrap_or_else(null), on_error.unwrap_or_else(null));
    let args = [document, path, ty, on_empty, on_error];
    Ok(call(Ident::with_span(name.span, JSON_VALUE), args.into()))
}

/// `MATCH (columns) AGAINST (text mode)`, as a call that says all of it in its arguments: see
/// `search::MATCH_AGAINST`.
fn match_against(parser: &mut Parser, precedence: u8) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    let in_parentheses = parser.consume_token(&Token::LParen);
    let columns = parser.parse_comma_separated(|parser| {
        let mut path = vec![parser.parse_identifier()?];
        while parser.consume_token(&Token::Period) {
            path.push(parser.parse_identifier()?);
        }
        Ok(Expr::CompoundIdentifier(path))
    })?;
    if in_parentheses {
        parser.expect_token(&Token::RParen)?;
    }
    parser.expect_keyword(Keyword::AGAINST)?;
    parser.expect_token(&Token::LParen)?;
    // IN begins the mode, it is no operator.
    let text = parser.parse_subexpr(precedence)?;
    use Keyword::{BOOLEAN, EXPANSION, IN, LANGUAGE, MODE, NATURAL, QUERY, WITH};
    let mode = if parser.parse_keywords(&[IN, BOOLEAN, MODE]) {
        SearchMode::Boolean
    } else {
        // The same as nothing.
        let _ = parser.parse_keywords(&[IN, NATURAL, LANGUAGE, MODE]);
        match parser.parse_keywords(&[WITH, QUERY, EXPANSION]) {
            true => SearchMode::Expanded,
            false => SearchMode::Natural,
        }
    };
    parser.expect_token(&Token::RParen)?;
    let mode = Value::SingleQuotedString(mode.words().to_owned()).with_empty_span();
    let args = [Expr::Value(mode), text].into_iter().chain(columns);
    Ok(call(
        Ident::with_span(name.span, MATCH_AGAINST),
        args.collect(),
    ))
}

/// A call with nothing but arguments.
fn call(name: Ident, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(FunctionArgExpr::Expr);
    Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.map(FunctionArg::Unnamed).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn word_follows(parser: &Parser, wanted: &str) -> bool {
    match parser.peek_nth_token_no_skip(0).token {
        Token::Word(word) => word.value.eq_ignore_ascii_case(wanted),
        _ => false,
    }
}

/// Whether a query stands at a place that begins with TABLE or VALUES ROW, of which the word ROW has
/// become a space.
fn begins_without_select(parser: &Parser, at: usize) -> bool {
    let row = Token::Whitespace(Whitespace::Space);
    match is_word(parser, at, &[Keyword::TABLE]) {
        true => matches!(parser.peek_nth_token_no_skip(at + 1).token, Token::Word(_)),
        false => is_word(parser, at, &[Keyword::VALUES]) && is_token(parser, at + 1, &row),
    }
}

/// Whether `((SELECT 1) UNION …)` or `(TABLE t)` follows: the library knows queries in parentheses only by the
/// word SELECT after the first one.
fn is_query_in_parentheses(parser: &Parser) -> bool {
    let mut inner = 0;
    while is_token(parser, inner, &Token::LParen) {
        inner += 1;
    }
    if inner == 1 && begins_without_select(parser, inner) {
        return true;
    }
    if inner < 2 || !is_word(parser, inner, &[Keyword::SELECT, Keyword::WITH]) {
        return false;
    }
    let next = closing(parser, 1) + 1;
    !is_token(parser, next, &Token::RParen) && goes_on_as_query(parser, next)
}

/// Whether a query in parentheses ends before this place, or goes on there.
fn goes_on_as_query(parser: &Parser, next: usize) -> bool {
    use Keyword::{EXCEPT, INTERSECT, LIMIT, ORDER, UNION};
    is_token(parser, next, &Token::RParen)
        || is_word(parser, next, &[UNION, EXCEPT, INTERSECT, ORDER, LIMIT])
}

/// `= ANY ((SELECT …) UNION …)`, `= ANY (TABLE t)`: there the library expects an expression.
fn quantified(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let op = match parser.peek_token_ref().token {
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        _ => return None,
    };
    let is = |words: &[Keyword]| is_word(parser, 1, words);
    let (all, is_some) = (is(&[Keyword::ALL]), is(&[Keyword::SOME]));
    let is_quantified = all || is_some || is(&[Keyword::ANY]);
    let nested = |at: usize| is_token(parser, at, &Token::LParen);
    let is_unknown = nested(3) || begins_without_select(parser, 3);
    if !is_quantified || !nested(2) || !is_unknown {
        return None;
    }
    parser.advance_token();
    parser.advance_token();
    let (left, right) = (Box::new(expr.clone()), query_in_parentheses(parser));
    Some(right.map(|right| {
        let (compare_op, right) = (op, Box::new(right));
        match all {
            true => Expr::AllOp {
                left,
                compare_op,
                right,
            },
            false => Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some,
            },
        }
    }))
}

fn query_in_parentheses(parser: &mut Parser) -> Result<Expr, ParserError> {
    parser.expect_token(&Token::LParen)?;
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::Subquery(query))
}

/// The place of the parenthesis that closes what the one at a place opens.
fn closing(parser: &Parser, open: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = open;
    loop {
        match parser.peek_nth_token_no_skip(at).token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::EOF => return at,
            _ => {}
        }
        if depth == 0 || interrupt::step().is_err() {
            return at;
        }
        at += 1;
    }
}

fn is_token(parser: &Parser, at: usize, wanted: &Token) -> bool {
    parser.peek_nth_token_no_skip(at).token == *wanted
}

fn is_word(parser: &Parser, at: usize, wanted: &[Keyword]) -> bool {
    match parser.peek_nth_token_no_skip(at).token {
        Token::Word(word) => word.quote_style.is_none() && wanted.contains(&word.keyword),
        _ => false,
    }
}

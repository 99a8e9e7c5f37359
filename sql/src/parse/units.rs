//! The units of INTERVAL that have two parts.

use super::convert::Converter;
use crate::lexer::Token;
use sqlparser::tokenizer::Token as Out;

impl Converter<'_> {
    /// The units of two parts, all reserved words: DAY_HOUR is sqlparser's DAY TO HOUR.
    pub(super) fn rewrite_unit(&mut self, token: Token, text: &[u8]) -> bool {
        const PARTS: [&str; 7] = [
            "YEAR",
            "MONTH",
            "DAY",
            "HOUR",
            "MINUTE",
            "SECOND",
            "MICROSECOND",
        ];
        let Some(at) = text.iter().position(|&byte| byte == b'_') else {
            return false;
        };
        let part = |text: &[u8]| {
            PARTS
                .into_iter()
                .position(|p| text.eq_ignore_ascii_case(p.as_bytes()))
        };
        let (Some(first), Some(last)) = (part(&text[..at]), part(&text[at + 1..])) else {
            return false;
        };
        // Months only go with years.
        if first >= last || (first == 0) != (last == 1) || first == 1 {
            return false;
        }
        let (first, last) = match PARTS[first] {
            // After SECOND sqlparser takes no TO, so these two change places.
            "SECOND" => (last, first),
            _ => (first, last),
        };
        // EXTRACT(DAY_HOUR FROM …) takes a unit of any name, but no TO.
        if self.follows_symbol("(", "EXTRACT") {
            return false;
        }
        for word in [PARTS[first], "TO", PARTS[last]] {
            self.push(token, Out::make_word(word, None));
        }
        true
    }
}

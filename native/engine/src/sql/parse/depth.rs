//! How deep a tree the parser can build over tokens. Trees are walked and dropped recursively, so their depth is
//! bounded before there is a tree.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result};

/// The deepest tree.
const DEPTH_MAX: usize = 500;

/// The longest string that cannot hold a deep expression.
const FILTER_BYTES_SHALLOW: usize = 80;

/// An upper bound of the depth. Errors: InvalidInput beyond the limit.
pub(super) fn measure(tokens: &[TokenWithSpan]) -> Result<usize> {
    let mut stack = Stack {
        levels: vec![Level::default()],
        depth: 0,
    };
    let mut deepest = 0;
    let mut previous = &Token::EOF;
    for TokenWithSpan { token, span } in tokens {
        stack.add(token, previous);
        if matches!(token, Token::SingleQuotedString(text) if may_be_filter(text)) {
            deepest = DEPTH_MAX;
        }
        deepest = deepest.max(stack.depth);
        if stack.depth > DEPTH_MAX {
            let at = span.start;
            return Err(Error::invalid_input(format!(
                "sql: nested deeper than {DEPTH_MAX} operators at {at}"
            )));
        }
        previous = token;
    }
    Ok(deepest)
}

/// Whether a string may hold an expression that nests deeply: the filter of a search. Vectors do not.
fn may_be_filter(text: &str) -> bool {
    text.len() > FILTER_BYTES_SHALLOW && !text.starts_with('[')
}

/// What stands between two brackets, or between CASE and END.
#[derive(Default)]
struct Level {
    /// The bracket itself.
    base: usize,
    /// AND, OR and what joins queries: each is one level, whatever stood before it.
    joints: usize,
    /// Operators since the last joint or comma.
    operators: usize,
    case: bool,
}

struct Stack {
    levels: Vec<Level>,
    depth: usize,
}

impl Stack {
    fn add(&mut self, token: &Token, previous: &Token) {
        match token {
            Token::LBracket if ends_operand(previous) => {
                // A subscript is an operator on what stands before it.
                self.operator();
                self.open(false);
            }
            Token::LParen | Token::LBracket | Token::LBrace => self.open(false),
            Token::RParen | Token::RBracket | Token::RBrace => self.close(),
            Token::Comma | Token::SemiColon => self.restart(),
            Token::Word(_) => self.word(token),
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::Placeholder(_)
            | Token::Period
            | Token::RArrow
            | Token::EOF => {}
            _ => self.operator(),
        }
    }

    fn word(&mut self, token: &Token) {
        let in_case = self.levels.last().is_some_and(|level| level.case);
        match word_of(token) {
            Keyword::CASE => self.open(true),
            Keyword::END if in_case => self.close(),
            Keyword::WHEN | Keyword::THEN | Keyword::ELSE if in_case => self.restart(),
            Keyword::AND
            | Keyword::OR
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::JOIN
            | Keyword::EXPLAIN => self.joint(),
            Keyword::NOT
            | Keyword::IS
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::COLLATE
            | Keyword::AT => self.operator(),
            _ => {}
        }
    }

    fn open(&mut self, case: bool) {
        self.levels.push(Level {
            base: 1,
            case,
            ..Level::default()
        });
        self.depth += 1;
    }

    fn close(&mut self) {
        if self.levels.len() > 1
            && let Some(level) = self.levels.pop()
        {
            self.depth -= level.base + level.joints + level.operators;
        }
    }

    fn restart(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.depth -= level.joints + level.operators;
            level.joints = 0;
            level.operators = 0;
        }
    }

    fn joint(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            self.depth = self.depth + 1 - level.operators;
            level.joints += 1;
            level.operators = 0;
        }
    }

    fn operator(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.operators += 1;
            self.depth += 1;
        }
    }
}

fn word_of(token: &Token) -> Keyword {
    match token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    }
}

/// Whether an operand can end with this token.
fn ends_operand(token: &Token) -> bool {
    matches!(token, Token::RBracket | Token::RParen) || matches!(token, Token::Word(_))
}

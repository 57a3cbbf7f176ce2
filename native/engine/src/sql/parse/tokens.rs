//! The pass between tokenizer and parser: gives pgvector's operators the tokens (and so PostgreSQL's precedence)
//! that the tokenizer misses, refuses clauses that the parser would drop or misread, and bounds the depth of
//! the tree that the parser would build, since trees are walked and dropped recursively.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Error, Result};

/// The deepest chain of operators, counted over all enclosing parentheses.
const DEPTH_MAX: usize = 1_000;

/// The longest string that cannot nest deeply.
const FILTER_BYTES_SHALLOW: usize = 80;

/// pgvector's operators that PostgreSQL's tokenizer reads as one custom token.
const VECTOR_OPERATORS: [&str; 6] = ["<->", "<=>", "<#>", "<+>", "<~>", "<%>"];

/// Rewrites and checks the tokens of a text and measures its depth; whitespace and comments are dropped.
pub(super) fn prepare(tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, usize)> {
    let joined = join_operators(tokens);
    refuse_clauses(&joined)?;
    let depth = check_depth(&joined)?;
    Ok((joined, depth))
}

fn join_operators(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut output: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut input = tokens.into_iter().peekable();
    while let Some(TokenWithSpan { token, span }) = input.next() {
        let mut push = |token| output.push(TokenWithSpan { token, span });
        match token {
            Token::Whitespace(_) => {}
            Token::Spaceship => push(Token::CustomBinaryOperator("<=>".into())),
            Token::Lt if input.peek().is_some_and(|next| next.token == Token::Plus) => {
                // `a <+> b` is one operator, `a < +b` is two; only a `>` right behind the plus tells.
                let plus = input.next();
                if input.peek().is_some_and(|next| next.token == Token::Gt) {
                    input.next();
                    push(Token::CustomBinaryOperator("<+>".into()));
                } else {
                    push(Token::Lt);
                    output.extend(plus);
                }
            }
            Token::CustomBinaryOperator(text) => split_sign(&text).into_iter().for_each(push),
            other => push(other),
        }
    }
    output
}

/// `a<->-1` lexes as one operator `<->-`; a sign behind a vector operator belongs to the operand.
fn split_sign(text: &str) -> Vec<Token> {
    for operator in VECTOR_OPERATORS {
        let Some(sign) = text.strip_prefix(operator) else {
            continue;
        };
        let operator = match operator {
            "<->" => Token::TwoWayArrow,
            other => Token::CustomBinaryOperator(other.into()),
        };
        match sign {
            "" => return vec![operator],
            "-" => return vec![operator, Token::Minus],
            "+" => return vec![operator, Token::Plus],
            _ => {}
        }
    }
    vec![Token::CustomBinaryOperator(text.into())]
}

/// The keyword of an unquoted word.
fn keyword(token: Option<&TokenWithSpan>) -> Keyword {
    match token.map(|t| &t.token) {
        Some(Token::Word(Word {
            keyword,
            quote_style: None,
            ..
        })) => *keyword,
        _ => Keyword::NoKeyword,
    }
}

fn refuse_clauses(tokens: &[TokenWithSpan]) -> Result<()> {
    for (index, token) in tokens.iter().enumerate() {
        let next = |offset: usize| keyword(tokens.get(index + offset));
        match next(0) {
            Keyword::FOR if next(2) == Keyword::AS && next(3) == Keyword::OF => {
                let clause = tokens
                    .get(index + 1)
                    .map(|t| t.token.to_string())
                    .unwrap_or_default();
                return Err(Error::unsupported(format!(
                    "FOR {clause} AS OF (time travel) at {}",
                    token.span.start
                )));
            }
            Keyword::PARTITIONED if next(1) == Keyword::BY => {
                return Err(Error::unsupported(format!(
                    "PARTITIONED BY at {}",
                    token.span.start
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Counts operators per level of parentheses (and of CASE); a comma starts a new expression.
fn check_depth(tokens: &[TokenWithSpan]) -> Result<usize> {
    let mut levels: Vec<Level> = vec![Level::default()];
    let mut depth = 0usize;
    let mut deepest = 0usize;
    for token in tokens {
        let word = keyword(Some(token));
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => open(&mut levels, &mut depth, false),
            Token::RParen | Token::RBracket | Token::RBrace => close(&mut levels, &mut depth),
            Token::Comma | Token::SemiColon => reset(&mut levels, &mut depth),
            Token::Word(_) => match word {
                Keyword::CASE => open(&mut levels, &mut depth, true),
                Keyword::END if levels.last().is_some_and(|level| level.case) => {
                    close(&mut levels, &mut depth)
                }
                Keyword::WHEN | Keyword::THEN | Keyword::ELSE
                    if levels.last().is_some_and(|level| level.case) =>
                {
                    reset(&mut levels, &mut depth);
                }
                word if deepens(word) => deepen(&mut levels, &mut depth),
                _ => {}
            },
            Token::SingleQuotedString(text) if may_be_filter(text) => deepest = DEPTH_MAX,
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
            _ => deepen(&mut levels, &mut depth),
        }
        deepest = deepest.max(depth);
        if depth > DEPTH_MAX {
            let at = token.span.start;
            return Err(Error::invalid_input(format!(
                "sql: nested deeper than {DEPTH_MAX} operators at {at}"
            )));
        }
    }
    Ok(deepest)
}

/// Whether a string may hold an expression that nests deeply: the filter of a search. Vectors do not.
fn may_be_filter(text: &str) -> bool {
    text.len() > FILTER_BYTES_SHALLOW && !text.starts_with('[')
}

#[derive(Default)]
struct Level {
    operators: usize,
    case: bool,
}

fn open(levels: &mut Vec<Level>, depth: &mut usize, case: bool) {
    levels.push(Level { operators: 1, case });
    *depth += 1;
}

fn close(levels: &mut Vec<Level>, depth: &mut usize) {
    if levels.len() > 1
        && let Some(level) = levels.pop()
    {
        *depth -= level.operators;
    }
}

fn reset(levels: &mut [Level], depth: &mut usize) {
    let nested = levels.len() > 1;
    if let Some(level) = levels.last_mut() {
        let base = usize::from(nested);
        *depth = *depth + base - level.operators;
        level.operators = base;
    }
}

fn deepen(levels: &mut [Level], depth: &mut usize) {
    if let Some(level) = levels.last_mut() {
        level.operators += 1;
        *depth += 1;
    }
}

/// Words that add a level to the tree.
fn deepens(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::AND
            | Keyword::OR
            | Keyword::NOT
            | Keyword::IS
            | Keyword::IN
            | Keyword::LIKE
            | Keyword::ILIKE
            | Keyword::SIMILAR
            | Keyword::BETWEEN
            | Keyword::COLLATE
            | Keyword::AT
            | Keyword::UNION
            | Keyword::INTERSECT
            | Keyword::EXCEPT
            | Keyword::JOIN
            | Keyword::EXPLAIN
    )
}

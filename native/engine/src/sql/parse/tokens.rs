//! The pass between tokenizer and parser: gives pgvector's operators the tokens (and so PostgreSQL's precedence)
//! that the tokenizer misses, refuses clauses that the parser would drop or misread, and bounds the depth of
//! the tree that the parser would build, since trees are walked and dropped recursively.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::{depth, version};
use crate::error::{Error, Result};

/// pgvector's operators that PostgreSQL's tokenizer reads as one custom token.
const VECTOR_OPERATORS: [&str; 6] = ["<->", "<=>", "<#>", "<+>", "<~>", "<%>"];

/// Rewrites and checks the tokens of a text and measures its depth; whitespace and comments are dropped.
pub(super) fn prepare(tokens: Vec<TokenWithSpan>) -> Result<(Vec<TokenWithSpan>, usize)> {
    let joined = version::rewrite(join_operators(tokens))?;
    refuse_clauses(&joined)?;
    let depth = depth::measure(&joined)?;
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
pub(super) fn keyword(token: Option<&TokenWithSpan>) -> Keyword {
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
            Keyword::PARTITIONED if next(1) == Keyword::BY => {
                return Err(Error::unsupported(format!(
                    "PARTITIONED BY{}",
                    token.span.start
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

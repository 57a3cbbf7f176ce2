//! SQL text to statements: our dialect, the token pass, and the reduced statement types that planning takes.
//! What parses but is not meant here is refused in this module, so that no later step can drop it silently.
//! Knows no table and no session.

mod arguments;
mod depth;
mod dialect;
mod statement;
#[cfg(test)]
mod tests;
mod tokens;
mod version;

pub(crate) use arguments::{Arguments, BoundArguments};
pub(crate) use statement::{
    Call, ColumnSpec, CreateIndex, CreateTable, Delete, DropIndex, Explain, Insert, Statement,
    Update, name_parts,
};
pub(crate) use version::table_state;

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::stack::run_deep;
use crate::error::{Error, Result};
use dialect::BenoDialect;

/// The longest text that is parsed.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// How deep the parser may recurse.
const RECURSION_MAX: usize = 100;

/// Parses statements separated by `;`; gives the depth of the deepest too. Nothing is returned unless all of them
/// parse.
pub(crate) fn parse(text: &str) -> Result<(Vec<Statement>, usize)> {
    let (tokens, depth) = tokenize(text)?;
    let statements = run_deep(depth, || parse_statements(tokens))?;
    Ok((statements, depth))
}

fn parse_statements(tokens: Vec<TokenWithSpan>) -> Result<Vec<Statement>> {
    let dialect = BenoDialect;
    let mut parser = parser(&dialect, tokens);
    let mut statements = Vec::new();
    loop {
        while parser.consume_token(&Token::SemiColon) {}
        if parser.peek_token().token == Token::EOF {
            return Ok(statements);
        }
        statements.push(statement::parse_statement(&mut parser)?);
        let next = parser.peek_token();
        if next.token != Token::EOF && next.token != Token::SemiColon {
            return Err(unexpected("end of statement", &next));
        }
    }
}

/// Parses one expression, such as the `filter` of a search.
pub(crate) fn parse_expression(text: &str) -> Result<ast::Expr> {
    let dialect = BenoDialect;
    let (tokens, _) = tokenize(text)?;
    let mut parser = parser(&dialect, tokens);
    let mut expression = parser.parse_expr().map_err(syntax)?;
    let next = parser.peek_token();
    if next.token != Token::EOF {
        return Err(unexpected("end of expression", &next));
    }
    statement::normalize(&mut expression)?;
    Ok(expression)
}

/// The tokens of a text and how deep the tree over them can be.
fn tokenize(text: &str) -> Result<(Vec<TokenWithSpan>, usize)> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::resource_exhausted(format!(
            "sql text of {} bytes, at most {TEXT_BYTES_MAX}",
            text.len()
        )));
    }
    let tokens = Tokenizer::new(&BenoDialect, text)
        .tokenize_with_location()
        .map_err(|error| syntax(error.into()))?;
    tokens::prepare(tokens)
}

fn parser(dialect: &BenoDialect, tokens: Vec<TokenWithSpan>) -> Parser<'_> {
    Parser::new(dialect)
        .with_recursion_limit(RECURSION_MAX)
        .with_tokens_with_locations(tokens)
}

fn syntax(error: ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => {
            Error::invalid_input(format!("sql: nested deeper than {RECURSION_MAX} levels"))
        }
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            Error::invalid_input(format!("sql: {text}"))
        }
    }
}

fn unexpected(expected: &str, found: &TokenWithSpan) -> Error {
    Error::invalid_input(format!(
        "sql: expected {expected}, found {}{}",
        found.token, found.span.start
    ))
}

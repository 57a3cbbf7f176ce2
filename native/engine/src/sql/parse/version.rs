//! `FOR VERSION AS OF` and `FOR TIMESTAMP AS OF` behind a table's name. The parser knows only `FOR SYSTEM_TIME AS OF`,
//! so the token pass writes that, and the form of the literal tells id, name and time apart.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, TimeUnit, TimestampMicrosecondType};
use datafusion::sql::sqlparser::ast::{Expr, TableVersion, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use super::tokens::keyword;
use crate::error::{Error, Result};
use crate::table::AsOf;

/// The tokens of `FOR VERSION AS OF`.
const CLAUSE_LENGTH: usize = 4;

/// What stands before the name of what is written.
const WRITES: [Keyword; 4] = [
    Keyword::INTO,
    Keyword::UPDATE,
    Keyword::TABLE,
    Keyword::TRUNCATE,
];

/// The words that are looked at.
const CONCERNED: [Keyword; 4] = [Keyword::FOR, Keyword::AT, Keyword::BEFORE, Keyword::CHANGES];

/// Rewrites the clauses. Errors: InvalidInput for one without a literal, Unsupported for one of what is written.
pub(super) fn rewrite(tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>> {
    // A statement may hold megabytes of values, which are not copied for nothing.
    let concerned = |token: &TokenWithSpan| CONCERNED.contains(&keyword(Some(token)));
    if !tokens.iter().any(concerned) {
        return Ok(tokens);
    }
    let mut output: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut input = tokens.iter().enumerate();
    while let Some((at, token)) = input.next() {
        let next = |offset: usize| keyword(tokens.get(at + offset));
        let is_clause = next(0) == Keyword::FOR && next(2) == Keyword::AS && next(3) == Keyword::OF;
        if is_clause {
            refuse_write(&output, token)?;
            let (literal, length) = literal(&tokens, at)?;
            for replaced in ["FOR", "SYSTEM_TIME", "AS", "OF"] {
                output.push(TokenWithSpan::new(
                    Token::make_keyword(replaced),
                    token.span,
                ));
            }
            output.push(TokenWithSpan::new(literal, token.span));
            input.nth(CLAUSE_LENGTH + length - 2);
            continue;
        }
        // The parser's versions come with clauses of other databases, whose words name columns and aliases here.
        let foreign = matches!(next(0), Keyword::BEFORE | Keyword::CHANGES)
            || next(0) == Keyword::AT && next(1) != Keyword::TIME;
        output.push(match &token.token {
            Token::Word(word) if foreign => TokenWithSpan::new(
                Token::Word(Word {
                    keyword: Keyword::NoKeyword,
                    ..word.clone()
                }),
                token.span,
            ),
            _ => token.clone(),
        });
    }
    Ok(output)
}

/// Refuses a clause whose table name follows a word of writing.
fn refuse_write(before: &[TokenWithSpan], clause: &TokenWithSpan) -> Result<()> {
    let mut rest = before.split_last().map_or(before, |(_, rest)| rest);
    while let [inner @ .., _, dot] = rest
        && dot.token == Token::Period
    {
        rest = inner;
    }
    match rest.last() {
        Some(token) if WRITES.contains(&keyword(Some(token))) => Err(Error::unsupported(format!(
            "a version of the table that is written{}",
            clause.span.start
        ))),
        _ => Ok(()),
    }
}

/// The literal behind the clause at `at` in the form that tells its kind, and how many tokens it takes.
fn literal(tokens: &[TokenWithSpan], at: usize) -> Result<(Token, usize)> {
    let token = |offset: usize| tokens.get(at + offset).map(|t| &t.token);
    let kind = keyword(tokens.get(at + 1));
    let typed = matches!(
        keyword(tokens.get(at + CLAUSE_LENGTH)),
        Keyword::TIMESTAMP | Keyword::TIMESTAMPTZ
    );
    let expected = match (kind, token(CLAUSE_LENGTH)) {
        (Keyword::VERSION, Some(id @ Token::Number(..))) => return Ok((id.clone(), 1)),
        (Keyword::VERSION, Some(Token::SingleQuotedString(name))) => {
            return Ok((Token::NationalStringLiteral(name.clone()), 1));
        }
        (Keyword::VERSION, _) => "a snapshot id or the name of a branch or tag in quotes",
        (Keyword::TIMESTAMP, Some(time @ Token::SingleQuotedString(_))) => {
            return Ok((time.clone(), 1));
        }
        (Keyword::TIMESTAMP, _) if typed => match token(CLAUSE_LENGTH + 1) {
            Some(time @ Token::SingleQuotedString(_)) => return Ok((time.clone(), 2)),
            _ => "a time in quotes",
        },
        (Keyword::TIMESTAMP, _) => "a time in quotes",
        _ => {
            return Err(Error::unsupported(format!(
                "FOR {} AS OF (there are FOR VERSION AS OF and FOR TIMESTAMP AS OF)",
                token(1).map(ToString::to_string).unwrap_or_default()
            )));
        }
    };
    Err(Error::invalid_input(format!(
        "sql: FOR {kind:?} AS OF takes {expected}{}",
        tokens
            .get(at)
            .map(|t| t.span.start.to_string())
            .unwrap_or_default()
    )))
}

/// The state that a table's version means. Errors: InvalidInput for an id or a time that is none.
pub(crate) fn table_state(version: &TableVersion) -> Result<AsOf> {
    let TableVersion::ForSystemTimeAsOf(Expr::Value(literal)) = version else {
        return Err(Error::unsupported(format!(
            "{version} (say FOR VERSION AS OF or FOR TIMESTAMP AS OF, with a literal)"
        )));
    };
    match &literal.value {
        Value::Number(id, _) => id.parse().map(AsOf::Snapshot).map_err(|_| {
            Error::invalid_input(format!("snapshot id {id} is no integer of 64 bits"))
        }),
        Value::NationalStringLiteral(name) => Ok(AsOf::Reference(name.clone())),
        Value::SingleQuotedString(time) => milliseconds(time).map(AsOf::TimestampMs),
        other => Err(Error::unsupported(format!("a table version of {other}"))),
    }
}

/// A time as the engine reads every literal: UTC where it names no zone.
fn milliseconds(text: &str) -> Result<i64> {
    let literal: ArrayRef = Arc::new(StringArray::from(vec![with_seconds(text)]));
    let to = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let options = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let wrong = || Error::invalid_input(format!("'{text}' is no time such as '2026-01-31 12:00'"));
    let times = cast_with_options(&literal, &to, &options).map_err(|_| wrong())?;
    let time = times.as_primitive_opt::<TimestampMicrosecondType>();
    match time.filter(|time| !time.is_null(0)) {
        Some(time) => Ok(time.value(0).div_euclid(1_000)),
        None => Err(wrong()),
    }
}

/// The time with `:00` where it ends with the minutes, which the cast wants.
fn with_seconds(text: &str) -> String {
    const MINUTES_END: usize = "2026-01-31 12:00".len();
    match text.split_at_checked(MINUTES_END) {
        Some((minutes, rest)) if minutes.matches(':').count() == 1 && !rest.starts_with(':') => {
            format!("{minutes}:00{rest}")
        }
        _ => text.to_string(),
    }
}

//! Rewrites of the parsed tree before planning, and refusals of what the planner would drop without a word.
//! Times get microsecond precision (Iceberg's), `float` means double as in PostgreSQL, casts to `vector` and
//! `uuid` become functions, `= ANY (query)` becomes IN.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Query, Select, SetExpr, TableFactor, TimezoneInfo, Value,
    VisitorMut,
};

use super::merged::check_merged_columns;
use crate::error::Error;
use crate::sql::function as functions;
use crate::sql::parse::{name_parts, table_state};

/// The visitor. It ends at the first refusal.
pub(crate) struct Normalize;

fn refuse(what: impl std::fmt::Display) -> ControlFlow<Error> {
    ControlFlow::Break(Error::unsupported(format!("{what} is not supported")))
}

impl VisitorMut for Normalize {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        if !query.locks.is_empty() || query.for_clause.is_some() {
            return refuse("FOR UPDATE, FOR SHARE, FOR JSON or FOR XML");
        }
        if query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return refuse("a query with SETTINGS, FORMAT or pipe operators");
        }
        match check_merged_columns(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        if select.into.is_some() {
            return refuse("SELECT INTO (use CREATE TABLE .. AS)");
        }
        let foreign = select.prewhere.is_some()
            || select.top.is_some()
            || select.exclude.is_some()
            || select.select_modifiers.is_some()
            || select.value_table_mode.is_some()
            || !select.connect_by.is_empty()
            || !select.lateral_views.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty();
        if foreign {
            refuse("a clause of this SELECT")
        } else {
            ControlFlow::Continue(())
        }
    }

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<Error> {
        match relation {
            TableFactor::Table {
                name,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
                ..
            } => {
                if let Err(error) = name_parts(name) {
                    return ControlFlow::Break(error);
                }
                if sample.is_some() {
                    return refuse("TABLESAMPLE");
                }
                if let Some(version) = version {
                    if args.is_some() {
                        return refuse("a version of a table function");
                    }
                    if let Err(error) = table_state(version) {
                        return ControlFlow::Break(error);
                    }
                }
                let hinted = !with_hints.is_empty()
                    || *with_ordinality
                    || !partitions.is_empty()
                    || json_path.is_some()
                    || !index_hints.is_empty();
                if hinted {
                    refuse(format!("a table hint or suffix in {relation}"))
                } else {
                    ControlFlow::Continue(())
                }
            }
            TableFactor::Derived {
                sample: Some(_), ..
            } => refuse("TABLESAMPLE"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expression: &mut Expr) -> ControlFlow<Error> {
        match expression {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) if digits.parse::<f64>().is_ok_and(f64::is_infinite) => {
                    return ControlFlow::Break(Error::invalid_input(format!(
                        "number {digits} is out of range"
                    )));
                }
                _ => {}
            },
            Expr::Cast {
                expr, data_type, ..
            } => match call_for_cast(expr, data_type) {
                Ok(Some(call)) => *expression = call,
                Ok(None) => normalize_type(data_type),
                Err(error) => return ControlFlow::Break(error),
            },
            Expr::TypedString(typed) => {
                normalize_type(&mut typed.data_type);
                let literal = Expr::Value(typed.value.clone());
                match call_for_cast(&literal, &typed.data_type) {
                    Ok(Some(call)) => *expression = call,
                    Ok(None) => {}
                    Err(error) => return ControlFlow::Break(error),
                }
            }
            Expr::Function(function) if is_now(&function.name) => {
                let now = Box::new(Expr::Function(function.clone()));
                *expression = cast(
                    now,
                    DataType::Timestamp(Some(6), TimezoneInfo::WithTimeZone),
                );
            }
            Expr::AnyOp { .. } | Expr::AllOp { .. } => return quantified(expression),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn is_now(name: &ObjectName) -> bool {
    let name = name.to_string();
    name.eq_ignore_ascii_case("now") || name.eq_ignore_ascii_case("current_timestamp")
}

/// A cast.
pub(crate) fn cast(expr: Box<Expr>, data_type: DataType) -> Expr {
    let kind = datafusion::sql::sqlparser::ast::CastKind::Cast;
    Expr::Cast {
        kind,
        expr,
        data_type,
        array: false,
        format: None,
    }
}

/// A call of one of our functions with plain arguments.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let args = arguments
        .into_iter()
        .map(|value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value)))
        .collect();
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

fn normalize_type(data_type: &mut DataType) {
    match data_type {
        DataType::Timestamp(precision @ None, _) => *precision = Some(6),
        DataType::Float(_) => *data_type = DataType::DoublePrecision,
        DataType::Array(
            datafusion::sql::sqlparser::ast::ArrayElemTypeDef::SquareBracket(inner, _)
            | datafusion::sql::sqlparser::ast::ArrayElemTypeDef::AngleBracket(inner)
            | datafusion::sql::sqlparser::ast::ArrayElemTypeDef::Parenthesis(inner),
        ) => normalize_type(inner),
        _ => {}
    }
}

/// A text constant as the bytes it stands for.
pub(crate) fn bytes(text: String) -> Result<Expr, Error> {
    use std::fmt::Write as _;
    let mut digits = String::with_capacity(2 * text.len());
    for byte in functions::parse_bytes(&text)? {
        write!(digits, "{byte:02x}").map_err(|_| Error::internal("a string that takes no text"))?;
    }
    Ok(Expr::value(Value::HexStringLiteral(digits)))
}

/// The function behind a cast that the planner does not know.
fn call_for_cast(operand: &Expr, data_type: &DataType) -> Result<Option<Expr>, Error> {
    match data_type {
        DataType::Bytea => match operand {
            Expr::Value(literal) if !matches!(literal.value, Value::HexStringLiteral(_)) => {
                literal.value.clone().into_string().map(bytes).transpose()
            }
            _ => Ok(None),
        },
        DataType::Uuid => Ok(Some(call(functions::TO_UUID, vec![operand.clone()]))),
        DataType::Custom(name, modifiers) if name.to_string().eq_ignore_ascii_case("vector") => {
            let mut arguments = vec![operand.clone()];
            match modifiers.as_slice() {
                [] => {}
                [dimension] if dimension.parse::<u32>().is_ok_and(|d| d > 0) => {
                    arguments.push(Expr::value(Value::Number(dimension.clone(), false)));
                }
                _ => {
                    return Err(Error::invalid_input(format!(
                        "type {data_type}: a vector has one positive dimension"
                    )));
                }
            }
            Ok(Some(call(functions::TO_VECTOR, arguments)))
        }
        _ => Ok(None),
    }
}

/// `= ANY (query)` is IN and `<> ALL (query)` is NOT IN; other comparisons with a query are refused, since the
/// planner answers some of them with every row.
fn quantified(expression: &mut Expr) -> ControlFlow<Error> {
    let (left, operator, right, all) = match expression {
        Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        } => (left, compare_op, right, false),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => (left, compare_op, right, true),
        _ => return ControlFlow::Continue(()),
    };
    let mut inner = right.as_ref();
    while let Expr::Nested(nested) = inner {
        inner = nested;
    }
    let Expr::Subquery(subquery) = inner else {
        return ControlFlow::Continue(());
    };
    let negated = match (all, &*operator) {
        (false, BinaryOperator::Eq) => false,
        (true, BinaryOperator::NotEq) => true,
        _ => return refuse(format!("a comparison {operator} ANY or ALL (query)")),
    };
    if matches!(subquery.body.as_ref(), SetExpr::Values(_)) {
        return refuse("ANY or ALL of VALUES");
    }
    *expression = Expr::InSubquery {
        expr: left.clone(),
        subquery: subquery.clone(),
        negated,
    };
    ControlFlow::Continue(())
}

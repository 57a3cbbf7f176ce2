//! Arguments of procedures and table functions: by position or `name => value`, constants only.

use std::collections::BTreeMap;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, UnaryOperator,
    Value,
};

use crate::error::{Error, Result};

/// Arguments as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arguments {
    positional: Vec<Expr>,
    named: BTreeMap<String, Expr>,
}

impl Arguments {
    /// Reads an argument list. Errors: InvalidInput for a repeated name and for a position behind a name.
    pub(crate) fn new(arguments: &[FunctionArg]) -> Result<Arguments> {
        let mut read = Arguments::default();
        for argument in arguments {
            let (name, value) = match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => (None, value),
                FunctionArg::Named {
                    name,
                    arg: FunctionArgExpr::Expr(value),
                    operator,
                } if is_arrow(operator) => (Some(name), value),
                FunctionArg::ExprNamed {
                    name: Expr::Identifier(name),
                    arg: FunctionArgExpr::Expr(value),
                    operator,
                } if is_arrow(operator) => (Some(name), value),
                other => {
                    return Err(Error::invalid_input(format!(
                        "argument {other} is no value and no name => value"
                    )));
                }
            };
            match name {
                None if read.named.is_empty() => read.positional.push(value.clone()),
                None => {
                    return Err(Error::invalid_input(format!(
                        "argument {value} stands behind a named argument"
                    )));
                }
                Some(name) => {
                    let name = name.value.to_lowercase();
                    if read.named.insert(name.clone(), value.clone()).is_some() {
                        return Err(Error::invalid_input(format!(
                            "argument {name} is given twice"
                        )));
                    }
                }
            }
        }
        Ok(read)
    }

    /// Gives positional arguments their names. `known` lists every parameter in order; `function` is for messages.
    pub(crate) fn bind(&self, function: &str, known: &[&str]) -> Result<BoundArguments> {
        if self.positional.len() > known.len() {
            let count = self.positional.len();
            return Err(Error::invalid_input(format!(
                "{function}: {count} arguments, at most {}",
                known.len()
            )));
        }
        let mut values: BTreeMap<String, Expr> = BTreeMap::new();
        for (name, value) in known.iter().zip(&self.positional) {
            values.insert((*name).to_string(), value.clone());
        }
        for (name, value) in &self.named {
            if !known.contains(&name.as_str()) {
                let known = known.join(", ");
                return Err(Error::invalid_input(format!(
                    "{function}: unknown argument {name} (known: {known})"
                )));
            }
            if values.insert(name.clone(), value.clone()).is_some() {
                return Err(Error::invalid_input(format!(
                    "{function}: argument {name} is given twice"
                )));
            }
        }
        values.retain(|_, value| !is_null(value));
        Ok(BoundArguments {
            function: function.to_string(),
            values,
        })
    }

    /// A constant as text: string, number, boolean or bare word.
    pub(crate) fn scalar_text(value: &Expr) -> Option<String> {
        match value {
            Expr::Identifier(word) => Some(word.value.clone()),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => match expr.as_ref() {
                Expr::Value(value) => match &value.value {
                    Value::Number(digits, _) => Some(format!("-{digits}")),
                    _ => None,
                },
                _ => None,
            },
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => Some(digits.clone()),
                Value::Boolean(value) => Some(value.to_string()),
                other => string_of(other),
            },
            _ => None,
        }
    }
}

/// Arguments by parameter name; NULL counts as absent.
#[derive(Clone, Debug)]
pub(crate) struct BoundArguments {
    function: String,
    values: BTreeMap<String, Expr>,
}

impl BoundArguments {
    /// The expression of an argument.
    pub(crate) fn get(&self, name: &str) -> Option<&Expr> {
        self.values.get(name)
    }

    /// The expression of an argument that must be there.
    pub(crate) fn required(&self, name: &str) -> Result<&Expr> {
        self.get(name).ok_or_else(|| {
            Error::invalid_input(format!("{}: argument {name} is missing", self.function))
        })
    }

    fn wrong<T>(&self, name: &str, expected: &str) -> Result<T> {
        let given = self.get(name).map(ToString::to_string).unwrap_or_default();
        Err(Error::invalid_input(format!(
            "{}: argument {name} is {expected}, not {given}",
            self.function
        )))
    }

    /// A string or word, if given. A quoted string is taken as it is, an unquoted word folds to lower case.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match text_of(value) {
            Some(text) => Ok(Some(text)),
            None => self.wrong(name, "a string"),
        }
    }

    /// A string or word that must be given.
    pub(crate) fn required_text(&self, name: &str) -> Result<String> {
        self.required(name)?;
        match self.text(name)? {
            Some(text) => Ok(text),
            None => self.wrong(name, "a string"),
        }
    }

    /// An integer, if given.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        match Arguments::scalar_text(value).and_then(|text| text.parse::<i64>().ok()) {
            Some(number) => Ok(Some(number)),
            None => self.wrong(name, "an integer"),
        }
    }

    /// A list of strings or words (`array['a', 'b']`, or one string), if given.
    pub(crate) fn text_list(&self, name: &str) -> Result<Option<Vec<String>>> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let elements: Vec<&Expr> = match value {
            Expr::Array(array) => array.elem.iter().collect(),
            Expr::Function(_) => match call_arguments(value, "array") {
                Some(elements) => elements,
                None => return self.wrong(name, "an array of strings"),
            },
            single => vec![single],
        };
        match elements
            .into_iter()
            .map(text_of)
            .collect::<Option<Vec<_>>>()
        {
            Some(list) => Ok(Some(list)),
            None => self.wrong(name, "an array of strings"),
        }
    }

    /// `map('key', 'value', ..)`, if given; else empty.
    pub(crate) fn text_map(&self, name: &str) -> Result<BTreeMap<String, String>> {
        let Some(value) = self.get(name) else {
            return Ok(BTreeMap::new());
        };
        let Some(elements) = call_arguments(value, "map") else {
            return self.wrong(name, "map('key', 'value', ..)");
        };
        let mut map = BTreeMap::new();
        for pair in elements.chunks(2) {
            let pair: Option<Vec<String>> =
                pair.iter().map(|e| Arguments::scalar_text(e)).collect();
            match pair.as_deref() {
                Some([key, value]) => {
                    if map.insert(key.clone(), value.clone()).is_some() {
                        return Err(Error::invalid_input(format!(
                            "{}: {name} names {key} twice",
                            self.function
                        )));
                    }
                }
                _ => return self.wrong(name, "map('key', 'value', ..)"),
            }
        }
        Ok(map)
    }
}

fn is_arrow(operator: &FunctionArgOperator) -> bool {
    matches!(
        operator,
        FunctionArgOperator::RightArrow | FunctionArgOperator::Assignment
    )
}

fn is_null(value: &Expr) -> bool {
    matches!(value, Expr::Value(value) if value.value == Value::Null)
}

fn string_of(value: &Value) -> Option<String> {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => Some(text.clone()),
        Value::DollarQuotedString(text) => Some(text.value.clone()),
        _ => None,
    }
}

fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Identifier(word) if word.quote_style.is_none() => Some(word.value.to_lowercase()),
        Expr::Identifier(word) => Some(word.value.clone()),
        Expr::Value(value) => string_of(&value.value),
        _ => None,
    }
}

/// The positional arguments of a call of `name`.
fn call_arguments<'a>(value: &'a Expr, name: &str) -> Option<Vec<&'a Expr>> {
    let Expr::Function(function) = value else {
        return None;
    };
    if !function.name.to_string().eq_ignore_ascii_case(name) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    list.args
        .iter()
        .map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
            _ => None,
        })
        .collect()
}

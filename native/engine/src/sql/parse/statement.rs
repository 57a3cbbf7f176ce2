//! The statements of SURFACE.md 2 and 3, reduced from the parser's tree to what they may say. Every clause
//! that is not carried over is refused here by name.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, CreateTableOptions, Expr, FromTable, FunctionArguments,
    Ident, IndexType, ObjectName, ObjectType, SqlOption, TableFactor, TableObject, TableWithJoins,
    UpdateTableFromKind, VisitMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Word};

use super::{Arguments, syntax};
use crate::error::{Error, Result};
use crate::sql::query::Normalize;

/// One statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// SELECT, VALUES, WITH.
    Query(Box<ast::Query>),
    Explain(Explain),
    CreateTable(Box<CreateTable>),
    DropTable {
        table: ObjectName,
        if_exists: bool,
    },
    CreateSchema {
        name: ObjectName,
        if_not_exists: bool,
    },
    DropSchema {
        name: ObjectName,
        if_exists: bool,
    },
    Insert(Box<Insert>),
    Delete(Box<Delete>),
    Update(Box<Update>),
    Truncate {
        table: ObjectName,
    },
    CreateIndex(Box<CreateIndex>),
    DropIndex(DropIndex),
    ShowIndexes {
        table: ObjectName,
    },
    /// `SHOW TABLES [FROM schema]`.
    ShowTables {
        schema: Option<ObjectName>,
    },
    /// `SHOW SCHEMAS`.
    ShowSchemas,
    /// `DESCRIBE table`.
    Describe {
        table: ObjectName,
    },
    Call(Call),
}

/// `EXPLAIN [ANALYZE] [VERBOSE] statement`.
#[derive(Clone, Debug)]
pub(crate) struct Explain {
    pub(crate) statement: Box<Statement>,
    pub(crate) analyze: bool,
    pub(crate) verbose: bool,
}

/// `CREATE TABLE`.
#[derive(Clone, Debug)]
pub(crate) struct CreateTable {
    pub(crate) table: ObjectName,
    pub(crate) if_not_exists: bool,
    pub(crate) columns: Vec<ColumnSpec>,
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) query: Option<Box<ast::Query>>,
}

/// A column of `CREATE TABLE`.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) data_type: ast::DataType,
    pub(crate) required: bool,
}

/// `INSERT INTO`.
#[derive(Clone, Debug)]
pub(crate) struct Insert {
    pub(crate) table: ObjectName,
    pub(crate) columns: Vec<Ident>,
    pub(crate) source: Box<ast::Query>,
}

/// `DELETE FROM`.
#[derive(Clone, Debug)]
pub(crate) struct Delete {
    pub(crate) table: ObjectName,
    pub(crate) alias: Option<Ident>,
    pub(crate) using: Vec<TableWithJoins>,
    pub(crate) selection: Option<Expr>,
}

/// `UPDATE`.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) table: ObjectName,
    pub(crate) alias: Option<Ident>,
    pub(crate) assignments: Vec<(Ident, Expr)>,
    pub(crate) from: Vec<TableWithJoins>,
    pub(crate) selection: Option<Expr>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug)]
pub(crate) struct CreateIndex {
    pub(crate) table: ObjectName,
    pub(crate) name: Option<String>,
    pub(crate) if_not_exists: bool,
    pub(crate) kind: String,
    pub(crate) columns: Vec<String>,
    pub(crate) options: Vec<(String, String)>,
}

/// `DROP INDEX .. ON`.
#[derive(Clone, Debug)]
pub(crate) struct DropIndex {
    pub(crate) table: ObjectName,
    pub(crate) name: String,
    pub(crate) if_exists: bool,
}

/// `CALL system.procedure(name => value, ..)`.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) procedure: String,
    pub(crate) arguments: Arguments,
}

/// The parts of a name: unquoted parts fold to lower case.
pub(crate) fn name_parts(name: &ObjectName) -> Result<Vec<String>> {
    name.0
        .iter()
        .map(|part| {
            let ident = part
                .as_ident()
                .ok_or_else(|| Error::invalid_input(format!("name {name} holds a call")))?;
            let value = &ident.value;
            let location = value.starts_with('/') || value.contains("://");
            if !location && ident.quote_style == Some('"') && value.contains(['/', '\\', '\0']) {
                return Err(Error::invalid_input(format!(
                    "name {ident} holds a character that names cannot; a location starts with / or a scheme"
                )));
            }
            Ok(fold(ident))
        })
        .collect()
}

fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

fn unsupported<T>(what: impl std::fmt::Display) -> Result<T> {
    Err(Error::unsupported(format!("{what} is not supported")))
}

/// Refuses a clause that is present.
fn absent(present: bool, what: &str) -> Result<()> {
    if present { unsupported(what) } else { Ok(()) }
}

/// Applies the rewrites of every query and expression and refuses what is parsed but not meant.
pub(super) fn normalize<T: VisitMut>(tree: &mut T) -> Result<()> {
    match tree.visit(&mut Normalize) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Parses one statement and leaves the parser behind it.
pub(super) fn parse_statement(parser: &mut Parser) -> Result<Statement> {
    if is_word(parser, 0, "show")
        && let Some(statement) = show(parser)?
    {
        return Ok(statement);
    }
    convert(parser.parse_statement().map_err(syntax)?)
}

/// `SHOW INDEXES`, `SHOW TABLES` and `SHOW SCHEMAS`.
fn show(parser: &mut Parser) -> Result<Option<Statement>> {
    let Some(what) = ["indexes", "tables", "schemas"]
        .into_iter()
        .find(|what| is_word(parser, 1, what))
    else {
        return Ok(None);
    };
    parser.next_token();
    parser.next_token();
    Ok(Some(match what {
        "indexes" => {
            parser.expect_keyword(Keyword::FROM).map_err(syntax)?;
            Statement::ShowIndexes {
                table: parser.parse_object_name(false).map_err(syntax)?,
            }
        }
        "tables" => Statement::ShowTables {
            schema: match parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]) {
                Some(_) => Some(parser.parse_object_name(false).map_err(syntax)?),
                None => None,
            },
        },
        _ => Statement::ShowSchemas,
    }))
}

fn is_word(parser: &Parser, offset: usize, text: &str) -> bool {
    match parser.peek_nth_token(offset).token {
        Token::Word(Word {
            value,
            quote_style: None,
            ..
        }) => value.eq_ignore_ascii_case(text),
        _ => false,
    }
}

fn convert(mut statement: ast::Statement) -> Result<Statement> {
    normalize(&mut statement)?;
    match statement {
        ast::Statement::Query(query) => query_statement(query),
        ast::Statement::Explain { .. } => explain(statement),
        ast::Statement::CreateTable(create) => create_table(create),
        ast::Statement::CreateSchema { .. } => create_schema(statement),
        ast::Statement::Drop { .. } => drop_object(statement),
        ast::Statement::Insert(insert) => self::insert(insert),
        ast::Statement::Delete(delete) => self::delete(delete),
        ast::Statement::Update(update) => self::update(update),
        ast::Statement::Truncate(truncate) => self::truncate(truncate),
        ast::Statement::CreateIndex(create) => create_index(create),
        ast::Statement::Call(call) => self::call(call),
        ast::Statement::ExplainTable {
            hive_format: None,
            table_name: table,
            ..
        } => Ok(Statement::Describe { table }),
        ast::Statement::Merge(_) => unsupported("MERGE"),
        other => {
            let text = other.to_string();
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            unsupported(format!("statement {}", words.join(" ").to_uppercase()))
        }
    }
}

/// A WITH clause in front of a DELETE, INSERT, UPDATE or MERGE parses as a query.
fn query_statement(query: Box<ast::Query>) -> Result<Statement> {
    match query.body.as_ref() {
        ast::SetExpr::Insert(_)
        | ast::SetExpr::Update(_)
        | ast::SetExpr::Delete(_)
        | ast::SetExpr::Merge(_) => unsupported("WITH in front of INSERT, UPDATE, DELETE or MERGE"),
        _ => Ok(Statement::Query(query)),
    }
}

fn explain(statement: ast::Statement) -> Result<Statement> {
    let ast::Statement::Explain {
        analyze,
        verbose,
        query_plan,
        estimate,
        statement,
        format,
        options,
        ..
    } = statement
    else {
        return Err(Error::internal("not an EXPLAIN"));
    };
    absent(
        query_plan || estimate,
        "EXPLAIN with QUERY PLAN or ESTIMATE",
    )?;
    absent(format.is_some(), "EXPLAIN with FORMAT")?;
    let (mut analyze, mut verbose) = (analyze, verbose);
    for option in options.unwrap_or_default() {
        let on = match &option.arg {
            None => true,
            Some(argument) => !matches!(
                argument.to_string().to_lowercase().as_str(),
                "false" | "off" | "0"
            ),
        };
        match option.name.value.to_lowercase().as_str() {
            "analyze" => analyze = on,
            "verbose" => verbose = on,
            other => return unsupported(format!("EXPLAIN option {other}")),
        }
    }
    let statement = Box::new(convert(*statement)?);
    match statement.as_ref() {
        Statement::Query(_) => {}
        Statement::Insert(_) | Statement::Delete(_) | Statement::Update(_) if !analyze => {}
        _ => return unsupported("EXPLAIN of this statement"),
    }
    Ok(Statement::Explain(Explain {
        statement,
        analyze,
        verbose,
    }))
}

fn create_table(create: ast::CreateTable) -> Result<Statement> {
    absent(
        create.partition_by.is_some(),
        "PARTITION BY in CREATE TABLE",
    )?;
    absent(!create.constraints.is_empty(), "a table constraint")?;
    let plain = create.location.is_none()
        && create
            .hive_formats
            .as_ref()
            .is_none_or(|formats| *formats == ast::HiveFormat::default());
    absent(!plain, "LOCATION or a file format in CREATE TABLE")?;
    let known = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .query(create.query.clone())
        .table_options(create.table_options.clone())
        .hive_distribution(create.hive_distribution.clone())
        .hive_formats(create.hive_formats.clone())
        .build();
    absent(known != create, "an option of this CREATE TABLE")?;
    let properties = match create.table_options {
        CreateTableOptions::None => Vec::new(),
        CreateTableOptions::With(options) => properties(options)?,
        _ => return unsupported("CREATE TABLE with OPTIONS (use WITH)"),
    };
    let columns = create
        .columns
        .into_iter()
        .map(column_spec)
        .collect::<Result<Vec<_>>>()?;
    match (&create.query, columns.is_empty()) {
        (Some(_), false) => return unsupported("a column list with AS SELECT"),
        (None, true) => {
            return Err(Error::invalid_input(format!(
                "table {} has no columns",
                create.name
            )));
        }
        _ => {}
    }
    let if_not_exists = create.if_not_exists;
    Ok(Statement::CreateTable(Box::new(CreateTable {
        table: create.name,
        if_not_exists,
        columns,
        properties,
        query: create.query,
    })))
}

fn column_spec(column: ast::ColumnDef) -> Result<ColumnSpec> {
    let mut required = false;
    for option in &column.options {
        match &option.option {
            ast::ColumnOption::Null => {}
            ast::ColumnOption::NotNull => required = true,
            other => return unsupported(format!("column {}: {other}", column.name)),
        }
    }
    Ok(ColumnSpec {
        name: fold(&column.name),
        data_type: column.data_type,
        required,
    })
}

fn properties(options: Vec<SqlOption>) -> Result<Vec<(String, String)>> {
    let mut known: Vec<(String, String)> = Vec::new();
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(Error::invalid_input(format!(
                "WITH takes key = value, not {option}"
            )));
        };
        push_property(&mut known, key.value, &value)?;
    }
    Ok(known)
}

fn push_property(known: &mut Vec<(String, String)>, key: String, value: &Expr) -> Result<()> {
    if known.iter().any(|(other, _)| *other == key) {
        return Err(Error::invalid_input(format!("WITH names {key} twice")));
    }
    let value = Arguments::scalar_text(value).ok_or_else(|| {
        Error::invalid_input(format!("WITH {key}: {value} is no text, number or word"))
    })?;
    known.push((key, value));
    Ok(())
}

fn create_schema(statement: ast::Statement) -> Result<Statement> {
    match statement {
        ast::Statement::CreateSchema {
            schema_name: ast::SchemaName::Simple(name),
            if_not_exists,
            with: None,
            options: None,
            default_collate_spec: None,
            clone: None,
        } => Ok(Statement::CreateSchema {
            name,
            if_not_exists,
        }),
        _ => unsupported("CREATE SCHEMA with more than a name"),
    }
}

fn drop_object(statement: ast::Statement) -> Result<Statement> {
    let ast::Statement::Drop {
        object_type,
        if_exists,
        names,
        cascade,
        restrict,
        purge,
        temporary,
        table,
    } = statement
    else {
        return Err(Error::internal("not a DROP"));
    };
    absent(
        cascade || restrict || purge || temporary,
        "DROP with CASCADE, RESTRICT, PURGE or TEMPORARY",
    )?;
    let [name] = names.as_slice() else {
        return unsupported("DROP of several things at once");
    };
    match (object_type, table) {
        (ObjectType::Table, None) => Ok(Statement::DropTable {
            table: name.clone(),
            if_exists,
        }),
        (ObjectType::Schema, None) => Ok(Statement::DropSchema {
            name: name.clone(),
            if_exists,
        }),
        (ObjectType::Index, Some(table)) => {
            let name = name_parts(name)?.join(".");
            Ok(Statement::DropIndex(DropIndex {
                table,
                name,
                if_exists,
            }))
        }
        (ObjectType::Index, None) => Err(Error::invalid_input(format!(
            "DROP INDEX {name} needs its table: DROP INDEX {name} ON table"
        ))),
        (other, _) => unsupported(format!("DROP {other}")),
    }
}

fn insert(insert: ast::Insert) -> Result<Statement> {
    let TableObject::TableName(table) = insert.table else {
        return unsupported("INSERT INTO a function or query");
    };
    absent(
        insert.table_alias.is_some() || insert.insert_alias.is_some(),
        "INSERT with an alias",
    )?;
    absent(
        insert.overwrite || insert.replace_into || insert.ignore || insert.or.is_some(),
        "INSERT OVERWRITE or IGNORE",
    )?;
    absent(insert.on.is_some(), "ON CONFLICT")?;
    absent(
        insert.returning.is_some() || insert.output.is_some(),
        "RETURNING",
    )?;
    absent(
        insert.partitioned.is_some() || !insert.after_columns.is_empty(),
        "INSERT with PARTITION",
    )?;
    absent(!insert.assignments.is_empty(), "INSERT .. SET")?;
    absent(
        insert.settings.is_some() || insert.format_clause.is_some() || insert.priority.is_some(),
        "INSERT with settings",
    )?;
    absent(
        insert.multi_table_insert_type.is_some(),
        "INSERT into several tables",
    )?;
    let Some(source) = insert.source else {
        return unsupported("INSERT with DEFAULT VALUES");
    };
    let columns = insert
        .columns
        .into_iter()
        .map(|name| match name.0.as_slice() {
            [part] => part
                .as_ident()
                .cloned()
                .ok_or_else(|| Error::invalid_input(format!("column {name}"))),
            _ => Err(Error::invalid_input(format!(
                "column {name} of INSERT is no top-level column"
            ))),
        })
        .collect::<Result<_>>()?;
    Ok(Statement::Insert(Box::new(Insert {
        table,
        columns,
        source,
    })))
}

fn target(relation: TableWithJoins, verb: &str) -> Result<(ObjectName, Option<Ident>)> {
    absent(!relation.joins.is_empty(), &format!("{verb} of a join"))?;
    let TableFactor::Table {
        name,
        alias,
        args: None,
        version,
        ..
    } = relation.relation
    else {
        return unsupported(format!("{verb} of {}", relation.relation));
    };
    absent(
        version.is_some(),
        &format!("{verb} of a version of a table"),
    )?;
    let alias = match alias {
        Some(alias) if alias.columns.is_empty() => Some(alias.name),
        Some(alias) => return unsupported(format!("{verb} with the column alias {alias}")),
        None => None,
    };
    Ok((name, alias))
}

fn delete(delete: ast::Delete) -> Result<Statement> {
    absent(!delete.tables.is_empty(), "DELETE of several tables")?;
    absent(
        delete.returning.is_some() || delete.output.is_some(),
        "RETURNING",
    )?;
    absent(
        !delete.order_by.is_empty() || delete.limit.is_some(),
        "DELETE with ORDER BY or LIMIT",
    )?;
    let (FromTable::WithFromKeyword(mut from) | FromTable::WithoutKeyword(mut from)) = delete.from;
    let relation = match (from.pop(), from.is_empty()) {
        (Some(relation), true) => relation,
        _ => return unsupported("DELETE of several tables"),
    };
    let (table, alias) = target(relation, "DELETE")?;
    let using = delete.using.unwrap_or_default();
    Ok(Statement::Delete(Box::new(Delete {
        table,
        alias,
        using,
        selection: delete.selection,
    })))
}

fn update(update: ast::Update) -> Result<Statement> {
    absent(
        update.returning.is_some() || update.output.is_some(),
        "RETURNING",
    )?;
    absent(update.or.is_some(), "UPDATE OR")?;
    absent(
        !update.order_by.is_empty() || update.limit.is_some(),
        "UPDATE with ORDER BY or LIMIT",
    )?;
    let from = match update.from {
        None => Vec::new(),
        Some(UpdateTableFromKind::AfterSet(from)) => from,
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return unsupported("UPDATE with FROM before SET");
        }
    };
    let assignments = update
        .assignments
        .into_iter()
        .map(|assignment| match assignment.target {
            AssignmentTarget::ColumnName(name) => match name.0.as_slice() {
                [part] => match part.as_ident() {
                    Some(ident) => Ok((ident.clone(), assignment.value)),
                    None => unsupported(format!("SET {name}")),
                },
                _ => unsupported(format!("SET of the nested column {name}")),
            },
            AssignmentTarget::Tuple(_) => unsupported("SET of a column list"),
        })
        .collect::<Result<_>>()?;
    let (table, alias) = target(update.table, "UPDATE")?;
    Ok(Statement::Update(Box::new(Update {
        table,
        alias,
        assignments,
        from,
        selection: update.selection,
    })))
}

fn truncate(truncate: ast::Truncate) -> Result<Statement> {
    let plain = truncate.partitions.is_none()
        && !truncate.if_exists
        && truncate.identity.is_none()
        && truncate.cascade.is_none()
        && truncate.on_cluster.is_none();
    absent(!plain, "an option of TRUNCATE")?;
    match truncate.table_names.as_slice() {
        [target] if !target.only && !target.has_asterisk => Ok(Statement::Truncate {
            table: target.name.clone(),
        }),
        _ => unsupported("TRUNCATE of several tables"),
    }
}

fn create_index(create: ast::CreateIndex) -> Result<Statement> {
    absent(create.unique, "CREATE UNIQUE INDEX")?;
    absent(create.concurrently, "CREATE INDEX CONCURRENTLY")?;
    absent(create.nulls_distinct.is_some(), "NULLS DISTINCT")?;
    absent(create.predicate.is_some(), "CREATE INDEX with WHERE")?;
    absent(!create.include.is_empty(), "INCLUDE")?;
    absent(
        !create.index_options.is_empty() || !create.alter_options.is_empty(),
        "an option of CREATE INDEX",
    )?;
    let kind = match create.using {
        None => {
            return Err(Error::invalid_input(
                "CREATE INDEX needs USING and a kind, such as USING bitmap (column)",
            ));
        }
        Some(IndexType::Custom(ident)) => fold(&ident),
        Some(other) => other.to_string().to_lowercase(),
    };
    let columns = create
        .columns
        .into_iter()
        .map(|column| {
            absent(
                column.operator_class.is_some(),
                "an operator class (say WITH (metric = ..))",
            )?;
            let options = &column.column.options;
            absent(
                options.asc.is_some() || options.nulls_first.is_some(),
                "an order of index columns",
            )?;
            match &column.column.expr {
                Expr::Identifier(ident) => Ok(fold(ident)),
                other => unsupported(format!("an index on the expression {other}")),
            }
        })
        .collect::<Result<_>>()?;
    let options = index_options(&create.with)?;
    let name = match &create.name {
        Some(name) => Some(name_parts(name)?.join(".")),
        None => None,
    };
    let if_not_exists = create.if_not_exists;
    let table = create.table_name;
    Ok(Statement::CreateIndex(Box::new(CreateIndex {
        table,
        name,
        if_not_exists,
        kind,
        columns,
        options,
    })))
}

fn index_options(with: &[Expr]) -> Result<Vec<(String, String)>> {
    let mut options = Vec::new();
    for option in with {
        match option {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            } => match left.as_ref() {
                Expr::Identifier(key) => push_property(&mut options, fold(key), right)?,
                other => return Err(Error::invalid_input(format!("WITH key {other}"))),
            },
            other => {
                return Err(Error::invalid_input(format!(
                    "WITH takes key = value, not {other}"
                )));
            }
        }
    }
    Ok(options)
}

fn call(call: ast::Function) -> Result<Statement> {
    let parts = name_parts(&call.name)?;
    let procedure = match parts.as_slice() {
        [schema, procedure] if schema == "system" => procedure.clone(),
        _ => {
            return Err(Error::invalid_input(format!(
                "procedure {} (procedures are called system.<name>)",
                call.name
            )));
        }
    };
    let arguments = match call.args {
        FunctionArguments::List(list)
            if list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
        {
            list.args
        }
        FunctionArguments::None => Vec::new(),
        _ => return unsupported("a query as the arguments of CALL"),
    };
    Ok(Statement::Call(Call {
        arguments: Arguments::new(&arguments)?,
        procedure,
    }))
}

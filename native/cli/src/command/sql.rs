//! `benostreamdb sql`.

use std::io::Read;

use benostreamdb::{Error, Result, Session, parse_statements};

use crate::arguments::SqlArguments;
use crate::output;

/// Runs the statements of every `-e` and of the file, in this order.
pub(crate) async fn run(arguments: &SqlArguments) -> Result<()> {
    let session = Session::open(&arguments.connection.session_options())?;
    let mut texts = arguments.execute.clone();
    if let Some(path) = &arguments.file {
        texts.push(read(path)?);
    }
    let mut statements = Vec::new();
    for text in &texts {
        statements.extend(parse_statements(text)?);
    }
    for statement in statements {
        output::print(
            statement.run(session.environment()).await?,
            arguments.format,
        )
        .await?;
    }
    Ok(())
}

fn read(path: &std::path::Path) -> Result<String> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| Error::from(error).with("file", path.display()))
}

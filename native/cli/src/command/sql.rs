//! `benostreamdb sql`.

use std::io::{IsTerminal, Read};
use std::path::Path;

use benostreamdb::{Error, Result, Session, parse_statements};

use crate::arguments::{Format, SqlArguments};
use crate::output;
use crate::shell::Shell;

/// Runs the statements of every `-e` and of the file, in this order; without them, those of standard input.
pub(crate) async fn run(arguments: &SqlArguments) -> Result<()> {
    let session = Session::open(&arguments.connection.session_options())?;
    let mut texts = arguments.execute.clone();
    if let Some(path) = &arguments.file {
        texts.push(read(path)?);
    } else if texts.is_empty() {
        if std::io::stdin().is_terminal() {
            return Shell::new(&session, arguments.format)?.run().await;
        }
        texts.push(read(Path::new("-"))?);
    }
    let mut statements = Vec::new();
    for text in &texts {
        statements.extend(parse_statements(text)?);
    }
    let mut printed = 0;
    for statement in statements {
        let result = statement.run(session.environment()).await?;
        printed += usize::from(!result.schema().fields().is_empty());
        if arguments.format == Format::Arrow && printed > 1 {
            return Err(Error::invalid_input(
                "--format arrow prints one result, and the statements give several",
            ));
        }
        output::print(result, arguments.format).await?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(|error| Error::from(error).with("file", path.display()))
}

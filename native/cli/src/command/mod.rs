//! The commands.

mod describe;
mod index;
mod snapshots;
mod sql;

use benostreamdb::{Result, Session, Table};

use crate::arguments::{Arguments, Command, TableArguments};

/// Runs the command that was asked for.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Sql(arguments) => sql::run(&arguments).await,
        Command::Describe(arguments) => describe::run(&arguments.target).await,
        Command::Index(command) => index::run(&command).await,
        Command::Snapshots(arguments) => snapshots::run(&arguments).await,
    }
}

async fn open_table(arguments: &TableArguments) -> Result<Table> {
    let session = Session::open(&arguments.connection.session_options())?;
    session.table(&session.table_ref(&arguments.table)?).await
}

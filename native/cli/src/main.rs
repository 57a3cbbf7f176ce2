//! The command line of BenoStreamDB: SQL, descriptions, indexes and snapshots of tables. Results go to standard
//! output, errors to standard error. Exit codes: 0 done, 1 an error, 2 wrong usage.
#![cfg_attr(
    test,
    allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::indexing_slicing,
        reason = "tests work on small numbers"
    )
)]

mod arguments;
mod command;
mod output;
mod shell;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result =
        benostreamdb::start_runtime().and_then(|runtime| runtime.block_on(command::run(arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has seen enough, such as `head`, is no error.
        Err(error) if output::is_closed(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

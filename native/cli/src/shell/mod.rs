//! The interactive shell: reads statements over several lines until `;`, runs them, and goes on after errors.
//! Ctrl-C drops what is typed or stops the statement that runs; Ctrl-D on an empty line ends.

mod editor;
mod history;
mod interrupt;
mod statement;

use std::pin::pin;

use benostreamdb::{Error, Result, Session, parse_statements};
use futures::future::{Either, select};

use crate::arguments::Format;
use crate::output;
use editor::{Editor, Input};
use history::History;
use interrupt::Interrupts;

const HELP: &str = "\
Statements end with ; and may take several lines.
  \\d          list tables
  \\d TABLE    show the columns of a table
  \\q          end (also Ctrl-D)
  \\?          this help
Ctrl-C stops a statement or drops what is typed. Arrow keys recall earlier
statements.
";

/// Whether the shell goes on.
enum Next {
    Continue,
    End,
}

/// A shell on the terminal.
pub(crate) struct Shell<'a> {
    session: &'a Session,
    format: Format,
    editor: Editor,
    history: History,
    interrupts: Interrupts,
}

impl<'a> Shell<'a> {
    /// Errors: Unsupported for a format that is no text.
    pub(crate) fn new(session: &'a Session, format: Format) -> Result<Shell<'a>> {
        if format == Format::Arrow {
            return Err(Error::unsupported(
                "the interactive shell prints text; give the statement with -e for --format arrow",
            ));
        }
        Ok(Shell {
            session,
            format,
            editor: Editor::new()?,
            history: History::load(),
            interrupts: Interrupts::new()?,
        })
    }

    /// Reads and runs until the end of input.
    pub(crate) async fn run(&mut self) -> Result<()> {
        output::line("Statements end with ;  \\? shows help, \\q ends.")?;
        let mut typed = String::new();
        loop {
            let prompt = match typed.is_empty() {
                true => "benostreamdb> ",
                false => "           -> ",
            };
            match self.editor.read_line(prompt, self.history.entries())? {
                Input::Line(line) => {
                    let (text, next) = self.take(typed, &line).await?;
                    typed = text;
                    if matches!(next, Next::End) {
                        return Ok(());
                    }
                }
                Input::Interrupted => typed.clear(),
                Input::End => return Ok(()),
            }
        }
    }

    /// Takes a line; gives what is typed of a statement that has not ended.
    async fn take(&mut self, typed: String, line: &str) -> Result<(String, Next)> {
        if typed.is_empty() && line.trim().is_empty() {
            return Ok((typed, Next::Continue));
        }
        if typed.is_empty() && line.trim_start().starts_with('\\') {
            self.history.add(line.trim());
            return Ok((typed, self.command(line.trim()).await?));
        }
        let text = match typed.is_empty() {
            true => line.to_string(),
            false => format!("{typed}\n{line}"),
        };
        if !statement::is_complete(&text) {
            return Ok((text, Next::Continue));
        }
        self.history.add(text.trim());
        self.execute(&text).await?;
        Ok((String::new(), Next::Continue))
    }

    async fn command(&mut self, line: &str) -> Result<Next> {
        let (command, argument) = match line.split_once(char::is_whitespace) {
            Some((command, argument)) => (command, argument.trim().trim_end_matches(';')),
            None => (line.trim_end_matches(';'), ""),
        };
        match (command, argument) {
            ("\\q", "") => return Ok(Next::End),
            ("\\d", "") => self.execute("SHOW TABLES").await?,
            ("\\d", table) => self.execute(&format!("DESCRIBE {table}")).await?,
            ("\\?", _) => output::text(HELP)?,
            _ => eprintln!("error: there is no command {line}; \\? shows those there are"),
        }
        Ok(Next::Continue)
    }

    /// Runs statements; their errors are shown and end nothing but the text. Errors: only of the output itself.
    async fn execute(&mut self, text: &str) -> Result<()> {
        self.interrupts.forget();
        let outcome = {
            let work = pin!(run(self.session, self.format, text));
            match select(work, self.interrupts.next()).await {
                Either::Left((outcome, _)) => outcome,
                Either::Right(_) => Err(Error::cancelled(
                    "the statement was stopped; a change that was being published may have been made",
                )),
            }
        };
        match outcome {
            Err(error) if output::is_closed(&error) => Err(error),
            Err(error) => {
                eprintln!("error: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }
}

async fn run(session: &Session, format: Format, text: &str) -> Result<()> {
    for statement in parse_statements(text)? {
        output::print(statement.run(session.environment()).await?, format).await?;
    }
    Ok(())
}

//! One line typed on the terminal, with the keys that people know from other shells. The line that is edited stays
//! on one row: where it is longer than the terminal is wide, the part around the cursor is shown.

use std::fs::File;
use std::io::Write;

use benostreamdb::{Error, Result};
use termion::event::Key;
use termion::input::{Keys, TermRead as _};
use termion::raw::IntoRawMode as _;
use unicode_width::UnicodeWidthChar as _;

/// The width of a terminal that does not tell it.
const WIDTH: usize = 80;
/// The longest line.
const LINE_CHARS_MAX: usize = 1 << 20;

/// What was typed.
#[derive(Debug, PartialEq)]
pub(super) enum Input {
    /// A line, ended by Enter.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D on an empty line, or the terminal is gone.
    End,
}

/// The terminal.
pub(super) struct Editor {
    terminal: File,
    keys: Keys<File>,
}

impl Editor {
    pub(super) fn new() -> Result<Editor> {
        let open =
            || termion::get_tty().map_err(|error| Error::from(error).with("terminal", "/dev/tty"));
        Ok(Editor {
            terminal: open()?,
            keys: open()?.keys(),
        })
    }

    /// Reads one line behind `prompt`. Up and down show `history`, oldest first.
    pub(super) fn read_line(&mut self, prompt: &str, history: &[String]) -> Result<Input> {
        // Raw only while a line is edited: statements print, and are interrupted, as usual.
        let mut raw = self.terminal.try_clone()?.into_raw_mode()?;
        let mut line = Line::new(history);
        loop {
            let width = termion::terminal_size_fd(&self.terminal).map_or(WIDTH, |(w, _)| w.into());
            write!(raw, "{}", line.shown(prompt, width))?;
            raw.flush()?;
            let Some(key) = self.keys.next().transpose()? else {
                return Ok(Input::End);
            };
            if let Some(input) = line.press(key) {
                let mark = if input == Input::Interrupted {
                    "^C"
                } else {
                    ""
                };
                write!(raw, "{mark}\r\n")?;
                raw.flush()?;
                return Ok(input);
            }
            if key == Key::Ctrl('l') {
                write!(
                    raw,
                    "{}{}",
                    termion::clear::All,
                    termion::cursor::Goto(1, 1)
                )?;
            }
        }
    }
}

/// The line being edited.
struct Line<'a> {
    characters: Vec<char>,
    cursor: usize,
    history: &'a [String],
    /// The entry of the history that is shown; one behind the last is what the user typed.
    entry: usize,
    typed: Vec<char>,
}

impl<'a> Line<'a> {
    fn new(history: &'a [String]) -> Line<'a> {
        Line {
            characters: Vec::new(),
            cursor: 0,
            history,
            entry: history.len(),
            typed: Vec::new(),
        }
    }

    fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// What a key does; gives the input that it ends.
    fn press(&mut self, key: Key) -> Option<Input> {
        let end = self.characters.len();
        match key {
            Key::Char('\n' | '\r') => return Some(Input::Line(self.text())),
            Key::Ctrl('c') => return Some(Input::Interrupted),
            Key::Ctrl('d') if end == 0 => return Some(Input::End),
            Key::Char(character) if end < LINE_CHARS_MAX => {
                let shown = if character == '\t' { ' ' } else { character };
                self.characters.insert(self.cursor, shown);
                self.cursor += 1;
            }
            Key::Backspace | Key::Ctrl('h') if self.cursor > 0 => {
                self.remove(self.cursor - 1, self.cursor)
            }
            Key::Delete | Key::Ctrl('d') if self.cursor < end => {
                self.remove(self.cursor, self.cursor + 1)
            }
            Key::Left | Key::Ctrl('b') => self.cursor = self.cursor.saturating_sub(1),
            Key::Right | Key::Ctrl('f') => self.cursor = end.min(self.cursor + 1),
            Key::Home | Key::Ctrl('a') => self.cursor = 0,
            Key::End | Key::Ctrl('e') => self.cursor = end,
            Key::Ctrl('u') => self.remove(0, self.cursor),
            Key::Ctrl('k') => self.remove(self.cursor, end),
            Key::Ctrl('w') => self.remove(self.word_start(), self.cursor),
            Key::Up | Key::Ctrl('p') => self.show(self.entry.checked_sub(1)),
            Key::Down | Key::Ctrl('n') => self.show(self.entry.checked_add(1)),
            _ => {}
        }
        None
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.characters.drain(from..to);
        self.cursor = from;
    }

    /// Where the word before the cursor starts.
    fn word_start(&self) -> usize {
        let before = self.characters.iter().take(self.cursor).rev();
        let mut letters = false;
        let taken = before.take_while(|c| {
            letters |= !c.is_whitespace();
            !letters || !c.is_whitespace()
        });
        self.cursor - taken.count()
    }

    /// Shows an entry of the history, or again what was typed.
    fn show(&mut self, entry: Option<usize>) {
        let Some(entry) = entry.filter(|entry| *entry <= self.history.len()) else {
            return;
        };
        if self.entry == self.history.len() {
            self.typed = std::mem::take(&mut self.characters);
        }
        self.entry = entry;
        self.characters = match self.history.get(entry) {
            Some(text) => text.chars().collect(),
            None => std::mem::take(&mut self.typed),
        };
        self.cursor = self.characters.len();
    }

    /// What the terminal is sent to show prompt, text and cursor in one row.
    fn shown(&self, prompt: &str, width: usize) -> String {
        let room = width.saturating_sub(prompt.chars().count() + 1).max(1);
        let cells = |c: &char| c.width().unwrap_or(1);
        let (mut start, mut before) = (self.cursor, 0);
        while let Some(character) = start.checked_sub(1).and_then(|at| self.characters.get(at)) {
            if before + cells(character) > room {
                break;
            }
            before += cells(character);
            start -= 1;
        }
        let (mut text, mut used) = (String::new(), 0);
        for character in self.characters.iter().skip(start) {
            used += cells(character);
            if used > room {
                break;
            }
            text.push(match character {
                '\n' => '\u{21b5}',
                control if control.is_control() => ' ',
                other => *other,
            });
        }
        let column = prompt.chars().count() + before;
        let clear = termion::clear::AfterCursor;
        let forward = u16::try_from(column).unwrap_or(u16::MAX).max(1);
        format!(
            "\r{prompt}{text}{clear}\r{}",
            termion::cursor::Right(forward)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a line after these keys, and the input that they end.
    fn typed(history: &[String], keys: &[Key]) -> (String, usize, Option<Input>) {
        let mut line = Line::new(history);
        let mut ended = None;
        for key in keys {
            ended = line.press(*key);
        }
        (line.text(), line.cursor, ended)
    }

    fn text(text: &str) -> Vec<Key> {
        text.chars().map(Key::Char).collect()
    }

    #[test]
    fn keys_edit_the_line() {
        let of = |more: &[Key]| {
            let (text, cursor, _) = typed(&[], &[&text("one two")[..], more].concat());
            (text, cursor)
        };
        let (left, home) = (Key::Left, Key::Home);
        for (keys, expected, cursor) in [
            (vec![], "one two", 7),
            (vec![Key::Backspace], "one tw", 6),
            (vec![left, left, Key::Backspace], "one wo", 4),
            (vec![home, Key::Delete], "ne two", 0),
            (vec![home, Key::Backspace, left], "one two", 0),
            (vec![Key::End, Key::Right, Key::Delete], "one two", 7),
            (vec![home, Key::Char('x')], "xone two", 1),
            (vec![Key::Ctrl('w')], "one ", 4),
            (vec![Key::Ctrl('w'), Key::Ctrl('w')], "", 0),
            (vec![left, left, Key::Ctrl('k')], "one t", 5),
            (vec![left, left, Key::Ctrl('u')], "wo", 0),
            (vec![left, Key::Ctrl('d')], "one tw", 6),
            (vec![Key::Char('\t'), Key::F(3), Key::Esc], "one two ", 8),
        ] {
            assert_eq!(of(&keys), (expected.to_string(), cursor), "{keys:?}");
        }
        let ended = |key| typed(&[], &[&text("a")[..], &[key]].concat()).2;
        assert_eq!(ended(Key::Char('\n')), Some(Input::Line("a".into())));
        assert_eq!(ended(Key::Ctrl('c')), Some(Input::Interrupted));
        assert_eq!(ended(Key::Ctrl('d')), None);
        assert_eq!(typed(&[], &[Key::Ctrl('d')]).2, Some(Input::End));
    }

    #[test]
    fn history_is_walked_and_what_was_typed_comes_back() {
        let history = ["first".to_string(), "second".to_string()];
        let of = |keys: &[Key]| typed(&history, &[&text("new")[..], keys].concat()).0;
        assert_eq!(of(&[Key::Up]), "second");
        assert_eq!(of(&[Key::Up, Key::Up, Key::Up]), "first");
        assert_eq!(of(&[Key::Up, Key::Up, Key::Down]), "second");
        assert_eq!(of(&[Key::Up, Key::Down, Key::Down]), "new");
        assert_eq!(of(&[Key::Down]), "new");
    }

    #[test]
    fn long_lines_show_the_part_around_the_cursor() {
        let mut line = Line::new(&[]);
        for key in text(&"0123456789".repeat(3)) {
            line.press(key);
        }
        line.press(Key::Char('\u{65e5}'));
        let shown = line.shown("> ", 13);
        assert!(shown.contains("> 23456789\u{65e5}"), "{shown:?}");
        line.press(Key::Home);
        assert!(line.shown("> ", 13).contains("> 0123456789"));
    }
}

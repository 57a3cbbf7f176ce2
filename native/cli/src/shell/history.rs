//! Earlier statements, kept in the user's data folder. A history that cannot be read or written is no reason to
//! stop: the shell then remembers for itself.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

/// How many entries are kept.
const ENTRIES_MAX: usize = 1_000;
/// The longest file that is read, and the longest entry that is kept.
const FILE_BYTES_MAX: u64 = 4 << 20;
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// The entries, oldest first.
#[derive(Default)]
pub(super) struct History {
    entries: Vec<String>,
    file: Option<PathBuf>,
}

impl History {
    /// What earlier shells left.
    pub(super) fn load() -> History {
        History::at(place())
    }

    fn at(file: Option<PathBuf>) -> History {
        let mut entries = file.as_ref().map(read).unwrap_or_default();
        let surplus = entries.len().saturating_sub(ENTRIES_MAX);
        entries.drain(..surplus);
        let history = History { entries, file };
        if surplus > 0 {
            history.rewrite();
        }
        history
    }

    pub(super) fn entries(&self) -> &[String] {
        &self.entries
    }

    /// Adds an entry unless it is the last one again.
    pub(super) fn add(&mut self, entry: &str) {
        if entry.len() > ENTRY_BYTES_MAX || self.entries.last().is_some_and(|last| last == entry) {
            return;
        }
        self.entries.push(entry.to_string());
        if let Some(mut file) = self.open(OpenOptions::new().append(true).create(true)) {
            let _ = file.write_all(line(entry).as_bytes());
        }
    }

    fn rewrite(&self) {
        let text: String = self.entries.iter().map(|entry| line(entry)).collect();
        if let Some(mut file) = self.open(OpenOptions::new().write(true).truncate(true)) {
            let _ = file.write_all(text.as_bytes());
        }
    }

    /// The file, which only its owner may read: statements can hold what is not for others.
    fn open(&self, options: &mut OpenOptions) -> Option<File> {
        let path = self.file.as_ref()?;
        fs::create_dir_all(path.parent()?).ok()?;
        options.mode(0o600).open(path).ok()
    }
}

fn place() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let data =
        absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(data.join("benostreamdb/history"))
}

fn read(file: &PathBuf) -> Vec<String> {
    let mut text = String::new();
    let read = File::open(file).and_then(|f| f.take(FILE_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) => text.lines().map(entry).collect(),
        Err(_) => Vec::new(),
    }
}

/// An entry as one line: line ends as `\n`, backslashes doubled.
fn line(entry: &str) -> String {
    format!("{}\n", entry.replace('\\', "\\\\").replace('\n', "\\n"))
}

fn entry(line: &str) -> String {
    let mut entry = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n') => entry.push('\n'),
                Some(other) => entry.push(other),
                None => {}
            },
            other => entry.push(other),
        }
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_several_lines_are_read_back_as_they_were() {
        let folder =
            std::env::temp_dir().join(format!("benostreamdb-history-{}", std::process::id()));
        let file = folder.join("a/history");
        let mut history = History::at(Some(file.clone()));
        let entries = ["SELECT 1;", "SELECT '\\n\\\\',\n 2 -- x\n;", "\\d t"];
        for entry in entries {
            history.add(entry);
            history.add(entry);
        }
        assert_eq!(History::at(Some(file.clone())).entries(), entries);
        for number in 0..ENTRIES_MAX {
            history.add(&format!("SELECT {number};"));
        }
        history.add(&"x".repeat(ENTRY_BYTES_MAX + 1));
        let kept = History::at(Some(file.clone()));
        assert_eq!(kept.entries().len(), ENTRIES_MAX);
        assert_eq!(History::at(Some(file.clone())).entries(), kept.entries());
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert!(History::at(Some(file)).entries().is_empty());
        fs::remove_dir_all(folder).unwrap();
    }
}

//! The habits of this repository as ordinary tests: modules use only what lies below them, files and functions
//! stay small, `unsafe` stays where it is expected, nothing outside tests panics, pages name what exists.
//! Reads the tree of the checkout and nothing else; an exception is a line in a list here, with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 70;
const FOLDER_FILES_MAX: usize = 15;
const CONNECTOR_LINES_MAX: usize = 400;

/// The modules of the engine by level; a module uses only lower ones.
const LEVELS: [(&str, usize); 14] = [
    ("session", 5),
    ("sql", 4),
    ("search", 4),
    ("table", 3),
    ("maintain", 3),
    ("catalog", 2),
    ("index", 2),
    ("access", 2),
    ("iceberg", 1),
    ("storage", 1),
    ("error", 0),
    ("clock", 0),
    ("telemetry", 0),
    ("threads", 1),
];

/// What may be used on the same level.
const SIDEWAYS: [(&str, &str); 2] = [("sql", "search"), ("maintain", "table")];

/// The crates of this repository that a crate may use.
const CRATES: [(&str, &[&str]); 4] = [
    ("engine", &["benostream-gpu-ann"]),
    ("gpu", &[]),
    ("abi", &["benostreamdb"]),
    ("cli", &["benostreamdb"]),
];

/// Where `unsafe` is expected: the rim to C and the JVM, and the kernels.
const UNSAFE: [&str; 10] = [
    "native/abi/src/capi.rs",
    "native/abi/src/export.rs",
    "native/abi/src/import.rs",
    "native/abi/src/natives.rs",
    "native/abi/src/selftest.rs",
    "native/abi/src/stream.rs",
    "native/gpu/src/aligned.rs",
    "native/gpu/src/exact.rs",
    "native/gpu/src/matrix.rs",
    "native/gpu/src/x86.rs",
];

/// Functions longer than the budget. This list only shrinks.
const LONG_FUNCTIONS: [(&str, &str); 0] = [];

/// What ends a process instead of answering with an error.
const PANICS: [&str; 9] = [
    ".unwrap()",
    ".unwrap_err()",
    ".expect(",
    ".expect_err(",
    "panic!(",
    "unreachable!(",
    "todo!(",
    "unimplemented!(",
    "process::exit(",
];

/// One text file of the checkout.
struct File {
    path: String,
    text: String,
}

/// A Rust file as the checks see it.
struct Source {
    path: String,
    /// The lines as written.
    lines: Vec<String>,
    /// The lines with comments and literals blanked.
    code: Vec<String>,
    /// Which lines only tests compile.
    test: Vec<bool>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All text files, without build products.
fn tree() -> Vec<File> {
    let mut files = Vec::new();
    walk(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(files.len() > 100, "the checkout was not found");
    files
}

fn walk(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    const SKIPPED: [&str; 4] = [
        "target",
        "connector-artifacts",
        "__pycache__",
        "node_modules",
    ];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let hidden = name.starts_with('.') && name != ".ci" && name != ".gitignore";
        if hidden || SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &format!("{path}/"), files);
        } else if let Ok(text) = fs::read_to_string(entry.path()) {
            files.push(File { path, text });
        }
    }
}

fn sources() -> Vec<Source> {
    let files = tree();
    let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut sources: Vec<Source> = rust.map(Source::new).collect();
    let test_modules: BTreeSet<String> = sources.iter().flat_map(Source::test_modules).collect();
    for source in &mut sources {
        let module = source
            .path
            .trim_end_matches(".rs")
            .trim_end_matches("/mod")
            .to_owned();
        let mut parents = module.match_indices('/').map(|(at, _)| &module[..at]);
        let below = parents.any(|parent| test_modules.contains(parent));
        if below || test_modules.contains(&module) || module.contains("/tests/") {
            source.test.fill(true);
        }
    }
    sources
}

impl Source {
    fn new(file: &File) -> Source {
        let blanked = blank(&file.text);
        let code: Vec<String> = blanked.lines().map(str::to_owned).collect();
        let test = test_lines(&code);
        let lines = file.text.lines().map(str::to_owned).collect();
        Source {
            path: file.path.clone(),
            lines,
            code,
            test,
        }
    }

    /// The modules that this file declares for tests alone, as paths without `.rs`.
    fn test_modules(&self) -> Vec<String> {
        let folder = match self.path.rsplit_once('/') {
            Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder,
            _ => self.path.trim_end_matches(".rs"),
        };
        let declared = self.code.iter().zip(&self.test).filter(|(_, test)| **test);
        let names = declared.filter_map(|(line, _)| {
            let declaration = line.trim().strip_suffix(';')?;
            let (before, name) = declaration.split_once("mod ")?;
            (before.is_empty() || before.starts_with("pub")).then_some(name)
        });
        names.map(|name| format!("{folder}/{name}")).collect()
    }

    /// Lines that reach users, with their numbers.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.iter().zip(&self.test).enumerate();
        lines
            .filter(|(_, (_, test))| !**test)
            .map(|(at, (line, _))| (at + 1, line.as_str()))
    }
}

/// The text with comments, strings and characters blanked, line by line in place.
fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
            continue;
        }
        let kept = |c: &char| if *c == '\n' { '\n' } else { ' ' };
        out.extend(chars[at..end].iter().map(kept));
        at = end;
    }
    out
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts.
fn literal_end(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let inside_word = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => comment_end(chars, at),
        ['r', '"' | '#', ..] if !inside_word => raw_end(chars, at, 1),
        ['b', 'r', '"' | '#', ..] if !inside_word => raw_end(chars, at, 2),
        ['"', ..] => quoted_end(chars, at + 1, '"'),
        ['\'', '\\', ..] => quoted_end(chars, at + 1, '\''),
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

fn comment_end(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < chars.len() {
        match &chars[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn raw_end(chars: &[char], start: usize, prefix: usize) -> usize {
    let hashes = chars[start + prefix..]
        .iter()
        .take_while(|c| **c == '#')
        .count();
    let open = start + prefix + hashes;
    if chars.get(open) != Some(&'"') {
        return start;
    }
    let close: Vec<char> = std::iter::once('"')
        .chain(std::iter::repeat_n('#', hashes))
        .collect();
    let body = &chars[open + 1..];
    let length = body.windows(close.len()).position(|window| window == close);
    length.map_or(chars.len(), |length| open + 1 + length + close.len())
}

fn quoted_end(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

/// Marks every item that follows a `#[cfg(test)]`, from the attribute to the item's end.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut test = vec![false; code.len()];
    let mut at = 0;
    while at < code.len() {
        if !code[at].trim().starts_with("#[cfg(test)]") {
            at += 1;
            continue;
        }
        let end = item_end(code, at + 1);
        test[at..=end].fill(true);
        at = end + 1;
    }
    test
}

/// The line on which the item that starts at line `start` ends.
fn item_end(code: &[String], start: usize) -> usize {
    let mut depth = 0_i32;
    for (at, line) in code.iter().enumerate().skip(start) {
        for c in line.chars() {
            match c {
                '{' | '(' | '[' => depth += 1,
                '}' | ')' | ']' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (c == '}' || c == ';') {
                return at;
            }
        }
    }
    code.len() - 1
}

/// Whether `text` holds `word` as a word of its own.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|part| part == word)
}

fn identifier(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    &text[..end]
}

/// The first names of paths that start with `prefix`, also those of a braced list.
fn names_after(text: &str, prefix: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let before = text[..at].chars().next_back().unwrap_or(' ');
        if before.is_alphanumeric() || before == '_' || before == ':' {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(first_names(list)),
            None => names.push(identifier(rest).to_owned()),
        }
    }
    names
}

/// The first names of the entries of a braced list, up to its closing brace.
fn first_names(list: &str) -> Vec<String> {
    let mut depth = 0;
    let mut entries = vec![String::new()];
    for c in list.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => entries.push(String::new()),
            c if depth == 0 => entries.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    let names = entries
        .iter()
        .map(|entry| identifier(entry.trim()).to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn allowed(user: &str, used: &str) -> bool {
    let levels: BTreeMap<&str, usize> = LEVELS.into_iter().collect();
    let (Some(above), Some(below)) = (levels.get(user), levels.get(used)) else {
        return false;
    };
    user == used || below < above || SIDEWAYS.contains(&(user, used))
}

fn nothing(rule: &str, problems: &[String]) {
    assert!(problems.is_empty(), "{rule}:\n  {}", problems.join("\n  "));
}

#[test]
fn modules_use_only_what_lies_below() {
    let mut problems = Vec::new();
    for source in sources() {
        let Some(inner) = source.path.strip_prefix("native/engine/src/") else {
            continue;
        };
        let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
        if inner == "lib" {
            continue;
        }
        let module = inner.split('/').next().unwrap();
        let code: Vec<&str> = source.shipped().map(|(_, line)| line).collect();
        let code = code.join("\n");
        let mut used = names_after(&code, "crate::");
        // As many `super` as the module is deep reach the root of the crate.
        used.extend(names_after(
            &code,
            &"super::".repeat(inner.split('/').count()),
        ));
        used.retain(|name| name != "super" && !allowed(module, name));
        problems.extend(
            used.iter()
                .map(|name| format!("{} uses {name}", source.path)),
        );
    }
    nothing("uses that do not point down", &problems);
}

#[test]
fn crates_use_only_their_own_below_and_the_root_of_the_engine() {
    let mut problems = Vec::new();
    let own: Vec<String> = CRATES
        .iter()
        .map(|(folder, _)| crate_name(folder))
        .collect();
    for (folder, uses) in CRATES {
        let manifest = fs::read_to_string(root().join("native").join(folder).join("Cargo.toml"));
        for line in manifest.unwrap().lines() {
            let name = line.split(['.', ' ', '=']).next().unwrap();
            if own.iter().any(|own| own == name) && !uses.contains(&name) {
                problems.push(format!("native/{folder} depends on {name}"));
            }
        }
    }
    for source in sources() {
        if source.path.starts_with("native/engine/") {
            continue;
        }
        let code = source.code.join("\n");
        let names = names_after(&code, "benostreamdb::").into_iter();
        let deep = names.filter(|name| LEVELS.iter().any(|(module, _)| module == name));
        problems.extend(deep.map(|name| format!("{} reaches into {name}", source.path)));
    }
    nothing("crates that reach too far", &problems);
}

fn crate_name(folder: &str) -> String {
    let manifest = root().join("native").join(folder).join("Cargo.toml");
    let text = fs::read_to_string(manifest).unwrap();
    let name = text.lines().find_map(|line| line.strip_prefix("name = \""));
    name.unwrap().trim_end_matches('"').to_owned()
}

#[test]
fn files_keep_their_size_budget() {
    let mut problems = Vec::new();
    for source in sources() {
        let own = source
            .shipped()
            .filter(|(_, line)| !line.trim().is_empty())
            .count();
        let all = source
            .code
            .iter()
            .filter(|line| !line.trim().is_empty())
            .count();
        if own > FILE_LINES_MAX {
            problems.push(format!("{} has {own} code lines", source.path));
        } else if all > FILE_LINES_MAX {
            println!("long tests: {} has {all} lines", source.path);
        }
    }
    for file in tree().iter().filter(|file| file.path.ends_with(".java")) {
        let comment = |line: &&str| ["//", "*", "/*"].iter().any(|mark| line.starts_with(mark));
        let lines = file.text.lines().map(str::trim);
        let count = lines
            .filter(|line| !line.is_empty() && !comment(line))
            .count();
        let connector = file.path.starts_with("spark-") && !file.path.contains("/test/");
        let limit = if connector {
            CONNECTOR_LINES_MAX
        } else {
            FILE_LINES_MAX
        };
        if count > limit {
            problems.push(format!("{} has {count} code lines, not {limit}", file.path));
        }
    }
    nothing("files over their budget", &problems);
}

#[test]
fn functions_keep_their_size_budget() {
    let mut problems = Vec::new();
    for source in sources() {
        for (at, line) in source.code.iter().enumerate() {
            let Some(name) = function_name(line) else {
                continue;
            };
            let length = item_end(&source.code, at) - at + 1;
            if length <= FUNCTION_LINES_MAX || LONG_FUNCTIONS.contains(&(&source.path, name)) {
                continue;
            }
            if source.test[at] {
                println!("long test: {}: {name} has {length} lines", source.path);
            } else {
                problems.push(format!("{}: {name} has {length} lines", source.path));
            }
        }
    }
    nothing("functions over their budget", &problems);
}

/// The name of the function that a line starts.
fn function_name(line: &str) -> Option<&str> {
    const BEFORE: [&str; 5] = ["pub", "async", "const", "unsafe", "extern"];
    let (before, after) = line.split_once("fn ")?;
    let words = before
        .split(|c: char| c.is_whitespace() || c == '(')
        .filter(|w| !w.is_empty());
    let mut heads = words.filter(|word| !word.ends_with(')'));
    heads
        .all(|word| BEFORE.contains(&word))
        .then(|| identifier(after))
        .filter(|n| !n.is_empty())
}

#[test]
fn folders_hold_few_source_files() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources() {
        let folder = source
            .path
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        *counts.entry(folder.to_owned()).or_default() += 1;
    }
    counts.retain(|_, count| *count > FOLDER_FILES_MAX);
    let problems: Vec<String> = counts.iter().map(|(f, n)| format!("{f} has {n}")).collect();
    nothing("folders with too many source files", &problems);
}

#[test]
fn rust_files_open_with_a_header() {
    let bare = |source: &Source| {
        !source
            .lines
            .first()
            .is_some_and(|line| line.starts_with("//! "))
    };
    let problems: Vec<String> = sources().into_iter().filter(bare).map(|s| s.path).collect();
    nothing("files without a //! header", &problems);
}

#[test]
fn unsafe_stays_where_it_is_expected_and_says_why() {
    let mut problems = Vec::new();
    for source in sources() {
        for (number, line) in source
            .shipped()
            .filter(|(_, line)| has_word(line, "unsafe"))
        {
            if !UNSAFE.contains(&source.path.as_str()) {
                problems.push(format!("{}:{number} is not in the list", source.path));
            }
            let start = number.saturating_sub(8);
            let near = &source.lines[start..number];
            let block = line.contains("unsafe {") || line.contains("unsafe impl");
            if block && !near.iter().any(|line| line.contains("SAFETY:")) {
                problems.push(format!("{}:{number} has no SAFETY line", source.path));
            }
        }
    }
    nothing("unsafe code", &problems);
}

#[test]
fn code_outside_tests_never_panics_on_purpose() {
    let mut problems = Vec::new();
    for source in sources() {
        let example = source.path.contains("/examples/") || source.path.ends_with("/build.rs");
        for (number, line) in source.shipped().filter(|_| !example) {
            let found = PANICS.iter().filter(|call| line.contains(**call));
            problems.extend(found.map(|call| format!("{}:{number} {call}", source.path)));
        }
    }
    nothing("panics outside tests", &problems);
}

#[test]
fn files_hold_no_leftovers_and_no_names_of_one_machine() {
    // Put together here, so that this file does not hold them.
    let marks = [["TO", "DO"], ["FIX", "ME"], ["XX", "X:"], ["HA", "CK:"]];
    let places = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/mn", "t/"],
        ["/Use", "rs/"],
        ["hub.", "git"],
    ];
    let others = [
        ["sub", "agent"],
        ["work", "tree"],
        ["clau", "de"],
        ["chat", "gpt"],
    ];
    let parts = marks.into_iter().chain(places).chain(others);
    let words: Vec<String> = parts.map(|parts| parts.concat()).collect();
    let mut problems = Vec::new();
    for file in tree().iter().filter(|file| !file.path.ends_with(".lock")) {
        for (at, line) in file.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let any = words.iter().any(|w| line.contains(w) || lower.contains(w));
            if any || has_word(&lower, &["agen", "ts"].concat()) {
                problems.push(format!("{}:{} {}", file.path, at + 1, line.trim()));
            }
        }
    }
    nothing("words that do not belong here", &problems);
}

/// All functions whose name starts with the id of a law, in Rust and Java.
fn law_tests(files: &[File]) -> BTreeSet<String> {
    let code = files
        .iter()
        .filter(|f| f.path.ends_with(".rs") || f.path.ends_with(".java"));
    let mut found = BTreeSet::new();
    for line in code.flat_map(|file| file.text.lines()) {
        let after = line.split_once("fn ").or_else(|| line.split_once("void "));
        let name = after.map_or("", |(_, after)| identifier(after));
        let digits = name.strip_prefix('l').and_then(|rest| rest.split_once('_'));
        let numbered = digits.is_some_and(|(law, _)| law.parse::<u8>().is_ok());
        if numbered && line.contains(&format!("{name}(")) {
            found.insert(name.to_owned());
        }
    }
    found
}

#[test]
fn laws_name_tests_that_exist_and_every_law_test_is_named() {
    let files = tree();
    let page = files
        .iter()
        .find(|file| file.path == "docs/ARCHITECTURE.md")
        .unwrap();
    let exist = law_tests(&files);
    let mut problems = Vec::new();
    let mut named = BTreeSet::new();
    for law in 1..=12 {
        let start = format!("| L{law} |");
        let Some(row) = page.text.lines().find(|line| line.starts_with(&start)) else {
            problems.push(format!("L{law} is not on the page"));
            continue;
        };
        let prefix = format!("l{law}_");
        let of_law = row.split('`').filter(|name| name.starts_with(&prefix));
        let tests: Vec<String> = of_law.map(str::to_owned).collect();
        if tests.is_empty() && !row.contains("no code yet") {
            problems.push(format!("L{law} has no test"));
        }
        named.extend(tests);
    }
    problems.extend(
        named
            .difference(&exist)
            .map(|name| format!("{name} does not exist")),
    );
    problems.extend(
        exist
            .difference(&named)
            .map(|name| format!("{name} is not on the page")),
    );
    nothing("laws and their tests", &problems);
}

#[test]
fn pages_link_to_what_exists() {
    let mut problems = Vec::new();
    for file in tree().iter().filter(|file| file.path.ends_with(".md")) {
        let here = root().join(&file.path);
        for part in file.text.split("](").skip(1) {
            let target = part.split([')', '#', ' ']).next().unwrap_or_default();
            let outside =
                target.is_empty() || target.contains("://") || target.starts_with("mailto");
            if !outside && !here.parent().unwrap().join(target).exists() {
                problems.push(format!("{} links to {target}", file.path));
            }
        }
    }
    nothing("dead links", &problems);
}

#[test]
fn checks_see_what_they_look_for() {
    let text = "fn a() { \"panic!(\" } // .unwrap()\n#[cfg(test)]\nmod tests {\n x.unwrap()\n}\ny.unwrap()\n";
    let file = File {
        path: "native/engine/src/x.rs".to_owned(),
        text: text.to_owned(),
    };
    let source = Source::new(&file);
    let calls = source
        .shipped()
        .filter(|(_, line)| PANICS.iter().any(|call| line.contains(call)));
    assert_eq!(calls.map(|(number, _)| number).collect::<Vec<_>>(), [6]);
    assert_eq!(
        names_after("use crate::{a, b::{c, d}};\ncrate::e::f", "crate::"),
        ["a", "b", "e"]
    );
    assert_eq!(
        blank("r#\"a\"b\"# 'x' '\\'' &'a /* /* */ */ c")
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["&'a", "c"]
    );
    assert!(allowed("sql", "search") && allowed("table", "catalog"));
    assert!(
        !allowed("search", "sql") && !allowed("storage", "iceberg") && !allowed("index", "catalog")
    );
    assert_eq!(
        function_name("    pub(crate) async fn open(x: fn (u8)) {"),
        Some("open")
    );
    assert_eq!(function_name("let f = fn_of(fn (x));"), None);
}

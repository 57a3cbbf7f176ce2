//! Whether a text is whole statements: its last `;` stands outside of quotes and comments, and nothing but blanks
//! and comments follow.

/// Whether nothing is missing: the text is empty, or its last word is `;`.
pub(super) fn is_complete(text: &str) -> bool {
    let mut rest = text;
    let mut is_ended = true;
    while let Some(first) = rest.chars().next() {
        let (after, is_blank) = match skip(rest) {
            Some(skipped) => skipped,
            // Something that was opened has no end.
            None => return false,
        };
        if !is_blank {
            is_ended = first == ';';
        }
        rest = after;
    }
    is_ended
}

/// The text behind its first word, quoted text, comment or character, and whether that was blank. None where it has
/// no end.
fn skip(text: &str) -> Option<(&str, bool)> {
    if let Some(rest) = text.strip_prefix("--") {
        return Some((rest.find('\n').map_or("", |at| tail(rest, at)), true));
    }
    if text.starts_with("/*") {
        return Some((comment(text)?, true));
    }
    if let Some(rest) = text.strip_prefix(['\'', '"']) {
        let quote = text.chars().next()?;
        // A doubled quote is the end of one text and the start of the next.
        return Some((tail(rest, rest.find(quote)? + 1), false));
    }
    if let Some(rest) = text
        .strip_prefix(['e', 'E'])
        .and_then(|t| t.strip_prefix('\''))
    {
        return Some((escaped(rest)?, false));
    }
    if let Some(tag) = dollar_tag(text) {
        let rest = tail(text, tag.len());
        return Some((tail(rest, rest.find(tag)? + tag.len()), false));
    }
    let word = text
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$')
        .unwrap_or(text.len());
    if word > 0 {
        return Some((tail(text, word), false));
    }
    let first = text.chars().next()?;
    Some((tail(text, first.len_utf8()), first.is_whitespace()))
}

fn tail(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or("")
}

/// The text behind a comment, in which others may nest.
fn comment(text: &str) -> Option<&str> {
    let (mut rest, mut depth) = (text, 0u32);
    loop {
        if let Some(after) = rest.strip_prefix("/*") {
            (rest, depth) = (after, depth + 1);
        } else if let Some(after) = rest.strip_prefix("*/") {
            (rest, depth) = (after, depth - 1);
            if depth == 0 {
                return Some(rest);
            }
        } else {
            let mut characters = rest.chars();
            characters.next()?;
            rest = characters.as_str();
        }
    }
}

/// The text behind the end of `E'..'`, where a backslash takes the next character with it.
fn escaped(text: &str) -> Option<&str> {
    let mut characters = text.chars();
    loop {
        match characters.next()? {
            '\\' => {
                characters.next()?;
            }
            '\'' => return Some(characters.as_str()),
            _ => {}
        }
    }
}

/// `$$` or `$tag$` at the start of the text.
fn dollar_tag(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let name = rest.find('$')?;
    let is_name = rest
        .get(..name)?
        .chars()
        .enumerate()
        .all(|(at, c)| c == '_' || c.is_alphabetic() || (at > 0 && c.is_numeric()));
    is_name.then(|| text.get(..name + 2))?
}

#[cfg(test)]
mod tests {
    use super::is_complete;

    #[test]
    fn statement_ends_at_a_semicolon_outside_of_quotes_and_comments() {
        for whole in [
            "",
            "  \n",
            "SELECT 1;",
            "SELECT 1; ",
            "SELECT 1; -- done",
            "SELECT 1; /* a /* b */ c */",
            "SELECT ';', 'it''s';",
            "SELECT \"a;\"\"b\";",
            "SELECT E'a\\';b';",
            "SELECT $$ ; $$;",
            "SELECT $x$ $$; $x$;",
            "SELECT 'e' || 'x';",
            "SELECT 1; SELECT 2;",
            "-- only a comment",
        ] {
            assert!(is_complete(whole), "{whole}");
        }
        for part in [
            "SELECT 1",
            "SELECT 1; SELECT",
            "SELECT ';",
            "SELECT 'a''",
            "SELECT \";",
            "SELECT 1 -- ;",
            "SELECT 1; /* ;",
            "SELECT 1; /* /* */ ;",
            "SELECT E'a\\';",
            "SELECT $$ ;",
            "SELECT $x$ ; $y$;",
            "SELECT \u{e4}",
        ] {
            assert!(!is_complete(part), "{part}");
        }
    }
}

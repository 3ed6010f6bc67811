//! The text form of arrays.

/// The elements of an array's text (PostgreSQL 8.15.6); None: it has several dimensions, or is
/// malformed.
pub fn array_elements(text: &str) -> Option<Vec<Option<String>>> {
    let inside = text.trim_matches(is_space);
    let inside = inside.strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    let mut characters = inside.chars().peekable();
    if inside.chars().all(is_space) {
        return Some(elements);
    }
    loop {
        while characters.next_if(|one| is_space(*one)).is_some() {}
        let mut element = String::new();
        // Bytes up to the last one that was escaped: what is escaped counts as it stands.
        let mut escaped = 0;
        let is_quoted = characters.next_if_eq(&'"').is_some();
        loop {
            match characters.peek() {
                Some('\\') => {
                    characters.next();
                    element.push(characters.next()?);
                    escaped = element.len();
                }
                Some('"') if is_quoted => break,
                Some(',') | None if !is_quoted => break,
                Some('"' | '{' | '}') if !is_quoted => return None,
                None => return None,
                Some(character) => {
                    element.push(*character);
                    characters.next();
                }
            }
        }
        if is_quoted {
            characters.next();
            while characters.next_if(|one| is_space(*one)).is_some() {}
            elements.push(Some(element));
        } else {
            let kept = element[escaped..].trim_end_matches(is_space).len();
            let word = &element[..escaped + kept];
            let is_null = escaped == 0 && word.eq_ignore_ascii_case("null");
            if word.is_empty() {
                return None;
            }
            elements.push((!is_null).then(|| word.to_owned()));
        }
        match characters.next() {
            None => return Some(elements),
            Some(',') => {}
            Some(_) => return None,
        }
    }
}

/// What the server takes for a blank there (`scanner_isspace`).
fn is_space(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use super::array_elements;

    #[test]
    fn elements_of_an_array_are_those_of_the_server() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(array_elements("{}"), Some(vec![]));
        assert_eq!(
            array_elements("{a, b c ,NULL}"),
            Some(vec![some("a"), some("b c"), None])
        );
        assert_eq!(
            array_elements(r#"{"a,b","\"","NULL",\,}"#),
            Some(vec![some("a,b"), some("\""), some("NULL"), some(",")])
        );
        assert_eq!(
            array_elements("{x\u{a0}, a\\ , \\null, n\\ull}"),
            Some(vec![
                some("x\u{a0}"),
                some("a "),
                some("null"),
                some("null")
            ])
        );
        for malformed in [
            "a", "{a", "{a,}", "{{a}}", "{\"a}", "{\"a\"b}", "{a\"b\"}", "{\\",
        ] {
            assert_eq!(array_elements(malformed), None, "{malformed}");
        }
    }
}

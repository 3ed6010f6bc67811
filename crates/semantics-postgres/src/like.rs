//! `LIKE` and `ILIKE`.

use column_value::ValueError;
use sqlstate::SqlState;

use crate::letters::Letters;

/// A pattern, read once for many texts.
#[derive(Clone, Debug)]
pub struct Like {
    parts: Vec<Part>,
    case_sensitive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// `%`
    Any,
    /// `_`
    One,
    /// A character that stands for itself.
    Literal(char),
    /// An escape character at the end: an error, where the comparison comes so far.
    Unfinished,
}

impl std::fmt::Debug for Part {
    // A pattern may be the content of a column.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Part(..)")
    }
}

impl Like {
    /// Reads a pattern. Escape: None for none (`ESCAPE ''`); the server's default is a backslash.
    pub fn new(pattern: &str, escape: Option<char>, case_sensitive: bool) -> Self {
        let mut characters = pattern.chars();
        let mut parts = Vec::with_capacity(pattern.len());
        while let Some(character) = characters.next() {
            parts.push(if Some(character) == escape {
                let literal = characters.next();
                literal.map_or(Part::Unfinished, Part::Literal)
            } else {
                match character {
                    '%' => Part::Any,
                    '_' => Part::One,
                    literal => Part::Literal(literal),
                }
            });
        }
        Self {
            parts,
            case_sensitive,
        }
    }

    /// Whether the text fits, in time proportional to text times pattern at the worst.
    ///
    /// # Errors
    /// 22025: the pattern ends with its escape character. 0A000: case does not count, and that of
    /// some letters is not known.
    pub fn matches(&self, text: &str, letters: Letters) -> Result<bool, ValueError> {
        if self.case_sensitive {
            return matches(&self.parts, text);
        }
        let small = |part: &Part| match part {
            Part::Literal(letter) => letters.small(*letter).map(Part::Literal),
            other => Ok(*other),
        };
        let parts: Vec<Part> = self.parts.iter().map(small).collect::<Result<_, _>>()?;
        let text = text.chars().map(|letter| letters.small(letter));
        matches(&parts, &text.collect::<Result<String, _>>()?)
    }
}

fn matches(parts: &[Part], text: &str) -> Result<bool, ValueError> {
    let mut rest = text.chars();
    let mut part = 0;
    // Where to go on when what follows the last `%` does not fit.
    let mut again: Option<(usize, std::str::Chars)> = None;
    loop {
        let before = rest.clone();
        let fits = match parts.get(part) {
            Some(Part::Any) if before.as_str().is_empty() => {
                return Ok(parts[part..].iter().all(|part| *part == Part::Any));
            }
            Some(Part::Any) => {
                // One character each for the `_` among the `%`, wherever they stand.
                while let Some(wild @ (Part::Any | Part::One)) = parts.get(part) {
                    if *wild == Part::One && rest.next().is_none() {
                        return Ok(false);
                    }
                    part += 1;
                }
                match parts.get(part) {
                    None => return Ok(true),
                    Some(Part::Unfinished) => return Err(unfinished()),
                    Some(_) => {}
                }
                again = Some((part, rest.clone()));
                continue;
            }
            Some(Part::One) => rest.next().is_some(),
            Some(Part::Literal(literal)) => rest.next() == Some(*literal),
            Some(Part::Unfinished) if before.as_str().is_empty() => false,
            Some(Part::Unfinished) => return Err(unfinished()),
            None if before.as_str().is_empty() => return Ok(true),
            None => false,
        };
        if fits {
            part += 1;
            continue;
        }
        let Some((behind_any, from)) = &mut again else {
            return Ok(false);
        };
        // The `%` takes one character more.
        if from.next().is_none() {
            return Ok(false);
        }
        part = *behind_any;
        rest = from.clone();
    }
}

fn unfinished() -> ValueError {
    let message = "LIKE pattern must not end with escape character";
    ValueError::new(SqlState::INVALID_ESCAPE_SEQUENCE, message)
}

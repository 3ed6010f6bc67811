//! Syntax highlighting of a line while it is typed: keywords, texts, numbers, comments.
//!
//! Only escape sequences are added: without them, the highlighted line equals the original.

use crate::keywords;
use crate::scanner::{Inside, PieceKind, pieces};

/// Resets the colour (ECMA-48, section 8.3.117, as are the others).
const PLAIN: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const GREEN: &str = "\x1b[32m";
const CYAN: &str = "\x1b[36m";

/// Dims a text, like a NULL among values.
pub(crate) fn dim(text: &str) -> String {
    format!("{DIM}{text}{PLAIN}")
}

/// The highlighted line. `inside` is the lexical state after the earlier lines of the same
/// statement; `None` means that there are none, so the line may be a dot command.
pub fn paint(inside: Option<Inside>, line: &str) -> String {
    if inside.is_none() && line.starts_with('.') {
        let end = line.find(char::is_whitespace).unwrap_or(line.len());
        return format!("{BOLD}{}{PLAIN}{}", &line[..end], &line[end..]);
    }
    let mut painted = String::with_capacity(line.len() * 2);
    for piece in pieces(inside.unwrap_or_default(), line).0 {
        let text = &line[piece.start..piece.end];
        let colour = match piece.kind {
            PieceKind::Word if keywords::is_keyword(text) => Some(BOLD),
            PieceKind::Text => Some(GREEN),
            PieceKind::Number => Some(CYAN),
            PieceKind::Comment => Some(DIM),
            PieceKind::Word | PieceKind::QuotedName | PieceKind::Other => None,
        };
        match colour {
            Some(colour) => painted.extend([colour, text, PLAIN]),
            None => painted.push_str(text),
        }
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_words_texts_numbers_and_comments_have_colours() {
        assert_eq!(
            paint(None, "select a, 1 from \"from\" -- x"),
            "\x1b[1mselect\x1b[0m a, \x1b[36m1\x1b[0m \x1b[1mfrom\x1b[0m \"from\" \
             \x1b[2m-- x\x1b[0m"
        );
        assert_eq!(paint(None, "'it"), "\x1b[32m'it\x1b[0m");
        let (_, inside) = pieces(Inside::default(), "select 'it\n");
        assert_eq!(paint(Some(inside), "s' , b"), "\x1b[32ms'\x1b[0m , b");
        assert_eq!(paint(None, ".mode box"), "\x1b[1m.mode\x1b[0m box");
        assert_eq!(paint(Some(Inside::default()), ".5"), ".\x1b[36m5\x1b[0m");
    }

    #[test]
    fn without_colours_a_line_is_unchanged() {
        for line in [
            "select 'ü' || x /* y",
            ".read 'a b'",
            "insert into t values(1.5e3, x'00', [a b]); -- end",
            "",
        ] {
            let mut painted = paint(None, line);
            for code in [PLAIN, BOLD, DIM, GREEN, CYAN] {
                painted = painted.replace(code, "");
            }
            assert_eq!(painted, line);
        }
    }
}

//! Renderers that turn rows into text, one per family of output modes.

mod delimited;
pub(crate) mod explain;
mod grid;
mod json;
mod markup;
mod statement;

use crate::number;
use crate::style::{Mode, Style};
use rusqlite::types::ValueRef;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes the rows of one statement.
pub trait Renderer {
    /// Called once, before the first row.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn begin(&mut self, output: &mut dyn Write, columns: &[String]) -> io::Result<()>;

    /// Called for each row.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()>;

    /// Called once after the last row.
    ///
    /// # Errors
    /// When the output cannot be written.
    fn finish(&mut self, output: &mut dyn Write) -> io::Result<()>;

    /// Called instead of the others if a query returns no rows.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    fn no_rows(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// The renderer of a style.
pub fn renderer(style: &Style) -> Box<dyn Renderer> {
    match style.mode {
        Mode::List | Mode::Csv | Mode::Tabs | Mode::Ascii => {
            Box::new(delimited::Delimited::new(style))
        }
        Mode::Column => Box::new(grid::Grid::new(style, grid::COLUMN)),
        Mode::Box => Box::new(grid::Grid::new(style, grid::BOX)),
        Mode::Table => Box::new(grid::Grid::new(style, grid::TABLE)),
        Mode::Markdown => Box::new(grid::Grid::new(style, grid::MARKDOWN)),
        Mode::Json => Box::new(json::Json::default()),
        Mode::Html => Box::new(markup::Html::new(style)),
        Mode::Line => Box::new(markup::Line::new(style)),
        Mode::Insert => Box::new(statement::Insert::new(style)),
        Mode::Quote => Box::new(statement::Quote::new(style)),
    }
}

/// The bytes that represent a value in untyped modes.
fn plain<'a>(value: ValueRef<'a>, null_value: &'a str) -> Cow<'a, [u8]> {
    match value {
        ValueRef::Null => Cow::Borrowed(null_value.as_bytes()),
        ValueRef::Integer(integer) => Cow::Owned(integer.to_string().into_bytes()),
        ValueRef::Real(real) => Cow::Owned(number::display(real).into_bytes()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cow::Borrowed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    fn render(style: &Style) -> String {
        let columns = ["id".to_owned(), "name".to_owned()];
        let rows = [
            [
                ValueRef::Integer(1),
                ValueRef::Text("a|b, \"c\"".as_bytes()),
            ],
            [ValueRef::Real(0.5), ValueRef::Null],
            [
                ValueRef::Blob(b"\x01'"),
                ValueRef::Text("<ü>\nzwei".as_bytes()),
            ],
        ];
        let mut renderer = renderer(style);
        let mut output = Vec::new();
        renderer.begin(&mut output, &columns).unwrap();
        for row in &rows {
            renderer.row(&mut output, row).unwrap();
        }
        renderer.finish(&mut output).unwrap();
        String::from_utf8(output).unwrap()
    }

    fn with_headers(mode: Mode) -> String {
        render(&Style {
            headers: Some(true),
            null_value: Some("~".to_owned()),
            ..Style::new(mode)
        })
    }

    #[test]
    fn list_and_its_kin() {
        assert_eq!(
            with_headers(Mode::List),
            "id|name\n1|a|b, \"c\"\n0.5|~\n\x01'|<ü>\nzwei\n"
        );
        assert_eq!(
            render(&Style::new(Mode::Tabs)),
            "1\ta|b, \"c\"\n0.5\t\n\x01'\t<ü>\nzwei\n"
        );
        assert_eq!(
            with_headers(Mode::Csv),
            "id,name\r\n1,\"a|b, \"\"c\"\"\"\r\n0.5,~\r\n\"\x01'\",\"<ü>\nzwei\"\r\n"
        );
        assert_eq!(
            render(&Style::new(Mode::Ascii)),
            "1\x1fa|b, \"c\"\x1e0.5\x1f\x1e\x01'\x1f<ü>\nzwei\x1e"
        );
    }

    #[test]
    fn grids() {
        assert_eq!(
            with_headers(Mode::Box),
            "┌─────┬──────────┐\n│ id  │   name   │\n├─────┼──────────┤\n\
             │ 1   │ a|b, \"c\" │\n│ 0.5 │ ~        │\n│ ^A' │ <ü>      │\n│     │ zwei     │\n\
             └─────┴──────────┘\n"
        );
        assert_eq!(
            with_headers(Mode::Table),
            "+-----+----------+\n| id  |   name   |\n+-----+----------+\n\
             | 1   | a|b, \"c\" |\n| 0.5 | ~        |\n| ^A' | <ü>      |\n|     | zwei     |\n\
             +-----+----------+\n"
        );
        assert_eq!(
            with_headers(Mode::Column),
            "id   name\n---  --------\n1    a|b, \"c\"\n0.5  ~\n^A'  <ü>\n     zwei\n"
        );
        assert_eq!(
            with_headers(Mode::Markdown),
            "| id  |    name     |\n|-----|-------------|\n| 1   | a\\|b, \"c\"   |\n\
             | 0.5 | ~           |\n| ^A' | <ü><br>zwei |\n"
        );
        let bare = render(&Style {
            headers: Some(false),
            ..Style::new(Mode::Column)
        });
        assert!(bare.starts_with("1    a|b"));
    }

    #[test]
    fn widths_are_least_and_wrap() {
        let wide = |mode, widths: &[i32]| {
            render(&Style {
                headers: Some(true),
                widths: widths.to_vec(),
                ..Style::new(mode)
            })
        };
        assert_eq!(
            wide(Mode::Box, &[5, -4]),
            "┌───────┬──────┐\n│  id   │ name │\n├───────┼──────┤\n\
             │ 1     │ a|b, │\n│       │  \"c\" │\n│ 0.5   │      │\n\
             │ ^A'   │  <ü> │\n│       │ zwei │\n└───────┴──────┘\n"
        );
        assert_eq!(
            wide(Mode::Column, &[0, 2]),
            "id   na\n---  --\n1    a|\n     b,\n      \"\n     c\"\n0.5\n\
             ^A'  <ü\n     >\n     zw\n     ei\n"
        );
    }

    #[test]
    fn a_person_sees_null_and_a_program_does_not() {
        let shown = |mode, colours| {
            render(&Style {
                reader: crate::style::Reader::Person { colours },
                ..Style::new(mode)
            })
        };
        assert!(shown(Mode::Box, false).contains("│ 0.5 │ NULL     │"));
        assert!(shown(Mode::Box, true).contains("│ 0.5 │ \x1b[2mNULL\x1b[0m     │"));
        assert!(shown(Mode::List, false).contains("0.5|NULL\n"));
        assert!(shown(Mode::Csv, true).contains("0.5,\r\n"));
        assert!(render(&Style::new(Mode::Box)).contains("│ 0.5 │          │"));
        let chosen = render(&Style {
            null_value: Some(String::new()),
            reader: crate::style::Reader::Person { colours: true },
            ..Style::new(Mode::Box)
        });
        assert!(!chosen.contains("NULL") && !chosen.contains('\x1b'));
    }

    #[test]
    fn typed_modes() {
        assert_eq!(
            with_headers(Mode::Json),
            "[{\"id\":1,\"name\":\"a|b, \\\"c\\\"\"},\n{\"id\":0.5,\"name\":null},\n\
             {\"id\":\"\\u0001'\",\"name\":\"<ü>\\nzwei\"}]\n"
        );
        assert_eq!(
            with_headers(Mode::Quote),
            "'id','name'\n1,'a|b, \"c\"'\n0.5,NULL\nX'0127',replace('<ü>\\nzwei','\\n',char(10))\n"
        );
        assert_eq!(
            with_headers(Mode::Insert).lines().next().unwrap(),
            "INSERT INTO \"table\"(id,name) VALUES(1,'a|b, \"c\"');"
        );
    }

    #[test]
    fn html_and_line() {
        let html = with_headers(Mode::Html);
        assert!(
            html.starts_with("<TR><TH>id</TH>\n<TH>name</TH>\n</TR>\n<TR><TD>1</TD>"),
            "{html}"
        );
        assert!(html.contains("&lt;ü&gt;"));
        assert!(
            with_headers(Mode::Line).starts_with("  id = 1\nname = a|b, \"c\"\n\n  id = 0.5\n")
        );
    }

    #[test]
    fn a_query_without_rows_is_an_empty_array_in_json() {
        let mut output = Vec::new();
        renderer(&Style::new(Mode::Json))
            .no_rows(&mut output)
            .unwrap();
        assert_eq!(output, b"[]\n");
    }
}

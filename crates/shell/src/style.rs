//! The format of rows: mode, headers, separators.

/// An output mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Values with a separator between them.
    List,
    /// Columns with a line under the headers.
    Column,
    /// A table drawn with box characters.
    Box,
    /// A table drawn with ASCII characters.
    Table,
    /// Comma-separated values (RFC 4180).
    Csv,
    /// An array of objects.
    Json,
    /// One value on a line.
    Line,
    /// Values with tabs between them.
    Tabs,
    /// A Markdown table.
    Markdown,
    /// Rows of an HTML table.
    Html,
    /// `INSERT` statements.
    Insert,
    /// SQL literals.
    Quote,
    /// Values with the ASCII unit and record separators.
    Ascii,
}

impl Mode {
    /// Every mode, in the order of the help text.
    pub const ALL: [Mode; 13] = [
        Mode::List,
        Mode::Column,
        Mode::Box,
        Mode::Table,
        Mode::Csv,
        Mode::Json,
        Mode::Line,
        Mode::Tabs,
        Mode::Markdown,
        Mode::Html,
        Mode::Insert,
        Mode::Quote,
        Mode::Ascii,
    ];

    /// The name that `.mode` takes.
    pub fn name(self) -> &'static str {
        match self {
            Mode::List => "list",
            Mode::Column => "column",
            Mode::Box => "box",
            Mode::Table => "table",
            Mode::Csv => "csv",
            Mode::Json => "json",
            Mode::Line => "line",
            Mode::Tabs => "tabs",
            Mode::Markdown => "markdown",
            Mode::Html => "html",
            Mode::Insert => "insert",
            Mode::Quote => "quote",
            Mode::Ascii => "ascii",
        }
    }

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Mode> {
        let name = if name == "columns" { "column" } else { name };
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Who reads the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Another program, or unknown.
    Program,
    /// A person at a terminal.
    Person {
        /// Whether the terminal supports colours and the person wants them.
        colours: bool,
    },
}

/// All settings for the format of rows.
#[derive(Clone, Debug)]
pub struct Style {
    /// The output mode.
    pub mode: Mode,
    /// Whether column names are written; `None` for the mode's default.
    pub headers: Option<bool>,
    /// The separator between values; `None` for the mode's default.
    pub separator: Option<String>,
    /// The end of a row; `None` for the mode's default.
    pub row_separator: Option<String>,
    /// The text for NULL; `None` for the default of mode and reader.
    pub null_value: Option<String>,
    /// Who reads the rows.
    pub reader: Reader,
    /// Minimum column widths; longer values are wrapped. A negative width aligns to the right, and
    /// 0 fits the values.
    pub widths: Vec<i32>,
    /// The table that mode `insert` names.
    pub insert_table: String,
}

impl Style {
    /// The default style of a mode.
    pub fn new(mode: Mode) -> Self {
        Style {
            mode,
            headers: None,
            separator: None,
            row_separator: None,
            null_value: None,
            reader: Reader::Program,
            widths: Vec::new(),
            insert_table: "table".to_owned(),
        }
    }

    /// Whether column names are written.
    pub fn shows_headers(&self) -> bool {
        self.headers.unwrap_or(matches!(
            self.mode,
            Mode::Column | Mode::Box | Mode::Table | Mode::Markdown
        ))
    }

    /// The text for NULL. A person must be able to see it.
    pub fn null_value(&self) -> &str {
        let for_people = matches!(
            self.mode,
            Mode::List | Mode::Column | Mode::Box | Mode::Table | Mode::Line
        );
        match (&self.null_value, self.reader) {
            (Some(text), _) => text,
            (None, Reader::Person { .. }) if for_people => "NULL",
            (None, _) => "",
        }
    }

    /// What stands between values.
    pub fn separator(&self) -> &str {
        self.separator.as_deref().unwrap_or(match self.mode {
            Mode::Csv | Mode::Quote => ",",
            Mode::Tabs => "\t",
            Mode::Ascii => "\x1f",
            _ => "|",
        })
    }

    /// What ends a row.
    pub fn row_separator(&self) -> &str {
        self.row_separator.as_deref().unwrap_or(match self.mode {
            Mode::Csv => "\r\n",
            Mode::Ascii => "\x1e",
            _ => "\n",
        })
    }
}

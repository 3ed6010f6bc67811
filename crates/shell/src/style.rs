//! How rows are written: mode, headers, separators.

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
    /// Another program, or nobody knows.
    Program,
    /// A person at a terminal.
    Person {
        /// Whether the terminal shows colours, and the person wants any.
        colours: bool,
    },
}

/// Everything that decides how rows are written.
#[derive(Clone, Debug)]
pub struct Style {
    /// The output mode.
    pub mode: Mode,
    /// Whether column names are written; `None` leaves it to the mode.
    pub headers: Option<bool>,
    /// What stands between values; `None` leaves it to the mode.
    pub separator: Option<String>,
    /// What ends a row; `None` leaves it to the mode.
    pub row_separator: Option<String>,
    /// What is written for NULL; `None` leaves it to the mode and to who reads it.
    pub null_value: Option<String>,
    /// Who reads the rows.
    pub reader: Reader,
    /// The least width of each column; a longer value goes on in the next line. A negative width
    /// puts the value at the right, 0 is as wide as the values are.
    pub widths: Vec<i32>,
    /// The table that mode `insert` names.
    pub insert_table: String,
}

impl Style {
    /// The style that a mode has by itself.
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

    /// What is written for NULL. A person sees that there is one.
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

//! Modes whose output is SQL: insert and quote.

use super::Renderer;
use crate::quote;
use crate::style::Style;
use rusqlite::types::ValueRef;
use std::io::{self, Write};

/// `INSERT` statements.
pub(super) struct Insert {
    style: Style,
    head: String,
}

impl Insert {
    pub(super) fn new(style: &Style) -> Self {
        Insert {
            style: style.clone(),
            head: String::new(),
        }
    }
}

fn literals(values: &[ValueRef<'_>], separator: &str) -> String {
    let literals: Vec<String> = values.iter().map(|value| quote::value(*value)).collect();
    literals.join(separator)
}

impl Renderer for Insert {
    fn begin(&mut self, _output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        let table = quote::identifier_if_needed(&self.style.insert_table);
        self.head = format!("INSERT INTO {table}");
        if self.style.shows_headers() {
            let names: Vec<String> = columns
                .iter()
                .map(|column| quote::identifier_if_needed(column))
                .collect();
            self.head = format!("{}({})", self.head, names.join(","));
        }
        Ok(())
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        writeln!(output, "{} VALUES({});", self.head, literals(values, ","))
    }

    fn finish(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// SQL literals with a separator between them.
pub(super) struct Quote {
    style: Style,
}

impl Quote {
    pub(super) fn new(style: &Style) -> Self {
        Quote {
            style: style.clone(),
        }
    }
}

impl Renderer for Quote {
    fn begin(&mut self, output: &mut dyn Write, columns: &[String]) -> io::Result<()> {
        if !self.style.shows_headers() {
            return Ok(());
        }
        let names: Vec<String> = columns.iter().map(|column| quote::string(column)).collect();
        let line = names.join(self.style.separator());
        write!(output, "{line}{}", self.style.row_separator())
    }

    fn row(&mut self, output: &mut dyn Write, values: &[ValueRef<'_>]) -> io::Result<()> {
        let line = literals(values, self.style.separator());
        write!(output, "{line}{}", self.style.row_separator())
    }

    fn finish(&mut self, _output: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

//! Guards that the server has: checks that refuse plaintext in protected columns.

use super::Builder;
use crate::dialect::mysql::names;
use crate::schema::cells::text;
use crate::schema::{Answer, Guard};

impl Builder {
    /// Notes guards, by their conditions, which name each column that they hold.
    pub(super) fn guards(&mut self, answer: &Answer) {
        for row in answer.iter().filter(|row| !text(row, 3).is_empty()) {
            let name = self.name(row);
            let Some(table) = self.schema.tables.get(&name) else {
                continue;
            };
            let condition = text(row, 3).to_ascii_lowercase();
            // The server quotes names, by ANSI_QUOTES in the session as that mode does.
            let is_named = |own: &String| {
                let in_mode = format!("\"{}\"", own.replace('"', "\"\""));
                condition.contains(&names::quote(own).to_string()) || condition.contains(&in_mode)
            };
            let protected = self.schema.protected.iter();
            let protected = protected.filter(|own| own.schema == name.0 && own.table == name.1);
            let columns = protected.map(|own| own.column.clone());
            let guard = Guard {
                oid: 0,
                relation: table.oid,
                schema: name.0.clone(),
                table: name.1.clone(),
                name: text(row, 2),
                columns: columns.filter(is_named).collect(),
                is_valid: true,
            };
            if guard.name == super::guard_name(&guard.table) {
                self.schema.guards.push(guard);
            }
        }
    }
}

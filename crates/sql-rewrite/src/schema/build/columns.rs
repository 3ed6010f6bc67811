//! Columns as the server has them, and their types.

use column_value::LogicalType;

use super::{Building, Name};
use crate::dialect::postgres::finisher::is_of_catalogue;
use crate::schema::cells::{number, text, truth};
use crate::schema::{Answer, Column, ColumnType, SealedForm, ServerType};

impl Building<'_> {
    pub(super) fn read_columns(&mut self, answer: &Answer) {
        for row in answer {
            let is_nondeterministic = truth(row, 9);
            self.schema.catalogue.finisher.has_nondeterministic |= is_nondeterministic;
            let column = Column {
                name: text(row, 2),
                written: None,
                number: number(row, 1),
                not_null: truth(row, 3),
                has_default: truth(row, 4),
                is_generated: truth(row, 6),
                protected: None,
                physical: physical_of(&text(row, 5)).filter(|_| !is_nondeterministic),
            };
            self.note_type(row, column.number);
            // What the type is called is needed for the message only, so it is read again there.
            if let Some(table) = self.table_mut(number(row, 0)) {
                table.columns.push(column);
                table.has_column_privileges |= truth(row, 7);
            }
        }
        self.check_types(answer);
    }

    /// Notes the type of a column, if the finisher has it.
    fn note_type(&mut self, row: &[Option<String>], number_in_table: i16) {
        let printed = text(row, 5);
        if is_of_catalogue(printed.trim_end_matches("[]")) {
            return;
        }
        let name = match printed.contains(['.', '"']) {
            true => self.schema.catalogue.named_types.sql_name(&printed),
            false => Some(printed).filter(|name| !name.is_empty()),
        };
        let Some(name) = name else {
            return;
        };
        let collation = Some(text(row, 8)).filter(|collation| !collation.is_empty());
        let known = ColumnType { name, collation };
        let key = (number(row, 0), number_in_table);
        self.schema
            .catalogue
            .finisher
            .column_types
            .insert(key, known);
    }

    fn check_types(&mut self, answer: &Answer) {
        for row in answer {
            let Some(name) = self.names.get(&number(row, 0)).cloned() else {
                continue;
            };
            let (column, physical) = (text(row, 2), text(row, 5));
            let Some(rule) = self.rules.column(&name.0, &name.1, &column) else {
                continue;
            };
            let layout = SealedForm::of(rule).layout(rule.logical, rule.mode);
            let expected = ServerType::of(layout).name();
            if physical != expected {
                self.in_clear.insert((name.clone(), column.clone()));
                self.error(
                    &name,
                    &column,
                    format!(
                        "is {physical} in the server, not {expected}: its content is not \
                         sealed. Create the table anew through the proxy and move the rows, or \
                         remove the rule"
                    ),
                );
            }
        }
    }

    /// Without its type nothing reads a column, if it is there.
    pub(super) fn miss_type(&mut self, table: &Name, column: &str, logical: LogicalType) {
        let own = self.schema.tables.get(table);
        if own.is_some_and(|own| own.position(column).is_some()) {
            let problem = format!(
                "has the type {logical} by its rule, which is not in this database: create it, or \
                 mend the rule"
            );
            self.note_error(table, column, problem, true);
        }
    }
}

/// The type of a plain column, where the proxy can compute with it.
fn physical_of(name: &str) -> Option<LogicalType> {
    let known: Option<LogicalType> = name.parse().ok();
    known.filter(|logical| logical.opaque().is_none())
}

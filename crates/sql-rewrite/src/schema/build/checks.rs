//! Recognises what stands for checks of rules among the constraints of the server: by name *and* by
//! condition.

use std::collections::HashSet;

use super::{Building, Name};
use crate::ColumnId;
use crate::dialect::postgres::table_checks;
use crate::schema::Answer;
use crate::schema::cells::{number, numbers, text, truth};

impl Building<'_> {
    pub(super) fn read_checks(&mut self, answer: &Answer) {
        let mut found: HashSet<(ColumnId, String)> = HashSet::new();
        let mut tables: HashSet<Name> = HashSet::new();
        for row in answer {
            let Some((table, id)) = self.checked_column(row) else {
                continue;
            };
            self.understood.insert(number(row, 6));
            // Those of children are those of their parents.
            let column = self.schema.column(id);
            if (&column.schema, &column.table) == (&table.0, &table.1) {
                found.insert((id, text(row, 0)));
                tables.insert(table);
            }
        }
        for (schema, table) in &tables {
            self.schema.note_checks((schema, table), |column, check| {
                found.contains(&(column.id, check.name.clone()))
            });
        }
    }

    /// The table and the column of a constraint that stands for a check of a rule.
    fn checked_column(&self, row: &[Option<String>]) -> Option<(Name, ColumnId)> {
        let [column] = numbers(row, 3)[..] else {
            return None;
        };
        let table = self.table(number(row, 2))?;
        let mut columns = table.columns.iter();
        let id = columns.find(|own| own.number == column)?.protected?;
        let name = text(row, 0);
        let mut checks = self.schema.column(id).checks.own.iter();
        let check = checks.find(|check| check.name == name)?;
        let is_own = text(row, 1) == "c"
            && truth(row, 9)
            && table_checks::is_stored(check, column, &text(row, 7));
        is_own.then(|| ((table.schema.clone(), table.name.clone()), id))
    }
}

//! Check constraints of protected columns, which the finisher evaluates.

use column_codec::CHECK_MARK_SIZE;

use super::{ProtectedColumn, Schema};

/// A check constraint of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCheck {
    /// Its name.
    pub name: String,
    /// Its expression, as the rule has it.
    pub expression: String,
    /// The condition that the finisher evaluates for a column of that name: true or false.
    pub question: String,
    /// Whether NULL fails it. The server sees to that.
    pub refuses_null: bool,
    /// What a sealed value has that fails it.
    pub mark: [u8; CHECK_MARK_SIZE],
    /// Whether the table has the constraint. Where it has not, nothing is written to it. A value is
    /// checked in any case: a statement before it in the same text may add the constraint.
    pub is_there: bool,
}

/// The check constraints of a protected column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnChecks {
    /// By their names, as the server checks them.
    pub own: Vec<ColumnCheck>,
    /// Whether the table's rules have one, over this column or another: errors show all of a row.
    pub are_in_table: bool,
}

impl ProtectedColumn {
    /// Whether values are checked before they are stored.
    pub fn is_checked(&self) -> bool {
        !self.checks.own.is_empty()
    }

    /// Whether its rule has a check of that name.
    pub(crate) fn has_check(&self, name: &str) -> bool {
        self.checks.own.iter().any(|check| check.name == name)
    }

    /// What is wrong with it in a foreign key, if the server gives it the new values of the column
    /// that it refers to.
    pub(crate) fn cascade_problem(&self, is_given_on: bool) -> Option<&'static str> {
        (is_given_on && self.is_checked()).then_some(
            "ON UPDATE CASCADE would store values that nobody has checked as its rule says",
        )
    }

    /// A check of its rule that its table does not have.
    pub fn lacking(&self) -> Option<&ColumnCheck> {
        self.checks.own.iter().find(|check| !check.is_there)
    }

    /// What is wrong if its table lacks a check.
    pub fn lacking_text(&self, check: &ColumnCheck) -> String {
        format!(
            "{}.{} lacks the check {} of the rule of {}, so nothing is written to it: add it \
             through the proxy (ALTER TABLE … ADD CONSTRAINT {} CHECK ({})) while the table is \
             empty, or take it out of the rule",
            self.schema, self.table, check.name, self.column, check.name, check.expression
        )
    }
}

impl Schema {
    /// Whether values of a protected column are checked before they are stored.
    pub fn has_checks(&self) -> bool {
        self.protected.iter().any(ProtectedColumn::is_checked)
    }

    /// Checks of rules that tables do not have.
    pub fn lacking_checks(&self) -> impl Iterator<Item = (&ProtectedColumn, &ColumnCheck)> {
        let is_there = |column: &ProtectedColumn| {
            let name = (column.schema.clone(), column.table.clone());
            let table = self.tables.get(&name).filter(|table| table.oid != 0);
            table.is_some_and(|table| table.position(&column.column).is_some())
        };
        let columns = self.protected.iter().filter(move |own| is_there(own));
        columns.filter_map(|column| Some((column, column.lacking()?)))
    }

    /// Notes which constraints of rules a table has.
    pub(crate) fn note_checks(
        &mut self,
        (schema, table): (&str, &str),
        is_there: impl Fn(&ProtectedColumn, &ColumnCheck) -> bool,
    ) {
        let is_own = |column: &ProtectedColumn| column.schema == schema && column.table == table;
        for column in self.protected.iter_mut().filter(|own| is_own(own)) {
            let mut checks = std::mem::take(&mut column.checks);
            for check in &mut checks.own {
                check.is_there = is_there(column, check);
            }
            column.checks = checks;
        }
    }
}

//! Recognises guards among the check constraints of the server: by name *and* by condition.

use super::Building;
use crate::dialect::postgres::table_guard::{self, TableGuard};
use crate::schema::cells::{number, numbers, text, truth};
use crate::schema::{Answer, Guard};

impl Building<'_> {
    pub(super) fn read_guards(&mut self, answer: &Answer) {
        let guards: Vec<Guard> = answer.iter().filter_map(|row| self.guard(row)).collect();
        self.schema.guards.extend(guards);
    }

    /// Closes tables whose guards name a member of a group that has no rule here: what is sealed by
    /// these rules would lack it.
    pub(super) fn close_newer(&mut self, answer: &Answer) {
        for row in answer {
            let name = text(row, 0);
            if text(row, 1) != "c" || !table_guard::is_name(&name) || self.is_guard(row) {
                continue;
            }
            let (relation, stored): (u32, String) = (number(row, 2), text(row, 7));
            let members = table_guard::members(&stored);
            let unknown = members.into_iter().find_map(|(holder, member)| {
                self.protected_at(relation, holder)?;
                let table = self.table(relation)?;
                let mut columns = table.columns.iter();
                let own = columns.find(|own| own.number == member && own.protected.is_none())?;
                Some(own.name.clone())
            });
            let Some((column, own)) = unknown.zip(self.name(relation)) else {
                continue;
            };
            let text = format!(
                "column {}.{}.{column} is sealed with others, as the guard of the table says, and \
                 has no rule here, so statements over that table are refused: what they write \
                 would lack it",
                own.0, own.1
            );
            self.close(own, &text);
            self.understood.insert(number(row, 6));
        }
    }

    /// Whether a row of the answer is one of them.
    pub(super) fn is_guard(&self, row: &[Option<String>]) -> bool {
        let own: u32 = number(row, 6);
        own != 0 && self.schema.guards.iter().any(|guard| guard.oid == own)
    }

    /// The guard that a constraint is. One of that name that computes something else would let in
    /// what the proxy does not know: it is checked as any other.
    fn guard(&self, row: &[Option<String>]) -> Option<Guard> {
        let name = text(row, 0);
        if text(row, 1) != "c" || !table_guard::is_name(&name) {
            return None;
        }
        let table = self.table(number(row, 2))?;
        let column = |number: i16| {
            let mut own = table.columns.iter();
            let own = own.find(|column| column.number == number)?;
            own.protected.map(|_| own.name.clone())
        };
        let columns: Vec<String> = numbers(row, 3)
            .into_iter()
            .map(column)
            .collect::<Option<_>>()?;
        let guard = TableGuard::new(self.schema.guarded(table, &columns))?;
        if !guard.may_have(&name) || !truth(row, 9) || !guard.is(&text(row, 7)) {
            return None;
        }
        Some(Guard {
            oid: number(row, 6),
            relation: table.oid,
            schema: table.schema.clone(),
            table: table.name.clone(),
            name,
            columns,
            is_valid: truth(row, 8),
        })
    }
}

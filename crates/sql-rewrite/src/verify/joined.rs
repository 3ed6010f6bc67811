//! `UPDATE` and `DELETE` of rows of joined tables, which MySQL and MariaDB have.

use sqlparser::ast::{Assignment, AssignmentTarget, Delete, FromTable, Ident, Update};

use super::names::{Columns, Scope};
use super::{Doubt, Verifier, write};

impl Verifier<'_, '_> {
    /// Checks that each value is stored in a column that may have it, of whichever table.
    pub(super) fn update_joined(
        &mut self,
        update: &Update,
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        if update.from.is_some()
            || update.returning.is_some()
            || !update.order_by.is_empty()
            || update.limit.is_some()
        {
            return Err(Doubt("a clause in an UPDATE of joined tables".to_owned()));
        }
        let mut scope = Scope {
            relations: Vec::new(),
            outer,
        };
        self.joined(&update.table, &mut scope)?;
        for Assignment { target, value } in &update.assignments {
            let AssignmentTarget::ColumnName(name) = target else {
                return Err(Doubt("a row is assigned".to_owned()));
            };
            let parts = name.0.iter().map(|part| part.as_ident().cloned());
            let parts: Option<Vec<Ident>> = parts.collect();
            let parts = parts.ok_or_else(|| Doubt("a computed name".to_owned()))?;
            let target = scope.label(&parts, self.labels)?;
            let given = self.stored(value, &scope)?;
            self.store_all(&write::of(vec![given]), &write::of(vec![target]))?;
        }
        self.condition(update.selection.as_ref(), &scope)?;
        Ok(Columns::default())
    }

    /// Checks the conditions by which rows are found.
    pub(super) fn delete_joined(
        &mut self,
        delete: &Delete,
        outer: Option<&Scope>,
    ) -> Result<Columns, Doubt> {
        let FromTable::WithFromKeyword(from) = &delete.from else {
            return Err(Doubt("a DELETE of another dialect".to_owned()));
        };
        if delete.using.is_some()
            || delete.returning.is_some()
            || !delete.order_by.is_empty()
            || delete.limit.is_some()
        {
            return Err(Doubt("a clause in a DELETE of joined tables".to_owned()));
        }
        let mut scope = Scope {
            relations: Vec::new(),
            outer,
        };
        for joined in from {
            self.joined(joined, &mut scope)?;
        }
        self.condition(delete.selection.as_ref(), &scope)?;
        Ok(Columns::default())
    }
}

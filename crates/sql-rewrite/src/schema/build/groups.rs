//! Groups of protected columns, as the server has their columns.

use super::{Building, Name};
use crate::ColumnRule;
use crate::schema::SealedForm;

impl Building<'_> {
    /// What a rule says of the form of its values, and of those that they are sealed with.
    pub(super) fn form(&mut self, name: &Name, rule: &ColumnRule) -> SealedForm {
        let group = rule.group.as_deref();
        SealedForm {
            group: group.map(|own| self.schema.group_number((&name.0, &name.1), own)),
            ..SealedForm::of(rule)
        }
    }

    /// Finds the members of all groups. Who says NOT NULL is the rule: the server has it of the
    /// first member, if any member is.
    pub(super) fn form_groups(&mut self) {
        self.schema.form_groups();
        let groups = self.schema.catalogue.groups.clone();
        for (group, number) in groups.iter().zip(0..) {
            let wanted = self.schema.holds_a_value(Some(number));
            let name = (group.schema.clone(), group.table.clone());
            for id in &group.members {
                let holds = group.holder() == Some(*id);
                let column = self.schema.column(*id).column.clone();
                let table = &self.schema.tables[&name];
                let is_not_null = table
                    .columns
                    .iter()
                    .any(|own| own.name == column && own.not_null);
                let problem = match (holds, is_not_null) {
                    (false, true) => {
                        "is sealed with others, and NOT NULL in the server, where it is always \
                         NULL: drop that at the server (ALTER TABLE … ALTER COLUMN … DROP NOT \
                         NULL), and write not_null = true in its rule"
                    }
                    (true, true) if !wanted => {
                        "has the values of its group, and is NOT NULL in the server, while no \
                         column of the group has not_null = true in its rule: write it there, or \
                         drop NOT NULL at the server"
                    }
                    (true, false) if wanted => {
                        "has the values of its group, of which a column has not_null = true in \
                         its rule, and may be NULL in the server: make it NOT NULL at the server, \
                         or remove not_null from the rule"
                    }
                    _ => continue,
                };
                self.error(&name, &column, problem);
            }
        }
    }
}

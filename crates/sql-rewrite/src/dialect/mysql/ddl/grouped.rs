//! Columns whose values are sealed together, in `CREATE TABLE`.

use sqlparser::ast::{ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, DataType};

use crate::dialect::mysql::names;
use crate::dialect::mysql::schema::groups::physical_in;
use crate::{ColumnId, ProtectedColumn, Refusal, Schema};
use sql_plan::refuse;

/// The members of the groups of a table that a statement makes, in the order of its columns.
pub(super) struct Members {
    groups: Vec<(u32, Vec<ColumnId>)>,
}

impl Members {
    pub(super) fn of(create: &CreateTable, rules: &[&ProtectedColumn]) -> Self {
        let mut groups: Vec<(u32, Vec<ColumnId>)> = Vec::new();
        for column in &create.columns {
            let name = names::fold(&column.name);
            let Some(rule) = rules.iter().find(|rule| rule.column == name) else {
                continue;
            };
            let Some(number) = rule.form.group else {
                continue;
            };
            match groups.iter_mut().find(|(own, _)| *own == number) {
                Some((_, members)) => members.push(rule.id),
                None => groups.push((number, vec![rule.id])),
            }
        }
        Self { groups }
    }

    /// Those of the group of a column, the holder first. Empty: it is sealed alone.
    pub(super) fn of_rule(&self, rule: &ProtectedColumn) -> &[ColumnId] {
        let mut groups = self.groups.iter();
        let own = groups.find(|(number, _)| Some(*number) == rule.form.group);
        own.map_or(&[], |(_, members)| members)
    }

    /// Gives a member the type that it has beside the others, and moves NOT NULL to the holder:
    /// there the server sees to it.
    pub(super) fn place(
        &self,
        column: &mut ColumnDef,
        rule: &ProtectedColumn,
        schema: &Schema,
    ) -> Result<(), Refusal> {
        let members = self.of_rule(rule);
        if members.is_empty() {
            return Ok(());
        }
        let title = format!("{}.{}", rule.table, rule.column);
        if matches!(column.data_type, DataType::LongBlob) {
            return Err(refuse(format!(
                "{title} is declared longer than a value that is sealed with others may be"
            ))
            .with_hint("Declare it TEXT or BLOB, or take it out of its group."));
        }
        let says = |own: &ColumnOptionDef| matches!(own.option, ColumnOption::NotNull);
        if column.options.iter().any(says) != rule.not_null {
            let (own, other) = match rule.not_null {
                true => ("not_null = true", "does not say NOT NULL"),
                false => ("nothing of not_null", "says NOT NULL"),
            };
            return Err(refuse(format!(
                "{title} is sealed with others, and its rule says {own}, while the statement \
                 {other}"
            ))
            .with_hint(
                "Write not_null = true into the rule of a column that is NOT NULL, and into no \
                 other.",
            ));
        }
        // DEFAULT NULL of a holder would contradict its NOT NULL.
        let is_null = |own: &ColumnOptionDef| {
            use ColumnOption as Option;
            matches!(
                own.option,
                Option::NotNull | Option::Null | Option::Default(_)
            )
        };
        column.options.retain(|own| !is_null(own));
        if members.first() == Some(&rule.id) && schema.holds_a_value(rule.form.group) {
            column.options.insert(
                0,
                ColumnOptionDef {
                    name: None,
                    option: ColumnOption::NotNull,
                },
            );
        }
        column.data_type = physical_in(rule, members, schema).data_type();
        Ok(())
    }
}

//! Refuses to write rows of a table that lacks a check constraint which a rule names: nobody would
//! check them.

use std::ops::ControlFlow;

use sqlparser::ast::{
    CopySource, Insert, ObjectName, Statement, TableFactor, TableObject, Update, Visitor,
};

use crate::walk;
use crate::{Refusal, Schema};
use sql_plan::refuse;

/// # Errors
/// A table that is written lacks a check.
pub(crate) fn check(statement: &Statement, schema: &Schema) -> Result<(), Refusal> {
    if schema.protected.iter().all(|own| own.lacking().is_none()) {
        return Ok(());
    }
    match walk::visit(statement, &mut Written { schema }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

struct Written<'s> {
    schema: &'s Schema,
}

impl Written<'_> {
    fn table(&self, name: &ObjectName) -> ControlFlow<Refusal> {
        let split = self.schema.dialect.split(name);
        let table = split.and_then(|(schema, table)| self.schema.find(schema.as_deref(), &table));
        let Some(table) = table.filter(|table| table.oid != 0) else {
            return ControlFlow::Continue(());
        };
        let ids = table.columns.iter().filter_map(|column| column.protected);
        let mut columns = ids.map(|id| self.schema.column(id));
        match columns.find_map(|column| Some((column, column.lacking()?))) {
            None => ControlFlow::Continue(()),
            Some((column, check)) => ControlFlow::Break(refuse(column.lacking_text(check))),
        }
    }

    fn factor(&self, factor: &TableFactor) -> ControlFlow<Refusal> {
        match factor {
            TableFactor::Table { name, .. } => self.table(name),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Written<'_> {
    type Break = Refusal;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Refusal> {
        match statement {
            Statement::Insert(Insert {
                table: TableObject::TableName(name),
                ..
            })
            | Statement::Copy {
                source:
                    CopySource::Table {
                        table_name: name, ..
                    },
                to: false,
                ..
            } => self.table(name),
            Statement::Update(Update { table, .. }) => self.factor(&table.relation),
            Statement::Merge(merge) => self.factor(&merge.table),
            _ => ControlFlow::Continue(()),
        }
    }
}

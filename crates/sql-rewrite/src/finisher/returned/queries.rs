//! Queries in a list of `RETURNING`: `RETURNING upper(name), (SELECT max(price) FROM item)`.
//!
//! The server evaluates them over its snapshot of the statement's begin, in which the rows are as
//! they were before. The finisher gets the rows of their tables from the same statement: one part
//! of its `WITH` writes, and the others read, of the same snapshot ("Data-Modifying Statements in
//! WITH" in the server's manual).
//!
//! Invariant: an aggregate function in a query is one of that query. Over columns of the row that
//! is written alone it would be one of the list, where the server refuses it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select,
    TableFactor, TableWithJoins, Visitor,
};

use super::Target;
use crate::dialect::postgres::finisher;
use crate::dialect::postgres::names::builtin;
use crate::walk;
use crate::{Refusal, Schema, Table};
use sql_plan::unsupported;

/// Refuses a name or a function of a query in the list that may mean something else there.
pub(super) fn check(target: &Target, own: &str, schema: &Schema) -> Result<(), Refusal> {
    if !target.others.is_empty() {
        return Err(unsupported(
            "a query in RETURNING, beside what is computed from protected columns and other \
             relations by which rows are found,",
        )
        .with_hint("Ask it by itself, in the same transaction."));
    }
    let table = schema.dialect.split(&target.name);
    let table = table.and_then(|(namespace, name)| schema.find(namespace.as_deref(), &name));
    let mut all = All {
        schema,
        relations: Vec::new(),
    };
    if walk::visit(&target.list, &mut all).is_break() {
        return Err(super::of_form());
    }
    let mut names = Names {
        own,
        is_renamed: target.alias.is_some(),
        table,
        schema,
        all: all.relations,
        around: Vec::new(),
        depth: 0,
    };
    match walk::visit(&target.list, &mut names) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(refusal) => Err(refusal),
    }
}

/// A relation in the `FROM` of a query.
struct Relation<'s> {
    /// The name by which the query knows it.
    name: String,
    /// Whether that is its own name.
    is_own: bool,
    /// None: it is no table, or its columns have other names.
    table: Option<&'s Table>,
}

impl<'s> Relation<'s> {
    /// None: it has no name, or is of a kind that the finisher is not asked.
    fn of(factor: &TableFactor, schema: &'s Schema) -> Option<Self> {
        let (alias, name) = match factor {
            TableFactor::Table { name, alias, .. } => (alias, Some(name)),
            TableFactor::Derived { alias, .. }
            | TableFactor::NestedJoin { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => (alias, None),
            _ => return None,
        };
        let split = name.and_then(|name| schema.dialect.split(name));
        let table = split
            .as_ref()
            .and_then(|(namespace, name)| schema.find(namespace.as_deref(), name));
        let has_own_columns = alias.as_ref().is_none_or(|own| own.columns.is_empty());
        let renamed = alias.as_ref().map(|alias| schema.dialect.fold(&alias.name));
        Some(Self {
            is_own: renamed.is_none(),
            name: renamed.or_else(|| split.map(|(_, name)| name))?,
            table: table.filter(|_| has_own_columns),
        })
    }
}

/// The relations of all queries of a list.
struct All<'s> {
    schema: &'s Schema,
    relations: Vec<Relation<'s>>,
}

impl Visitor for All<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.relations.extend(Relation::of(factor, self.schema));
        ControlFlow::Continue(())
    }
}

/// The relations of a `FROM`.
fn relations_of<'s>(from: &[TableWithJoins], schema: &'s Schema) -> Vec<Relation<'s>> {
    let mut found = Vec::new();
    for table in from {
        let joined = table.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&table.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin {
                    table_with_joins,
                    alias: None,
                } => found.extend(relations_of(std::slice::from_ref(table_with_joins), schema)),
                _ => found.extend(Relation::of(factor, schema)),
            }
        }
    }
    found
}

/// Looks at names and functions of queries.
struct Names<'a, 's> {
    /// What the table that is written is called.
    own: &'a str,
    is_renamed: bool,
    table: Option<&'s Table>,
    schema: &'s Schema,
    all: Vec<Relation<'s>>,
    /// Those of the query and of the queries around it.
    around: Vec<Vec<Relation<'s>>>,
    /// In how many queries.
    depth: usize,
}

impl Names<'_, '_> {
    fn fold(&self, name: &Ident) -> String {
        self.schema.dialect.fold(name)
    }

    fn is_around(&self, is_meant: impl Fn(&Relation) -> bool) -> bool {
        self.around.iter().flatten().any(is_meant)
    }

    /// Whether `namespace.name.column` means the same as `name.column`, which the finisher reads.
    fn is_the_same(&self, namespace: &str, name: &str) -> bool {
        let Some(meant) = self.schema.find(Some(namespace), name) else {
            return false;
        };
        let is_meant = |table: Option<&Table>| table.is_some_and(|own| own.oid == meant.oid);
        let mut named = self.all.iter().filter(|own| own.name == name).peekable();
        let is_there = match name == self.own {
            true => is_meant(self.table) && !self.is_renamed,
            false => named.peek().is_some(),
        };
        is_there && named.all(|own| own.is_own && is_meant(own.table))
    }

    fn is_clear(&self, parts: &[Ident]) -> bool {
        match parts {
            [table, _] => {
                let table = self.fold(table);
                table == self.own || self.all.iter().any(|own| own.name == table)
            }
            [namespace, table, _] => self.is_the_same(&self.fold(namespace), &self.fold(table)),
            _ => false,
        }
    }

    /// Whether a function may take several rows, and be one of the list.
    fn may_be_of_list(&self, function: &Function) -> bool {
        if finisher::is_of_a_row(function) && builtin(&function.name).is_some() {
            return false;
        }
        if let FunctionArguments::List(list) = &function.args
            && list.args.iter().any(is_of_whole_row)
        {
            return true;
        }
        walk::expressions(function, |part| {
            let may_be_written = match part {
                Expr::Identifier(name) => self.may_be_written(&self.fold(name)),
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [.., table, _] => self.is_written(&self.fold(table)),
                    _ => true,
                },
                _ => false,
            };
            match may_be_written {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
        .is_break()
    }

    /// Whether a relation of that name is the table that is written.
    fn is_written(&self, name: &str) -> bool {
        name == self.own && !self.is_around(|own| own.name == name)
    }

    /// Whether a name without a table may be that of the row that is written, or of its column.
    fn may_be_written(&self, name: &str) -> bool {
        let has = |table: &Table| table.position(name).is_some();
        self.is_written(name)
            || self.table.is_none_or(has) && !self.is_around(|own| own.table.is_some_and(has))
    }
}

/// Whether an argument is `name.*`.
fn is_of_whole_row(argument: &FunctionArg) -> bool {
    matches!(
        argument,
        FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(_))
    )
}

impl Visitor for Names<'_, '_> {
    type Break = Refusal;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Refusal> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Refusal> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Refusal> {
        self.around.push(relations_of(&select.from, self.schema));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<Refusal> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, part: &Expr) -> ControlFlow<Refusal> {
        match part {
            _ if self.depth == 0 => ControlFlow::Continue(()),
            Expr::CompoundIdentifier(parts) if !self.is_clear(parts) => {
                ControlFlow::Break(super::of_another(part))
            }
            Expr::Function(function) if self.may_be_of_list(function) => {
                ControlFlow::Break(unsupported(&format!(
                    "function {} over the row that is written, in a query in RETURNING, beside \
                     what is computed from protected columns,",
                    function.name
                )))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

//! Whether a query that the proxy finishes may do more than read: what the server evaluates for
//! it may be a function of users, which writes.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, Visitor};

use crate::dialect::postgres::finisher;
use crate::walk;
use crate::{Dialect, RelationKind, Schema};

/// Whether nothing that a query names can change anything: its functions, operators and types are
/// PostgreSQL's own, and no view or policy may call others.
pub(crate) fn only_reads(query: &Query, schema: &Schema) -> bool {
    if finisher::check(query, schema).is_err() {
        return false;
    }
    let mut queries = NamedQueries {
        dialect: schema.dialect,
        names: Vec::new(),
    };
    let _ = walk::visit(query, &mut queries);
    let is_table = |name: &sqlparser::ast::ObjectName| {
        let Some((own, relation)) = schema.dialect.split(name) else {
            return ControlFlow::Break(());
        };
        let is_plain = match schema.find(own.as_deref(), &relation) {
            Some(table) => table.kind == RelationKind::Table && !table.rows.has_policies,
            // A function was checked with the query.
            None => {
                let is_query = own.is_none() && queries.names.contains(&relation);
                is_query || finisher::is_own_function(name)
            }
        };
        match is_plain {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    walk::relations(query, is_table).is_continue()
}

/// The names of the queries of `WITH`.
struct NamedQueries {
    dialect: Dialect,
    names: Vec<String>,
}

impl Visitor for NamedQueries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = tables.map(|cte| self.dialect.fold(&cte.alias.name));
        self.names.extend(names);
        ControlFlow::Continue(())
    }
}

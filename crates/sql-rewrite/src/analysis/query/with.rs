//! `WITH`: common table expressions, including those that write and recursive ones.

use sqlparser::ast::{Cte, Query, SetExpr, SetOperator, TableAlias, With};

use super::super::{Analysis, OutColumn, Scope};
use super::{Outputs, from};
use crate::analysis::query_context::QueryContext;
use crate::analysis::scope::refuse_gathered;
use crate::{Dialect, Refusal};
use sql_plan::{refuse, unsupported};

impl Analysis<'_> {
    pub fn with(&mut self, with: &mut With, outer: Option<&Scope>) -> Result<(), Refusal> {
        let With {
            with_token: _,
            recursive,
            cte_tables,
        } = with;
        // With RECURSIVE a query may name a later one: the server sorts them.
        let pending_before = self.pending_ctes.len();
        if *recursive {
            let names = cte_tables
                .iter()
                .map(|cte| self.dialect().fold(&cte.alias.name));
            self.pending_ctes.extend(names.collect::<Vec<_>>());
        }
        for cte in cte_tables {
            let name = self.dialect().fold(&cte.alias.name);
            self.dialect().name_columns(&mut cte.query.body);
            let outputs = match *recursive && is_union(&cte.query) {
                true => self.recursive(cte, outer)?,
                false => self.cte(cte, outer)?,
            };
            if let Some(index) = self.pending_ctes.iter().rposition(|one| *one == name) {
                self.pending_ctes.remove(index);
            }
            self.ctes.push((name, outputs));
        }
        self.pending_ctes.truncate(pending_before);
        Ok(())
    }

    fn cte(&mut self, cte: &mut Cte, outer: Option<&Scope>) -> Result<Vec<OutColumn>, Refusal> {
        let Cte {
            alias,
            query,
            from: None,
            materialized: _,
            closing_paren_token: _,
        } = cte
        else {
            return Err(unsupported("a clause of another dialect"));
        };
        let outputs = self.query_gathering(query, QueryContext::within(outer))?;
        named(outputs, alias, self.dialect())
    }

    /// A recursive query: its first part gives the columns, then all of it is analysed.
    fn recursive(
        &mut self,
        cte: &mut Cte,
        outer: Option<&Scope>,
    ) -> Result<Vec<OutColumn>, Refusal> {
        let name = self.dialect().fold(&cte.alias.name);
        let mut attempt = self.clone();
        let mut query = (*cte.query).clone();
        if let Some(with) = &mut query.with {
            attempt.with(with, outer)?;
        }
        let SetExpr::SetOperation { left, .. } = &mut *query.body else {
            return Err(unsupported("WITH RECURSIVE of this form"));
        };
        let first = attempt.body(left, outer, None)?;
        refuse_gathered(first.iter().flatten(), self.schema)?;
        let columns = named(first, &cte.alias, self.dialect())?;
        let index = self.pending_ctes.iter().rposition(|one| *one == name);
        if let Some(index) = index {
            self.pending_ctes.remove(index);
        }
        let ctes_before = self.ctes.len();
        self.ctes.push((name, columns.clone()));
        let outputs = self.cte(cte, outer)?;
        self.ctes.truncate(ctes_before);
        let sealed = |columns: &[OutColumn]| -> Vec<_> {
            columns.iter().map(|column| column.sealed).collect()
        };
        match sealed(&outputs) == sealed(&columns) {
            true => Ok(outputs),
            false => Err(unsupported("WITH RECURSIVE of this form")),
        }
    }

    /// Refuses a query of `WITH RECURSIVE` that is named before its columns are known.
    pub(super) fn check_pending(&self, name: &str) -> Result<(), Refusal> {
        match self.pending_ctes.iter().any(|pending| pending == name) {
            false => Ok(()),
            true => Err(refuse(format!(
                "query {name:?} of WITH RECURSIVE is used before its columns are known"
            ))
            .with_hint("Write it before the queries that use it, as a UNION.")),
        }
    }
}

fn named(
    outputs: Outputs,
    alias: &TableAlias,
    dialect: Dialect,
) -> Result<Vec<OutColumn>, Refusal> {
    let mut outputs =
        outputs.ok_or_else(|| unsupported("WITH over a table whose columns are not known"))?;
    from::rename(&mut outputs, alias, dialect)?;
    Ok(outputs)
}

fn is_union(query: &Query) -> bool {
    matches!(
        &*query.body,
        SetExpr::SetOperation {
            op: SetOperator::Union,
            ..
        }
    )
}

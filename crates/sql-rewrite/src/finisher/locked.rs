//! `FOR UPDATE` and its kin in a query that the finisher answers: which tables are locked.
//!
//! The server locks the rows that the proxy fetches, so more of them than it would alone.

use sqlparser::ast::{
    Ident, JoinOperator, LockClause, LockType, NonBlock, ObjectName, Query, SetExpr, TableFactor,
    TableWithJoins,
};

use crate::dialect::marks::MARK;
use crate::{Dialect, Refusal};
use sql_plan::{refuse, unsupported};
use sqlstate::SqlState;

/// The locks of a table factor, by its address in the tree. The locks of the query itself become
/// one that locks nothing, so that the finisher checks what a query with locks may not have.
///
/// # Errors
/// The server refuses such locks, or more rows would be skipped than the server skips.
pub(super) fn take(
    query: &mut Query,
    dialect: Dialect,
) -> Result<Vec<(usize, Vec<LockClause>)>, Refusal> {
    let locks = std::mem::take(&mut query.locks);
    if locks.is_empty() {
        return Ok(Vec::new());
    }
    let is_limited = query.limit_clause.is_some() || query.fetch.is_some();
    let skips = |lock: &LockClause| lock.nonblock == Some(NonBlock::SkipLocked);
    if is_limited && locks.iter().any(skips) {
        return Err(unsupported(
            "LIMIT with SKIP LOCKED in a query that the finisher evaluates, which would lock all \
             rows,",
        ));
    }
    let SetExpr::Select(select) = &*query.body else {
        return Err(refuse(
            "FOR UPDATE is not allowed with UNION, INTERSECT, EXCEPT or VALUES",
        ));
    };
    let mut factors = Factors {
        dialect,
        tables: Vec::new(),
        has_queries: false,
    };
    for from in &select.from {
        factors.add_from(from);
    }
    let mut locked: Vec<(usize, Vec<LockClause>)> = Vec::new();
    for lock in &locks {
        for table in factors.named(lock)? {
            if table.is_nullable {
                return Err(refuse(
                    "FOR UPDATE cannot be applied to the nullable side of an outer join",
                ));
            }
            let own = LockClause {
                of: mark_of(lock),
                ..lock.clone()
            };
            match locked.iter_mut().find(|(at, _)| *at == table.at) {
                Some((_, clauses)) => clauses.push(own),
                None => locked.push((table.at, vec![own])),
            }
        }
    }
    if !factors.has_queries {
        query.locks = vec![LockClause {
            lock_type: LockType::Update,
            of: None,
            nonblock: None,
        }];
    }
    Ok(locked)
}

/// A table of `FROM`.
struct Table {
    at: usize,
    name: String,
    /// Whether an outer join fills its columns with NULL.
    is_nullable: bool,
}

struct Factors {
    dialect: Dialect,
    tables: Vec<Table>,
    /// Whether other queries, or joins in parentheses, are among them.
    has_queries: bool,
}

impl Factors {
    fn add_from(&mut self, from: &TableWithJoins) {
        let first = self.tables.len();
        self.add(&from.relation);
        for join in &from.joins {
            let (before, behind) = match join.join_operator {
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => (false, true),
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => (true, false),
                JoinOperator::FullOuter(_) => (true, true),
                _ => (false, false),
            };
            for table in &mut self.tables[first..] {
                table.is_nullable |= before;
            }
            let own = self.tables.len();
            self.add(&join.relation);
            for table in &mut self.tables[own..] {
                table.is_nullable = behind;
            }
        }
    }

    fn add(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let own = name.0.last().and_then(|part| part.as_ident());
                let name = alias.as_ref().map(|alias| &alias.name).or(own);
                let name = name.map(|name| self.dialect.fold(name));
                self.tables.push(Table {
                    at: std::ptr::from_ref(factor).addr(),
                    name: name.unwrap_or_default(),
                    is_nullable: false,
                });
            }
            TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } => {
                self.has_queries = true;
            }
            // Rows of functions are not locked.
            _ => {}
        }
    }

    /// The tables that a clause locks.
    fn named(&self, lock: &LockClause) -> Result<Vec<&Table>, Refusal> {
        let Some(name) = name_of(lock) else {
            return match self.has_queries {
                false => Ok(self.tables.iter().collect()),
                true => Err(unsupported(
                    "FOR UPDATE without OF over a query in FROM that the finisher evaluates",
                )),
            };
        };
        let name = self.dialect.fold(name);
        let mut named = self.tables.iter().filter(|table| table.name == name);
        match (named.next(), self.has_queries) {
            (Some(table), _) => Ok(vec![table]),
            (None, true) => Err(unsupported(
                "FOR UPDATE OF a query in FROM that the finisher evaluates",
            )),
            (None, false) => Err(refuse(format!(
                "relation \"{name}\" in FOR UPDATE clause not found in FROM clause"
            ))
            .with_state(SqlState::UNDEFINED_TABLE)),
        }
    }
}

/// The name after `OF`.
fn name_of(lock: &LockClause) -> Option<&Ident> {
    let name = lock.of.as_ref()?.0.last()?.as_ident()?;
    (!name.value.starts_with(MARK)).then_some(name)
}

/// What stands for `NO KEY` or `KEY`, without a name.
fn mark_of(lock: &LockClause) -> Option<ObjectName> {
    let first = lock.of.as_ref()?.0.first()?.as_ident()?;
    let is_mark = first.value.starts_with(MARK);
    is_mark.then(|| ObjectName::from(vec![first.clone()]))
}

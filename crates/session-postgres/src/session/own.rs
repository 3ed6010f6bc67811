//! Statements that the proxy itself prepares at the server, so that they need not be parsed each
//! time the client executes its statement.

use std::sync::Arc;

use session_core::Statement;
use session_core::plans::ServerStatement;

/// How many statements are kept. Beyond that the least recently used one is closed.
const STATEMENTS_MAX: usize = 64;

/// The statements that the server has prepared for the proxy.
#[derive(Debug, Default)]
pub(super) struct OwnStatements {
    statements: Vec<OwnStatement>,
    /// The number of the last statement.
    number: u32,
    /// Counts uses.
    clock: u64,
}

#[derive(Debug)]
struct OwnStatement {
    number: u32,
    statement: Arc<Statement>,
    at: ServerStatement,
    used: u64,
}

impl OwnStatement {
    fn is(&self, statement: &Statement, at: ServerStatement) -> bool {
        self.at == at
            && Arc::ptr_eq(&self.statement.plan, &statement.plan)
            && self.statement.types == statement.types
    }
}

/// Where a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The server has it under this number.
    Known(u32),
    /// It must be parsed under this number; the statement of the other number must be closed.
    New(u32, Option<u32>),
}

/// The name of a statement of the proxy's own.
pub(super) fn name(number: u32) -> Vec<u8> {
    match number {
        0 => Vec::new(),
        number => format!("strongroom_{number}").into_bytes(),
    }
}

impl OwnStatements {
    /// Finds or assigns the number of a statement.
    pub(super) fn find(&mut self, statement: &Arc<Statement>, at: ServerStatement) -> Found {
        self.clock += 1;
        let mut statements = self.statements.iter_mut();
        let known = statements.find(|own| own.is(statement, at));
        if let Some(own) = known {
            own.used = self.clock;
            return Found::Known(own.number);
        }
        let mut closed = None;
        if self.statements.len() >= STATEMENTS_MAX {
            let oldest = (0..self.statements.len()).min_by_key(|&at| self.statements[at].used);
            closed = oldest.map(|at| self.statements.swap_remove(at).number);
        }
        self.number += 1;
        self.statements.push(OwnStatement {
            number: self.number,
            statement: Arc::clone(statement),
            at,
            used: self.clock,
        });
        Found::New(self.number, closed)
    }

    /// Notes that the server does not have a statement.
    pub(super) fn forget(&mut self, number: u32) {
        self.statements.retain(|own| own.number != number);
    }

    /// Notes that the server may have none of them.
    pub(super) fn forget_all(&mut self) {
        self.statements.clear();
    }
}

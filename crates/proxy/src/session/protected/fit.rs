//! Whether rules and database fit.

use sql_rewrite::{Answer, Schema, SchemaError};

use super::Protected;
use crate::plans::TextPlan;
use crate::statement_error::StatementError;

impl Protected {
    /// The schema of the database.
    ///
    /// # Errors
    /// The rules do not fit it, so that no statement is safe.
    pub(super) fn fit(&self, answers: &[Answer]) -> Result<Schema, StatementError> {
        let seen = self.shared.seen(&self.database);
        let schema = Schema::build_with_unfit(self.shared.rules(), answers, &seen);
        let schema = schema.map_err(|errors| {
            let failure = unfit(&errors);
            self.warn(format!("every statement is refused: {}", failure.message));
            failure
        })?;
        for column in schema.missing_columns() {
            let name = (column.schema.clone(), column.table.clone());
            self.warn(match schema.closed.get(&name) {
                Some(text) => text.clone(),
                None => column.missing_text(),
            });
        }
        for error in &schema.unfit {
            self.warn(format!(
                "statements over protected columns are refused: {error}"
            ));
        }
        Ok(schema)
    }

    /// Refuses what touches protected columns while one with a rule is in clear.
    pub(super) fn check_fit(&mut self, plan: &TextPlan) -> Result<(), StatementError> {
        let errors = &plan.loaded.schema.unfit;
        if errors.is_empty() || plan.passes() {
            return Ok(());
        }
        // It may have been mended at the server itself, which tells nobody.
        self.stale.schema = true;
        Err(unfit(errors))
    }

    /// Whether a refusal is about a table that lost a column. The log has it by then; the database
    /// is looked at again, since what was mended at the server itself tells nobody.
    pub(super) fn is_of_closed(&mut self, failure: &StatementError) -> bool {
        let mut schemas = self.loaded.iter().map(|loaded| &loaded.schema);
        let is_of_closed = schemas.any(|schema| {
            let mut texts = schema.closed.values();
            texts.any(|text| *text == failure.message)
        });
        self.stale.schema |= is_of_closed;
        is_of_closed
    }

    pub(super) fn warn(&self, warning: String) {
        self.shared.warn_once(&self.database, warning);
    }
}

fn unfit(errors: &[SchemaError]) -> StatementError {
    let first = errors.first().map(ToString::to_string).unwrap_or_default();
    let more = match errors.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let message = format!("rules and database do not fit: {first}{more}");
    let hint = "Run `strongroom columns check`. What it names is mended at the server itself.";
    StatementError::rules(message).hint(hint)
}

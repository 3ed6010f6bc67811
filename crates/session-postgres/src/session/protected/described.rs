//! What is known of queries that the finisher answers, before they are executed: their types and
//! columns.

use std::borrow::Cow;
use std::sync::Arc;

use session_core::{Statement, StatementError};
use sql_plan::FinisherQuery;
use wire_postgres::frontend::{Bind, KeptBind};
use wire_postgres::{backend, values};

use super::{Outputs, Protected};
use crate::finisher::{Described, FinisherRequest, FinisherRows};
use crate::session::answers::Expected;
use crate::session::finisher_link::Asked;
use crate::session::finisher_rows::write_description;
use crate::session::gathering::{
    is_returned, kept_at, merge_at, query_at, returned_at, write_at, writes_at,
};
use crate::session::rows::Shape;
use crate::session::statements::may_return_rows;

/// What is known of a statement before the server gets it.
pub(super) enum Known {
    /// No finisher takes part.
    Plain,
    /// The finisher has described it.
    Described(Arc<Described>),
    /// The finisher is asked. The message that needs to know is processed again.
    Asked,
}

impl Protected {
    /// Types and columns of a statement, if the finisher answers it.
    ///
    /// # Errors
    /// The finisher refuses the query.
    pub(super) fn known_of(
        &mut self,
        statement: &Statement,
        types: &[u32],
    ) -> Result<Known, StatementError> {
        self.known_at(statement, 0, types)
    }

    /// The same of the statement at an index.
    ///
    /// # Errors
    /// The finisher refuses the query.
    pub(super) fn known_at(
        &mut self,
        statement: &Statement,
        index: usize,
        types: &[u32],
    ) -> Result<Known, StatementError> {
        match query_at(&statement.plan, index) {
            None => Ok(Known::Plain),
            Some(query) => self.known(query, types),
        }
    }

    /// Types and columns of a query of the finisher.
    ///
    /// # Errors
    /// The finisher refuses it.
    pub(super) fn known(
        &mut self,
        query: &FinisherQuery,
        types: &[u32],
    ) -> Result<Known, StatementError> {
        let types = &*with_declared(types, query);
        if let Some(described) = self.pipeline.finisher().described(&query.text, types)? {
            return Ok(Known::Described(described));
        }
        let loaded = self.schema.loaded()?;
        let (kind, settings) = self.settings.of_finisher(&loaded.schema);
        let request = FinisherRequest {
            kind,
            settings,
            query: query.text.as_str().into(),
            parameter_types: types.into(),
            execution: None,
        };
        let key = (
            Arc::clone(&request.query),
            Arc::clone(&request.parameter_types),
        );
        self.pipeline
            .finisher()
            .ask(request, Asked::Description(key));
        Ok(Known::Asked)
    }

    /// What the finisher has said of the columns of a query, if it was asked.
    ///
    /// # Errors
    /// It refuses the query.
    pub(super) fn described_columns(
        &mut self,
        statement: &Statement,
        query: &FinisherQuery,
    ) -> Result<Option<Arc<Described>>, StatementError> {
        let types = types_of(statement, query);
        self.pipeline.finisher().described(&query.text, &types)
    }

    /// Keeps what an answer says of its columns: in a Query nothing was described before.
    pub(super) fn keep_columns(
        &mut self,
        statement: &Statement,
        query: &FinisherQuery,
        rows: &FinisherRows,
    ) {
        let types = types_of(statement, query);
        let key = (query.text.as_str().into(), types.as_ref().into());
        let described = Described {
            parameter_types: types.to_vec(),
            row_description: rows.row_description.clone(),
        };
        self.pipeline.finisher().keep_columns(key, described);
    }

    /// Describes a statement. False: the finisher takes no part in it.
    pub(super) fn describe_gathered(
        &mut self,
        statement: &Arc<Statement>,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> bool {
        let described = match self.known_of(statement, &statement.types) {
            Ok(Known::Plain) => return false,
            Ok(Known::Asked) => return true,
            Ok(Known::Described(described)) => described,
            Err(failure) => {
                self.fail(failure, outputs);
                return true;
            }
        };
        let mut said = Vec::new();
        if is_returned(&statement.plan, 0) {
            write_description(&described.row_description, &[], &mut said);
            outputs.to_server.extend_from_slice(message);
            let expected = Expected::DescribeStatement(Arc::clone(statement), Some(said));
            self.answers.push(expected);
            return true;
        }
        let query = query_at(&statement.plan, 0);
        let count = query.map_or(0, |query| query.parameters);
        let types = &described.parameter_types;
        let types = &types[..types.len().min(count)];
        backend::write_parameter_description(types, &mut said);
        if let Some(returning) = returned_at(&statement.plan, 0) {
            match self.known(returning, &[]) {
                Ok(Known::Described(returned)) => {
                    write_description(&returned.row_description, &[], &mut said);
                    self.answers.push(Expected::ProxyReply(said));
                }
                Ok(_) => {}
                Err(failure) => self.fail(failure, outputs),
            }
            return true;
        }
        let is_write = writes_at(&statement.plan, 0);
        if let Some(at) = statement.plan.answering(0)
            && is_write
            && may_return_rows(statement, at)
        {
            // The types of the values that are written may be refused. Then nothing is described.
            if let Err(failure) = self.array_types(statement, at) {
                self.fail(failure, outputs);
                return true;
            }
            self.answers.push(Expected::ProxyReply(said));
            if let Err(failure) = self.describe_own(statement, at, outputs) {
                self.fail(failure, outputs);
                return true;
            }
            let empty = KeptBind::default();
            let shape = Shape::of_portal(&statement.plan, at, empty.bind().result_formats);
            self.answers
                .push(Expected::DescribeRows(shape, Box::default()));
            return true;
        }
        match is_write || kept_at(&statement.plan, 0).is_some() {
            true => backend::write_empty(backend::kind::NO_DATA, &mut said),
            false => write_description(&described.row_description, &[], &mut said),
        }
        self.answers.push(Expected::ProxyReply(said));
        true
    }

    /// Describes a portal that the proxy keeps. False: the finisher does not answer its statement.
    pub(super) fn describe_gathered_portal(
        &mut self,
        statement: &Statement,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) -> bool {
        let known = match returned_at(&statement.plan, 0) {
            Some(returning) => self.known(returning, &[]),
            None => self.known_of(statement, &statement.types),
        };
        let is_returned = returned_at(&statement.plan, 0).is_some();
        match known {
            Ok(Known::Plain) => return false,
            Ok(Known::Asked) => {}
            // What the server returns is described by itself.
            Ok(Known::Described(_)) if write_at(&statement.plan, 0).is_some() && !is_returned => {
                return false;
            }
            Ok(Known::Described(described)) => {
                let formats: Vec<i16> = bind.result_formats.iter().collect();
                let mut said = Vec::new();
                let is_merge = merge_at(&statement.plan, 0).is_some();
                match is_merge || kept_at(&statement.plan, 0).is_some() {
                    true => backend::write_empty(backend::kind::NO_DATA, &mut said),
                    false => write_description(&described.row_description, &formats, &mut said),
                }
                self.answers.push(Expected::ProxyReply(said));
            }
            Err(failure) => self.fail(failure, outputs),
        }
        true
    }
}

/// The types that a query is described with, once its statement is known.
fn types_of<'t>(statement: &'t Statement, query: &FinisherQuery) -> Cow<'t, [u32]> {
    with_declared(&statement.types, query)
}

/// The types to declare to the finisher: those that the client has declared, and those of
/// parameters that the query does not have.
fn with_declared<'t>(types: &'t [u32], query: &FinisherQuery) -> Cow<'t, [u32]> {
    // The client may declare types of parameters that the query does not have.
    let types = &types[..types.len().min(query.parameters)];
    if query.declared.iter().all(Option::is_none) {
        return Cow::Borrowed(types);
    }
    let mut all = types.to_vec();
    all.resize(query.parameters, 0);
    for (own, declared) in all.iter_mut().zip(&query.declared) {
        if let (0, Some(logical)) = (*own, declared) {
            *own = values::oid(*logical);
        }
    }
    Cow::Owned(all)
}

//! What a session has asked the finisher, and what it was told.

use std::collections::VecDeque;
use std::sync::Arc;

use session_core::StatementError;

use super::forms::{FormQuestions, Purpose};
use super::gathering::Gathering;
use super::upserting::Upserting;
use crate::finisher::{Described, FinisherRequest};

/// How many descriptions a session keeps.
const DESCRIBED_MAX: usize = 64;

/// A query, and the types that its parameters were declared with.
type Key = (Arc<str>, Arc<[u32]>);

/// What the session waits for.
#[derive(Debug)]
pub(super) enum Asked {
    /// Types of a query. The client's message is processed again afterwards.
    Description(Key),
    /// The answer to a query whose rows were fetched.
    Answer(Box<Gathering>),
    /// New values of rows that an `INSERT` has found.
    Pairs(Box<Upserting>),
    /// Other forms of values. The message is processed again afterwards.
    Forms(FormQuestions),
}

/// The session's side of the conversation with the finisher.
#[derive(Debug, Default)]
pub(super) struct FinisherLink {
    /// To be taken by whoever drives the session.
    request: Option<FinisherRequest>,
    asked: Option<Asked>,
    described: VecDeque<(Key, Arc<Described>)>,
    /// Why the last query could not be described.
    failure: Option<(Key, StatementError)>,
    /// Whether values of the client have no other form, or of the server, and why.
    forms_failure: Option<(bool, StatementError)>,
}

impl FinisherLink {
    /// Asks the finisher.
    pub(super) fn ask(&mut self, request: FinisherRequest, asked: Asked) {
        self.request = Some(request);
        self.asked = Some(asked);
    }

    /// Whether the session waits for the finisher.
    pub(super) fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the message that was processed last is processed again.
    pub(super) fn wants_again(&self) -> bool {
        matches!(self.asked, Some(Asked::Description(_))) || self.asks_for_client()
    }

    fn asks_for_client(&self) -> bool {
        let Some(Asked::Forms(questions)) = &self.asked else {
            return false;
        };
        matches!(questions.purpose, Purpose::Client)
    }

    /// The request, once.
    pub(super) fn take_request(&mut self) -> Option<FinisherRequest> {
        self.request.take()
    }

    /// What was asked, now that it is answered.
    pub(super) fn take_asked(&mut self) -> Option<Asked> {
        self.request = None;
        self.asked.take()
    }

    /// The types of a query. None: they must be asked for.
    ///
    /// # Errors
    /// The finisher refuses the query. The error is given once.
    pub(super) fn described(
        &mut self,
        query: &str,
        types: &[u32],
    ) -> Result<Option<Arc<Described>>, StatementError> {
        let is_own = |key: &Key| *key.0 == *query && *key.1 == *types;
        if let Some((_, failure)) = self.failure.take_if(|(key, _)| is_own(key)) {
            return Err(failure);
        }
        let mut known = self.described.iter();
        let found = known.find(|(key, _)| is_own(key));
        Ok(found.map(|(_, described)| Arc::clone(described)))
    }

    /// Notes why values have no other form.
    pub(super) fn note_forms_failure(&mut self, is_of_client: bool, failure: StatementError) {
        self.forms_failure = Some((is_of_client, failure));
    }

    /// Why the values that were asked for have no other form. The error is given once.
    pub(super) fn take_forms_failure(&mut self, is_of_client: bool) -> Option<StatementError> {
        let own = |(side, _): &mut (bool, StatementError)| *side == is_of_client;
        self.forms_failure.take_if(own).map(|(_, failure)| failure)
    }

    /// Notes the types of a query, under those that were declared and under those that it has.
    pub(super) fn note(&mut self, key: Key, described: Result<Described, StatementError>) {
        let described = match described {
            Ok(described) => Arc::new(described),
            Err(failure) => return self.failure = Some((key, failure)),
        };
        let all: Arc<[u32]> = described.parameter_types.as_slice().into();
        let whole = (Arc::clone(&key.0), all);
        if whole.1 != key.1 {
            self.keep(whole, Arc::clone(&described));
        }
        self.keep(key, described);
    }

    /// Notes the columns of a query, as its answer has them.
    pub(super) fn keep_columns(&mut self, key: Key, described: Described) {
        if !self.described.iter().any(|(own, _)| *own == key) {
            self.keep(key, Arc::new(described));
        }
    }

    fn keep(&mut self, key: Key, described: Arc<Described>) {
        self.described.truncate(DESCRIBED_MAX - 1);
        self.described.push_front((key, described));
    }
}

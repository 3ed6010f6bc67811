//! Values of which only PostgreSQL knows another form: the finisher is asked for it, before the
//! message that has them is processed.

use std::ops::Range;
use std::sync::Arc;

use semantics_postgres::Wanted;
use session_core::plans::{Role, ServerStatement, TextPlan};
use session_core::{Statement, StatementError};
use sql_plan::Form;
use sql_plan::Purpose::Store;
use wire_postgres::frontend::{Bind, KeptBind};
use wire_postgres::{HEADER_SIZE, Header, backend};

use super::simple::of_query;
use super::{Outputs, Protected};
use crate::finisher::{FinisherAnswer, FinisherRequest};
use crate::session::End;
use crate::session::answers::Expected;
use crate::session::finisher_link::Asked;
use crate::session::forms::{FormQuestions, Purpose};
use crate::session::found;
use crate::session::rows::{self, RowError};
use crate::session::statements::inputs_of;
use crate::session::step::Step;

/// How many bytes of rows one question is for, at about.
const AHEAD_MAX: usize = 256 * 1024;

const ROLES: [Role; 6] = [
    Role::Only,
    Role::Read,
    Role::Write,
    Role::WriteAll,
    Role::WriteByKey,
    Role::Update,
];

impl Protected {
    /// Asks for other forms of the values of a client's message, if some are not known. True: the
    /// message is processed again.
    ///
    /// # Errors
    /// A value is none of its type, or there is no finisher.
    pub(super) fn ask_of_bind(
        &mut self,
        statement: &Statement,
        bind: &Bind<'_>,
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let formats: Vec<i16> = match statement.plan.has_opaque {
            true => bind.result_formats.iter().collect(),
            false => Vec::new(),
        };
        Ok(self.ask_of_client(statement, 0..1, bind, &formats)?
            || self.draw_for(&statement.plan, 0..1, outputs)?)
    }

    /// The same for a Query.
    ///
    /// # Errors
    /// As [`Self::ask_of_bind`].
    pub(super) fn ask_of_query(
        &mut self,
        plan: &Arc<TextPlan>,
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, StatementError> {
        let empty = KeptBind::default();
        let all = 0..plan.planned.len();
        Ok(
            self.ask_of_client(&of_query(plan), all.clone(), &empty.bind(), &[])?
                || self.draw_for(plan, all, outputs)?,
        )
    }

    fn ask_of_client(
        &mut self,
        statement: &Statement,
        indices: Range<usize>,
        bind: &Bind<'_>,
        formats: &[i16],
    ) -> Result<bool, StatementError> {
        if let Some(failure) = self.pipeline.finisher().take_forms_failure(true) {
            return Err(failure);
        }
        if !statement.plan.has_opaque {
            return Ok(false);
        }
        let schema = &statement.plan.loaded.schema;
        for index in indices.clone().filter(|_| !schema.has_finisher()) {
            if answers_with_forms(&statement.plan, index, formats) {
                return Err(no_finisher());
            }
        }
        self.note_time();
        let context = self.settings.noting_context();
        let mut sealed = Vec::new();
        for index in indices {
            let inputs = inputs_of(index, bind, &context);
            let all = ROLES.map(|role| ServerStatement { index, role });
            let parts = all.iter().filter_map(|at| statement.plan.translated(*at));
            for hole in parts.flat_map(|part| &part.holes) {
                let (Form::Sealed(column, purpose) | Form::SealedArray(column, purpose)) =
                    hole.form
                else {
                    continue;
                };
                let column = schema.column(column);
                let is_checked = purpose == Store && column.is_checked();
                let is_read =
                    matches!(hole.form, Form::Sealed(..)) && column.logical.opaque().is_some();
                if is_read || is_checked {
                    sealed.clear();
                    // An error comes again when the message is processed.
                    let _ = statement.fill(hole, &inputs, &mut sealed);
                }
            }
        }
        self.ask_for(context.opaque.take_wanted(), Purpose::Client)
    }

    /// The same for a piece of the rows of a COPY into the server, or with `None` for its end.
    pub(in crate::session) fn ask_of_copy(&mut self, data: Option<&[u8]>) -> bool {
        let asked = match self.pipeline.finisher().take_forms_failure(true) {
            Some(failure) => Err(failure),
            None => {
                let wanted = self
                    .copy
                    .wanted(data, &self.settings.context().opaque, true);
                self.ask_for(wanted, Purpose::Client)
            }
        };
        asked.unwrap_or_else(|failure| {
            self.copy.note_failure(failure);
            false
        })
    }

    /// Asks for other forms of the values of the server's next messages, if some are not known.
    /// True: the messages are processed afterwards.
    ///
    /// # Errors
    /// There is no other form, or no finisher. The session ends: rows that were sent to the client
    /// cannot be taken back.
    pub(in crate::session) fn ask_of_server(
        &mut self,
        kind: u8,
        bytes: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> Result<bool, End> {
        use backend::kind as k;
        let ended = |failure: StatementError| End::from(RowError::Statement(failure));
        if !matches!(kind, k::DATA_ROW | k::COPY_DATA | k::COPY_DONE) {
            return Ok(false);
        }
        if let Some(failure) = self.pipeline.finisher().take_forms_failure(false) {
            return Err(ended(failure));
        }
        if matches!(kind, k::COPY_DATA | k::COPY_DONE) {
            if !self.copy.is_out() {
                return Ok(false);
            }
            let wanted = |count| {
                let rows = bodies(kind, bytes).take(count).collect::<Vec<_>>().concat();
                let data = (kind == k::COPY_DATA).then_some(rows.as_slice());
                self.copy
                    .wanted(data, &self.settings.context().opaque, false)
            };
            let wanted = wanted(1).and_then(|_| wanted(usize::MAX));
            return self.ask_for(wanted, Purpose::Server).map_err(ended);
        }
        self.flush_proxy_replies(outputs);
        // Most have been asked for with the first of them.
        let wanted = match self.wanted_of_rows(bytes, 1)? {
            None => None,
            Some(_) => self.wanted_of_rows(bytes, usize::MAX)?,
        };
        self.ask_for(wanted, Purpose::Server).map_err(ended)
    }

    /// Values of so many of the next rows of which another form is needed.
    fn wanted_of_rows(&mut self, bytes: &[u8], count: usize) -> Result<Option<Wanted>, End> {
        let shape = match self.answers.front() {
            Some(Expected::Execute(Some(shape), _)) => &*shape,
            Some(Expected::Query(shapes, _)) => match shapes.front() {
                Some(Some(shape)) => shape,
                _ => return Ok(None),
            },
            Some(Expected::Writes(writes)) => match &writes.shape {
                Some(shape) => shape,
                None => return Ok(None),
            },
            Some(Expected::Step(step)) => {
                let context = self.settings.noting_context();
                let bodies = bodies(backend::kind::DATA_ROW, bytes).take(count);
                match &**step {
                    Step::Gather(gathering) if gathering.asks() => {
                        for body in bodies {
                            gathering.note_texts(body, &context)?;
                        }
                    }
                    Step::Upsert(upserting) if upserting.gathering.statement.plan.has_opaque => {
                        for (others, body) in bodies.enumerate() {
                            upserting.note_texts(others, body, &context)?;
                        }
                    }
                    _ => return Ok(None),
                }
                return Ok(context.opaque.take_wanted());
            }
            _ => return Ok(None),
        };
        if !shape.asks() {
            return Ok(None);
        }
        let context = self.settings.noting_context();
        let mut written = Vec::new();
        for body in bodies(backend::kind::DATA_ROW, bytes).take(count) {
            written.clear();
            // An error comes again when the message is processed.
            let _ = shape.write_row(body, &context, &mut written);
        }
        Ok(context.opaque.take_wanted())
    }

    /// Asks for other forms. False: there is nothing to ask for.
    ///
    /// # Errors
    /// There is no finisher.
    pub(super) fn ask_for(
        &mut self,
        wanted: Option<Wanted>,
        purpose: Purpose,
    ) -> Result<bool, StatementError> {
        let Some(wanted) = wanted else {
            return Ok(false);
        };
        if !self.schema.loaded()?.schema.has_finisher() {
            return Err(no_finisher());
        }
        self.ask_next(FormQuestions::new(wanted, purpose))?;
        Ok(true)
    }

    /// Asks the next of some questions.
    ///
    /// # Errors
    /// There is none, or nothing is known of the schema.
    fn ask_next(&mut self, questions: FormQuestions) -> Result<(), StatementError> {
        let answer_size_max = self.schema.shared().finish_bytes_max();
        let schema = &self.schema.loaded()?.schema;
        let question = questions.next(answer_size_max, schema);
        let question = question.ok_or_else(found::unasked)?;
        let (kind, settings) = self.settings.of_finisher(schema);
        let settings = match question.is_exact {
            false => settings,
            true => {
                let exact = ("extra_float_digits".to_owned(), "3".to_owned());
                let others = settings.iter().filter(|(name, _)| *name != exact.0);
                others.cloned().chain([exact.clone()]).collect()
            }
        };
        let request = FinisherRequest {
            kind,
            settings,
            query: question.query.as_str().into(),
            parameter_types: question.parameter_types.into(),
            execution: Some(question.execution),
        };
        let asked = Asked::Forms(questions);
        self.pipeline.finisher().ask(request, asked);
        Ok(())
    }

    /// Takes the answer to a question.
    pub(super) fn forms_answered(
        &mut self,
        mut questions: FormQuestions,
        answer: FinisherAnswer,
        outputs: &mut Outputs<'_>,
    ) -> Result<(), End> {
        let answered = match answer {
            FinisherAnswer::Rows(rows) => questions.answer(&rows),
            FinisherAnswer::Failed(failure) => Err(failure),
            FinisherAnswer::Described(_) => Err(found::unasked()),
        };
        if answered.is_ok() && !questions.is_answered() {
            return self
                .ask_next(questions)
                .map_err(|failure| End::from(RowError::Statement(failure)));
        }
        match answered {
            Ok(()) => {
                let (forms, purpose) = questions.into_forms();
                let is_of_client = matches!(purpose, Purpose::Client);
                let forms = forms.beside(&self.settings.context().opaque, is_of_client);
                self.copy.set_forms(&forms);
                self.settings.set_forms(forms);
                match purpose {
                    Purpose::Client | Purpose::Server => Ok(()),
                    Purpose::Write(found) => {
                        let (gathering, rows) = *found;
                        self.take_found(gathering, Ok(rows), outputs)
                    }
                    Purpose::Update(found) => {
                        let (upserting, rows) = *found;
                        self.take_pairs(upserting, Ok(rows), outputs)
                    }
                }
            }
            Err(failure) => match questions.take_purpose() {
                Purpose::Client => {
                    self.pipeline.finisher().note_forms_failure(true, failure);
                    Ok(())
                }
                Purpose::Server => {
                    self.pipeline.finisher().note_forms_failure(false, failure);
                    Ok(())
                }
                Purpose::Write(found) => {
                    let (gathering, _) = *found;
                    self.take_found(gathering, Err(failure), outputs)
                }
                Purpose::Update(found) => {
                    let (upserting, _) = *found;
                    self.take_pairs(upserting, Err(failure), outputs)
                }
            },
        }
    }
}

/// Whether the answer to a statement has values of which only PostgreSQL knows the text.
fn answers_with_forms(plan: &TextPlan, index: usize, formats: &[i16]) -> bool {
    let outputs = plan.answering(index).map_or(&[][..], |at| plan.outputs(at));
    rows::asks(plan, outputs, formats)
        || plan
            .copy(index)
            .is_some_and(|copy| !copy.into_server && rows::asks_of_copy(&plan.loaded.schema, copy))
}

/// The bodies of the messages of a kind that bytes begin with.
fn bodies(kind: u8, bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let header = Header::read(&bytes[at..], usize::MAX).ok().flatten()?;
        let end = at.checked_add(header.size)?;
        if header.kind != kind || at > AHEAD_MAX {
            return None;
        }
        let body = bytes.get(at + HEADER_SIZE..end)?;
        at = end;
        Some(body)
    })
}

fn no_finisher() -> StatementError {
    StatementError::unsupported(
        "a value of a protected column of a type that the proxy does not read itself needs a \
         finisher",
    )
    .hint(
        "Set [finish] engine = \"postgres\" in the proxy's configuration. Without it, such columns \
         can be read in the binary format only, and jsonb also as text.",
    )
}

//! A session with rules: which commands pass, and what becomes of the others.
//!
//! Invariants:
//! 1. Commands are carried out one after the other, each once it is there as a whole: while the
//!    server owes an answer, the next command waits.
//! 2. A text is looked at with the settings that the server itself has named, and the schema that
//!    is valid now. After what may have changed either, the server is asked before the next text.
//! 3. A command of which it is not known what the server does with it is refused. No answer has a
//!    protected column that was not planned.
//! 4. What is sent for the client passes as it came, or is a text of the planner's with sealed
//!    values.

use std::collections::VecDeque;
use std::sync::Arc;

use column_value::Collation;
use session_core::counters::add;
use session_core::{Protection, StatementError};
use sql_rewrite::mysql::several::Remaining;
use wire_mysql::Capabilities;
use wire_mysql::answer;
use wire_mysql::capabilities::Status;
use wire_mysql::column::Column;
use wire_mysql::command::{Command, kind, write_text};
use wire_mysql::packet::Header;

use super::answers::{Course, Due, Step, course};
use super::check_sequence;
use super::several::Several;
use super::terms::Among;
use crate::finisher::FinisherRequest;
use crate::refusal::Refusal;

mod altering;
mod asked;
mod bulk;
mod carried;
mod columns;
mod describing;
mod duplicates;
mod errors;
mod fetching;
mod fill;
mod filled;
mod filling;
mod finishing;
mod listing;
mod loading;
mod modifying;
mod moments;
mod of_client;
mod pending;
mod preparing;
mod question;
mod reply;
mod sending;
mod settings;
mod statements;
mod stepped;
mod texts;
mod tokens;
mod values;
mod view;
mod warned;
mod warnings;

use altering::Altering;
use bulk::Further;
use describing::Describing;
use filling::Filling;
use finishing::Finishing;
use listing::Listing;
use loading::Loading;
use modifying::Modifying;
use of_client::OfClient;
use pending::{Moment, PASSWORD_EXPIRED, Pending, is_way_out, needs_schema, passed_on};
use preparing::Preparing;
use question::{Answered, Question};
use reply::Reply;
use sending::Sent;
use settings::Settings;
use statements::{Prepared, Statements};
use tokens::Weighing;
use view::View;
use warned::Warned;
use warnings::Told;

/// What the session waits for.
#[derive(Debug)]
enum Work {
    /// The client.
    Nothing,
    /// The answer to a question of the proxy's own.
    Asking(Question),
    /// An answer that passes.
    Passing(Passing),
    /// The answer to a planned statement.
    Replying(Box<Reply>, bool),
    /// The answer to a planned statement that is prepared.
    Preparing(Box<Preparing>),
    /// The answer to a step of an `UPDATE` that the proxy computes for.
    Modifying(Box<Modifying>),
    /// The answer to a statement that gives columns sealed defaults, or to the one behind it.
    Altering(Box<Altering>),
    /// The rows of a query that the proxy finishes.
    Finishing(Box<Finishing>),
    /// The rows of a query that the finisher answers, or its answer.
    Filling(Box<Filling>),
    /// The answer to a statement that shows how a protected table is declared.
    Describing(Box<Describing>),
    /// A file of the client for the server.
    Loading(Box<Loading>),
    /// The answer to `SHOW WARNINGS`.
    Warned(Box<Warned>),
    /// The columns of a table.
    Listing(Box<Listing>),
    /// The finisher's answer, without which a command is not carried out.
    Weighing(Box<Weighing>),
}

/// A command that has passed to the server.
#[derive(Debug, Default)]
struct Passing {
    changes_schema: bool,
    /// The statement that is prepared.
    prepares: Option<Prepared>,
}

/// What a session with rules knows.
#[derive(Debug)]
pub(super) struct Protected {
    /// None: the server is asked before the next text.
    settings: Option<Settings>,
    view: View,
    statements: Statements,
    work: Work,
    pending: Option<Pending>,
    told: Told,
    pub(super) client: OfClient,
    /// A question to the finisher that nobody has taken yet.
    request: Option<Box<FinisherRequest>>,
    /// Rows of a bulk execution that follow the one for which the proxy computes.
    further: Option<Further>,
    /// What follows the statement that is carried out in its text, and the number of the packet
    /// with which the answer begins.
    rest: Option<(Remaining, u8)>,
    /// A text of several statements that is carried out.
    pub(super) several: Option<Several>,
    sent: Sent,
}

/// The parts of a session that a command reaches.
pub(super) struct Reach<'a> {
    pub(super) to_client: &'a mut Vec<u8>,
    pub(super) to_server: &'a mut Vec<u8>,
    pub(super) due: &'a mut VecDeque<Due>,
    pub(super) status: &'a mut Status,
    pub(super) capabilities: Capabilities,
}

/// `ER_UNKNOWN_COLLATION`
const UNKNOWN_COLLATION: u16 = 1273;

impl Protected {
    /// Of a session that begins, on one of several servers or on the only one.
    pub(super) fn boxed(shared: Arc<Protection>, among: Option<&Among<'_>>) -> Box<Self> {
        Box::new(Self {
            settings: None,
            view: View::new(shared, among),
            statements: Statements::default(),
            work: Work::Nothing,
            pending: None,
            told: Told::default(),
            client: OfClient::default(),
            request: None,
            further: None,
            rest: None,
            several: None,
            sent: Sent::default(),
        })
    }

    fn shared(&self) -> &Protection {
        self.view.shared()
    }

    /// The largest payload of a client, or row with sealed values.
    pub(super) fn size_max(&self) -> usize {
        self.shared().field_size_max()
    }

    /// Whether a command is carried out.
    pub(super) fn is_busy(&self) -> bool {
        self.pending.is_some() || !matches!(self.work, Work::Nothing)
    }

    /// What follows the statement that was begun, in its text.
    pub(super) fn take_rest(&mut self) -> Option<(Remaining, u8)> {
        self.rest.take()
    }

    /// Whether the server's answer is the proxy's to read.
    pub(super) fn reads_answer(&self) -> bool {
        matches!(
            self.work,
            Work::Asking(_)
                | Work::Replying(..)
                | Work::Preparing(_)
                | Work::Modifying(_)
                | Work::Altering(_)
                | Work::Finishing(_)
                | Work::Filling(_)
                | Work::Describing(_)
                | Work::Loading(_)
                | Work::Warned(_)
                | Work::Listing(_)
        )
    }

    /// The number of the packet that the client waits for.
    pub(super) fn sequence(&self) -> Option<u8> {
        match &self.work {
            Work::Replying(reply, _) => Some(reply.sequence),
            Work::Preparing(preparing) => Some(preparing.sequence),
            Work::Modifying(modifying) => Some(modifying.sequence),
            Work::Altering(altering) => Some(altering.sequence),
            Work::Finishing(finishing) => Some(finishing.sequence),
            Work::Filling(filling) => Some(filling.sequence),
            Work::Describing(describing) => Some(describing.sequence),
            Work::Loading(loading) => Some(loading.sequence),
            Work::Warned(warned) => Some(warned.sequence),
            Work::Listing(listing) => Some(listing.sequence),
            Work::Weighing(weighing) => Some(weighing.pending.sequence),
            Work::Nothing | Work::Asking(_) | Work::Passing(_) => {
                self.pending.as_ref().map(|pending| pending.sequence)
            }
        }
    }

    /// Forgets everything about the session: it is as after a login.
    pub(super) fn reset(&mut self) {
        self.settings = None;
        self.client.has_locked_tables = false;
        self.statements.clear();
        self.told = Told::default();
    }

    /// Takes a command of the client.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn command(
        &mut self,
        payload: &[u8],
        sequence: u8,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let pending = Pending {
            payload: payload.to_vec(),
            remaining: None,
            sequence,
            weighings: 0,
            moment: Moment::Unknown,
        };
        self.begin(pending, reach)
    }

    /// Begins the next of several statements.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn next_of_several(
        &mut self,
        rest: Remaining,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        self.begin(Pending::of_remaining(rest), reach)
    }

    fn begin(&mut self, pending: Pending, reach: &mut Reach<'_>) -> Result<(), Refusal> {
        self.pending = Some(pending);
        self.advance(reach)?;
        self.answer_unsent(reach)
    }

    /// Goes on with the command that waits.
    fn advance(&mut self, reach: &mut Reach<'_>) -> Result<(), Refusal> {
        let Some(pending) = self.pending.take() else {
            return Ok(());
        };
        if !needs_schema(&pending.command()?) {
            return self.carry_out(&pending, reach);
        }
        match self.next_question(&pending, *reach.status) {
            Ok(None) => self.carry_out(&pending, reach),
            Ok(Some(text)) => {
                self.pending = Some(pending);
                self.ask(&text, reach);
                Ok(())
            }
            Err(error) => {
                self.refuse(&error, pending.sequence, reach);
                Ok(())
            }
        }
    }

    /// What has to be known before a text is looked at.
    fn next_question(
        &mut self,
        pending: &Pending,
        status: Status,
    ) -> Result<Option<String>, StatementError> {
        let Some(settings) = &self.settings else {
            return Ok(Some(settings::QUESTION.to_owned()));
        };
        // What the first statement of a transaction sees begins with it.
        let is_fixed = self.client.has_read && settings.sees_one_moment(status);
        // A question changes the counts that a text asks for.
        let asks_for_counts = || match pending.command() {
            Ok(Command::Query(text)) => texts::asks_for_counts(text),
            _ => false,
        };
        let question = self.view.question(settings, is_fixed, asks_for_counts)?;
        self.client.has_read |= question.is_none();
        Ok(question)
    }

    fn ask(&mut self, text: &str, reach: &mut Reach<'_>) {
        self.told.has_other_counts = true;
        self.send(|out| write_text(kind::QUERY, text.as_bytes(), out), reach);
        self.work = Work::Asking(Question::new(self.size_max()));
    }

    /// Takes a payload of the server that is the proxy's to read.
    ///
    /// # Errors
    /// The session cannot go on.
    pub(super) fn answer(
        &mut self,
        packet: (Header, &[u8]),
        next_sequence: u8,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        self.take_answer(packet, next_sequence, reach)?;
        self.answer_unsent(reach)
    }

    fn take_answer(
        &mut self,
        (header, payload): (Header, &[u8]),
        next_sequence: u8,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let packet = (header, payload);
        // A server that refuses a payload before it has all of it counts otherwise.
        if payload.first() != Some(&answer::ERR) {
            check_sequence(header, self.sent.next_sequence)?;
        }
        self.sent.next_sequence = next_sequence;
        let capabilities = reach.capabilities;
        match &mut self.work {
            Work::Nothing | Work::Passing(_) | Work::Weighing(_) => Ok(()),
            Work::Asking(question) => match question.take(packet, capabilities, reach.status)? {
                None => Ok(()),
                Some(answered) => self.answered(answered, reach),
            },
            Work::Replying(..) => self.replied(packet, reach),
            Work::Preparing(preparing) => {
                let status = *reach.status;
                let taken = preparing.take(packet, capabilities, status, reach.to_client);
                if let Some(prepared) = taken? {
                    self.work = Work::Nothing;
                    if let Some((number, prepared)) = prepared {
                        self.statements.put(number, prepared);
                    }
                }
                Ok(())
            }
            Work::Modifying(_)
            | Work::Finishing(_)
            | Work::Describing(_)
            | Work::Loading(_)
            | Work::Warned(_)
            | Work::Listing(_) => self.stepped(packet, reach),
            Work::Filling(_) => self.filled(packet, reach),
            Work::Altering(_) => self.altered(payload, reach),
        }
    }

    /// Takes a payload of the answer to a planned statement.
    fn replied(&mut self, packet: (Header, &[u8]), reach: &mut Reach<'_>) -> Result<(), Refusal> {
        let Work::Replying(reply, changes_schema) = &mut self.work else {
            return Ok(());
        };
        let changes_schema = *changes_schema;
        let known = (reach.capabilities, &mut *reach.status, &self.settings);
        let taken = reply.take(packet, known, reach.to_client);
        if reply.is_damaged {
            add(&self.view.shared().counters().values_damaged, 1);
        }
        if taken? {
            let work = std::mem::replace(&mut self.work, Work::Nothing);
            if let Work::Replying(reply, _) = work {
                self.told.warned_of = reply.warned_of().map(Arc::new);
            }
            if changes_schema {
                self.shared().forget_all();
            }
        }
        Ok(())
    }

    fn answered(&mut self, answered: Answered, reach: &mut Reach<'_>) -> Result<(), Refusal> {
        self.work = Work::Nothing;
        if let Some(pending) = self.pending.take_if(|own| own.moment == Moment::Asked) {
            return self.told_moment(pending, &answered, reach);
        }
        let is_expired = matches!(answered, Answered::Failed(PASSWORD_EXPIRED));
        let told = match answered {
            Answered::Failed(code) => passed_on(code),
            Answered::Rows(..) => None,
        };
        let noted = match (answered, &self.settings) {
            (Answered::Failed(UNKNOWN_COLLATION), Some(settings))
                if self.view.weighs().is_some() =>
            {
                self.view.lacks_collation(settings);
                Ok(())
            }
            (Answered::Failed(code), _) if self.view.weighs().is_some() => {
                let collation = self.view.weighs().map_or("", Collation::name);
                let message = format!(
                    "the server does not tell the weights of {collation}, by which a rule finds \
                     texts: error {code}"
                );
                self.view.failed();
                Err(StatementError::rules(message)
                    .hint("Name a collation in the rule that the server has."))
            }
            (Answered::Failed(code), _) => {
                self.view.failed();
                let message = format!(
                    "the server does not tell what the proxy must know of the session and its \
                     tables: error {code}"
                );
                Err(StatementError::rules(message))
            }
            (Answered::Rows(answer, number), None) => {
                let has_zone = self.view.has_zone();
                let read = Settings::read(&answer, number, has_zone);
                read.map(|settings| self.settings = Some(settings))
            }
            (Answered::Rows(answer, _), Some(settings)) => self.view.answered(answer, settings),
        };
        match (noted, &self.pending) {
            (Ok(()), _) => self.advance(reach),
            (Err(_), Some(pending)) if is_way_out(pending, is_expired) => {
                let Some(pending) = self.pending.take() else {
                    return Ok(());
                };
                let pending = match &pending.remaining {
                    Some(own) => Pending::of_text(own.rest()),
                    None => pending,
                };
                self.settings = None;
                self.pass(&pending, Passing::default(), reach);
                Ok(())
            }
            (Err(error), pending) => {
                let sequence = pending.as_ref().map_or(1, |pending| pending.sequence);
                self.pending = None;
                match told {
                    Some(refusal) => self.refuse_as(refusal, sequence, reach),
                    None => self.refuse(&error, sequence, reach),
                }
                Ok(())
            }
        }
    }

    /// Passes a command as it came.
    fn pass(&mut self, pending: &Pending, passing: Passing, reach: &mut Reach<'_>) {
        let payload = &pending.payload;
        if passing.changes_schema {
            self.shared().forget_all();
        }
        self.send_as_it_came(|out| out.extend_from_slice(payload), reach);
        let first = payload.first().copied().unwrap_or_default();
        if let Course::Answer(step) = course(first) {
            reach.due.push_back(Due {
                step,
                first_sequence: Some(self.sent.next_sequence),
            });
            self.work = Work::Passing(passing);
        }
    }

    /// Notes a packet of an answer that passes.
    ///
    /// # Errors
    /// It has a protected column.
    pub(super) fn passes(&mut self, step: Step, payload: &[u8]) -> Result<(), Refusal> {
        let is_error = payload.first() == Some(&answer::ERR);
        match (step, &mut self.work) {
            _ if is_error => Ok(()),
            (Step::Columns(_) | Step::PreparedColumns(_), _) => {
                let column = Column::read(payload)?;
                let checked = match self.view.loaded() {
                    Some(loaded) => columns::check_plain(&column, &loaded.schema),
                    // Only what reads no table passes without a schema.
                    None => Ok(()),
                };
                checked.map_err(|error| errors::refusal(&error))
            }
            (Step::Prepared, Work::Passing(passing)) => {
                let number = answer::Prepared::read(payload)?.statement;
                if let Some(prepared) = passing.prepares.take() {
                    self.statements.put(number, prepared);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes that an answer that passes has ended.
    pub(super) fn passed(&mut self) {
        if let Work::Passing(passing) = std::mem::replace(&mut self.work, Work::Nothing)
            && passing.changes_schema
        {
            self.shared().forget_all();
        }
    }

    /// Notes that the session ends. A statement under way may go on at the server.
    pub(super) fn end(&mut self) {
        let changes_schema = match &self.work {
            Work::Replying(_, changes_schema) => *changes_schema,
            Work::Passing(passing) => passing.changes_schema,
            Work::Altering(_) => true,
            Work::Nothing
            | Work::Asking(_)
            | Work::Preparing(_)
            | Work::Modifying(_)
            | Work::Finishing(_)
            | Work::Filling(_)
            | Work::Describing(_)
            | Work::Loading(_)
            | Work::Warned(_)
            | Work::Listing(_)
            | Work::Weighing(_) => false,
        };
        if changes_schema {
            self.shared().forget_all();
        }
        self.work = Work::Nothing;
        self.pending = None;
        self.request = None;
    }

    /// Answers a command with an error.
    fn refuse(&mut self, error: &StatementError, sequence: u8, reach: &mut Reach<'_>) {
        self.refuse_as(errors::refusal(error), sequence, reach);
    }

    fn refuse_as(&mut self, refusal: Refusal, mut sequence: u8, reach: &mut Reach<'_>) {
        add(&self.shared().counters().statements_refused, 1);
        refusal.write(&mut sequence, reach.to_client);
        self.told.refused = Some(refusal);
        self.further = None;
        self.work = Work::Nothing;
    }
}

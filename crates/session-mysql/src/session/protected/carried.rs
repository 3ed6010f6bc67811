//! How commands are carried out.

use std::sync::Arc;

use session_core::StatementError;
use session_core::plans::TextPlan;
use sql_plan::{Effects, Translated};
use sql_rewrite::mysql::load::Load;
use sql_rewrite::mysql::several::Remaining;
use wire_mysql::Capabilities;
use wire_mysql::command::{Command, Fetch, kind, write_text};
use wire_mysql::execute::Head;

use super::altering::{told_behind, unprepared};
use super::asked;
use super::describing::Describing;
use super::errors::refusal;
use super::fill::{self, Made};
use super::filling::Asked;
use super::finishing::{Finishing, finish_of};
use super::listing::Listing;
use super::loading::Loading;
use super::modifying::{Modifying, takes_steps};
use super::preparing::Preparing;
use super::reply::Reply;
use super::settings::{Letters, Settings};
use super::statements::{Bindings, Kind, Prepared, prepared_otherwise, tables_of, translated};
use super::texts::{self, Decision};
use super::tokens;
use super::warnings::{Told, check_counts};
use super::{Passing, Pending, Protected, Reach, Work};
use crate::refusal::{Reason, Refusal};

impl Protected {
    /// Carries out a command for which all is known.
    pub(super) fn carry_out(
        &mut self,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        if let Some(remaining) = &pending.remaining {
            self.first_query(remaining.clone(), reach);
            return Ok(());
        }
        match Command::read(&pending.payload)? {
            Command::Query(text) => self.query(text, pending, reach),
            Command::Prepare(text) => self.prepare(text, pending, reach),
            Command::Execute(body) => return self.execute(body, pending, reach),
            Command::SendLongData(piece) => match self.statements.find(piece.statement) {
                Ok(prepared) if prepared.passes() => self.pass(pending, Passing::default(), reach),
                // It has no answer: the execution has one.
                _ => self.statements.keep(&piece, self.size_max()),
            },
            Command::Close(number) => {
                self.statements.remove(number);
                self.pass(pending, Passing::default(), reach);
            }
            Command::ResetStatement(number) => {
                if let Ok(prepared) = self.statements.find(number) {
                    prepared.reset();
                }
                self.pass(pending, Passing::default(), reach);
            }
            Command::Fetch(Fetch { statement, .. }) => match self.statements.find(statement) {
                Ok(prepared) if prepared.passes() => self.pass(pending, Passing::default(), reach),
                Ok(_) => self.refuse_as(no_cursor(), pending.sequence, reach),
                Err(refusal) => self.refuse_as(refusal, pending.sequence, reach),
            },
            Command::BulkExecute(body) => return self.execute_bulk(body, pending, reach),
            Command::FieldList(..) => self.list(pending, reach),
            Command::InitDb(_) => {
                self.settings = None;
                self.pass(pending, Passing::default(), reach);
            }
            Command::ResetConnection => {
                self.reset();
                self.pass(pending, Passing::default(), reach);
            }
            Command::SetOption(option) => {
                self.client.sends_several = Some(option == 0);
                self.pass(pending, Passing::default(), reach);
            }
            Command::Ping
            | Command::Statistics
            | Command::ProcessKill(_)
            | Command::Other(kind::REFRESH | kind::SHUTDOWN | kind::DEBUG | kind::PROCESS_INFO) => {
                self.pass(pending, Passing::default(), reach)
            }
            Command::Quit | Command::ChangeUser(_) | Command::Other(_) => {
                self.refuse_as(not_with_rules(), pending.sequence, reach);
            }
        }
        Ok(())
    }

    fn decide(&self, text: &[u8]) -> Result<Decision, StatementError> {
        match (&self.settings, self.view.loaded()) {
            (Some(settings), Some(loaded)) => texts::decide(text, settings, loaded, self.shared()),
            _ => Err(StatementError::defect("nothing is known of the session")),
        }
    }

    /// Carries out the first of several statements.
    fn first_query(&mut self, mut remaining: Remaining, reach: &mut Reach<'_>) {
        let text = match self.take_first(&mut remaining) {
            Some(first) => {
                self.rest = Some((remaining, 1));
                first
            }
            None => remaining.rest().to_vec(),
        };
        self.query(&text, &Pending::of_text(&text), reach);
    }

    /// The first of several statements. None: there is one alone, or it is not known.
    fn take_first(&self, remaining: &mut Remaining) -> Option<Vec<u8>> {
        let (own, _) = self.settings.as_ref()?.own.as_ref().ok()?;
        remaining.take_first(*own).map(<[u8]>::to_vec)
    }

    fn query(&mut self, text: &[u8], pending: &Pending, reach: &mut Reach<'_>) {
        self.client.note_text(text);
        if self.told_instead(text, pending, reach) {
            return;
        }
        if let Err(error) = check_counts(self.told.has_other_counts, text) {
            return self.refuse(&error, pending.sequence, reach);
        }
        self.told.refused = None;
        let shows_warnings = texts::shows_warnings(text) || asked::read(text).is_some();
        if !shows_warnings {
            self.told = Told::default();
        }
        self.client.note_begun(text);
        if texts::is_frame(text) {
            return match shows_warnings {
                true => self.warn(self.warned(pending), pending, reach),
                false => self.pass(pending, Passing::default(), reach),
            };
        }
        let decided = match self.decide(text) {
            Ok(Decision::Planned(plan)) => match self.at_moment(plan, pending, reach) {
                Some(plan) => Ok(Decision::Planned(plan)),
                None => return,
            },
            decided => decided,
        };
        match decided {
            Err(error) => match self.first_of_several(text, reach) {
                Some((first, rest)) => {
                    self.rest = Some((rest, pending.sequence));
                    self.query(&first, &Pending::of_text(&first), reach);
                }
                None => self.refuse(&error, pending.sequence, reach),
            },
            Ok(Decision::Described(described)) => {
                self.send(|out| out.extend_from_slice(&pending.payload), reach);
                let describing =
                    Describing::new(*described, false, pending.sequence, self.size_max());
                self.work = Work::Describing(Box::new(describing));
            }
            Ok(Decision::Passes(effects)) if shows_warnings && changes_nothing(&effects) => {
                self.warn(self.warned(pending), pending, reach);
            }
            Ok(Decision::Passes(effects)) => self.pass_with(&effects, pending, None, reach),
            Ok(Decision::Loads(load, effects)) => self.load(load, &effects, pending, reach),
            Ok(Decision::Planned(plan)) if self.lacks_keys(&plan, pending, reach) => {}
            Ok(Decision::Planned(plan)) if takes_steps(&plan) => {
                self.take_steps((plan, None), pending.sequence, reach);
            }
            Ok(Decision::Planned(plan)) if tables_of(&plan).is_some() => {
                self.fill((plan, text, Asked::Text), pending.sequence, reach);
            }
            Ok(Decision::Planned(plan)) => {
                let own = sent_whole(&plan, self.settings.as_ref());
                let text = own.and_then(|own| fill::text(own, &plan.loaded, Made::default()));
                match text {
                    Err(error) => self.refuse(&error, pending.sequence, reach),
                    Ok(text) => {
                        self.send(|out| write_text(kind::QUERY, text.as_bytes(), out), reach);
                        self.await_text(plan, pending.sequence);
                    }
                }
            }
        }
    }

    /// Whether constants of a plan have no token yet: the finisher is asked, then.
    fn lacks_keys(
        &mut self,
        plan: &Arc<TextPlan>,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> bool {
        let Some(settings) = &self.settings else {
            return false;
        };
        let keyless = tokens::keyless(plan, None, settings);
        let lacks = !keyless.is_empty();
        if lacks {
            self.weigh(keyless, pending, reach);
        }
        lacks
    }

    /// Asks the server for the columns of a table.
    fn list(&mut self, pending: &Pending, reach: &mut Reach<'_>) {
        self.told = Told::default();
        let (Some(settings), Some(loaded)) = (&self.settings, self.view.loaded()) else {
            return;
        };
        let listing = Listing::new(Arc::clone(loaded), settings.results, pending.sequence);
        self.send(|out| out.extend_from_slice(&pending.payload), reach);
        self.work = Work::Listing(Box::new(listing));
    }

    /// Sends a statement for which the server asks for a file of the client.
    fn load(
        &mut self,
        load: Box<Load>,
        effects: &Effects,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) {
        if self.rest.is_some() || self.several.is_some() {
            let error =
                StatementError::unsupported("LOAD DATA LOCAL in a text of several statements");
            let error = error.hint("Send it by itself.");
            return self.refuse(&error, pending.sequence, reach);
        }
        let (Some(settings), Some(loaded)) = (&self.settings, self.view.loaded()) else {
            return;
        };
        let loaded = Arc::clone(loaded);
        let sent = match &load.rows {
            None => Ok((pending.payload.clone(), Letters::Utf8)),
            Some(rows) => {
                let letters = match &rows.character_set {
                    Some(name) => Letters::of(name),
                    None => settings.files,
                };
                let text = fill::text(&rows.text, &loaded, Made::default());
                text.and_then(|text| {
                    let mut command = Vec::new();
                    write_text(kind::QUERY, text.as_bytes(), &mut command);
                    Ok((command, letters.ok_or_else(other_file)?))
                })
            }
        };
        match sent {
            Err(error) => self.refuse(&error, pending.sequence, reach),
            Ok((command, letters)) => {
                if effects.changes_settings {
                    self.settings = None;
                }
                self.send(|out| out.extend_from_slice(&command), reach);
                let size_max = self.size_max();
                let loading = Loading::new((load, loaded), letters, size_max, pending.sequence);
                self.work = Work::Loading(Box::new(loading));
            }
        }
    }

    /// The first of several statements that the client may send in one text, and what follows it.
    fn first_of_several(&self, text: &[u8], reach: &Reach<'_>) -> Option<(Vec<u8>, Remaining)> {
        let by_login = reach.capabilities.has(Capabilities::MULTI_STATEMENTS);
        if !self.client.sends_several.unwrap_or(by_login) {
            return None;
        }
        let mut remaining = Remaining::of(text)?;
        let first = self.take_first(&mut remaining)?;
        Some((first, remaining))
    }

    /// Waits for the answer to a planned statement that has been sent, as a text or with bindings.
    pub(super) fn await_rows(
        &mut self,
        sent: (Arc<TextPlan>, Option<Vec<Bindings>>),
        sequence: u8,
    ) {
        let plan = &sent.0;
        if finish_of(plan).is_some() {
            let bindings = sent.1.and_then(|mut rows| rows.pop());
            return self.finish((sent.0, bindings), sequence);
        }
        let changes_schema = plan.planned[0].plan.effects().changes_schema;
        let Some(settings) = &self.settings else {
            return;
        };
        let reply = Reply::new(sent, settings.results, sequence);
        self.work = Work::Replying(Box::new(reply), changes_schema);
    }

    /// Passes a text with what it may change.
    pub(super) fn pass_with(
        &mut self,
        effects: &Effects,
        pending: &Pending,
        prepares: Option<Prepared>,
        reach: &mut Reach<'_>,
    ) {
        // A text that is only prepared changes nothing yet.
        let is_run = prepares.is_none();
        if is_run && effects.changes_settings {
            self.settings = None;
        }
        let passing = Passing {
            changes_schema: is_run && effects.changes_schema,
            prepares,
        };
        self.pass(pending, passing, reach);
    }

    /// Checks a prepared statement that is executed, and forgets what was said of the last one.
    fn check_executed(&mut self, number: u32) -> Result<(), Refusal> {
        let prepared = self.statements.find(number)?;
        let counted = check_counts(self.told.has_other_counts, &prepared.text);
        counted.map_err(|error| refusal(&error))?;
        self.told = Told::default();
        let checked = self.check_prepared(number);
        checked.map_err(|error| refusal(&error))
    }

    fn prepare(&mut self, text: &[u8], pending: &Pending, reach: &mut Reach<'_>) {
        self.told = Told {
            has_other_counts: self.told.has_other_counts,
            ..Told::default()
        };
        self.client.has_locked_tables |= texts::locks_tables(text) == Some(true);
        self.statements.begin();
        let version = self.view.loaded().map_or(0, |loaded| loaded.version);
        let decided = self.decide(text);
        match decided {
            Err(error) => self.refuse(&error, pending.sequence, reach),
            Ok(Decision::Described(described)) => {
                let prepared = Prepared::new(text, Kind::Described(described), version);
                self.pass_with(&Effects::default(), pending, Some(prepared), reach);
            }
            Ok(Decision::Passes(effects)) => {
                let prepared = Prepared::new(text, Kind::Passes(effects.clone()), version);
                self.pass_with(&effects, pending, Some(prepared), reach);
            }
            Ok(Decision::Loads(..)) => {
                let error = StatementError::unsupported("LOAD DATA LOCAL that is prepared");
                let error = error.hint("Send it as a text.");
                self.refuse(&error, pending.sequence, reach);
            }
            Ok(Decision::Planned(plan))
                if tables_of(&plan).is_some() && self.lacks_keys(&plan, pending, reach) => {}
            Ok(Decision::Planned(plan)) if tables_of(&plan).is_some() => {
                self.fill((plan, text, Asked::Prepare(None)), pending.sequence, reach);
            }
            Ok(Decision::Planned(plan)) if told_behind(&plan).is_some() => {
                self.refuse(&unprepared(), pending.sequence, reach);
            }
            Ok(Decision::Planned(plan)) => {
                let (Some(own), Some(settings)) = (translated(&plan), &self.settings) else {
                    return self.refuse(&StatementError::other_plan(), pending.sequence, reach);
                };
                let (sent, slots) = fill::prepared_text(own);
                let results = settings.results;
                let kind = Kind::Planned(plan, slots);
                let prepared = Prepared::new(text, kind, version);
                self.send(
                    |out| write_text(kind::STMT_PREPARE, sent.as_bytes(), out),
                    reach,
                );
                let preparing = Preparing::new(prepared, results, pending.sequence);
                self.work = Work::Preparing(Box::new(preparing));
            }
        }
    }

    /// Begins an execution of a prepared statement. False: it is refused.
    pub(super) fn begin_prepared(
        &mut self,
        number: u32,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> bool {
        let checked = self.check_executed(number);
        match checked {
            Ok(()) => true,
            Err(refusal) => {
                if let Ok(prepared) = self.statements.find(number) {
                    prepared.reset();
                }
                self.refuse_as(refusal, pending.sequence, reach);
                false
            }
        }
    }

    fn execute(
        &mut self,
        body: &[u8],
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let head = Head::read(body)?;
        let number = self.statements.number(head.statement);
        if !self.begin_prepared(number, pending, reach) {
            return Ok(());
        }
        let prepared = self.statements.find(number)?;
        let plan = match &prepared.kind {
            Kind::Passes(effects) => {
                let effects = effects.clone();
                self.pass_with(&effects, pending, None, reach);
                return Ok(());
            }
            Kind::Described(described) => {
                let described = (**described).clone();
                self.show(described, pending, reach);
                return Ok(());
            }
            Kind::Planned(plan, _) | Kind::Filled(plan) => Arc::clone(plan),
        };
        let Some(plan) = self.at_moment(plan, pending, reach) else {
            return Ok(());
        };
        let prepared = self.statements.find(number)?;
        let Some(settings) = &self.settings else {
            return Ok(());
        };
        let bindings = match Bindings::take(prepared, (number, body))? {
            Ok(bindings) => bindings,
            Err(error) => {
                self.refuse(&error, pending.sequence, reach);
                return Ok(());
            }
        };
        let keyless = tokens::keyless(&plan, Some(&bindings.values()?), settings);
        if !keyless.is_empty() {
            prepared.give_back(bindings);
            self.weigh(keyless, pending, reach);
            return Ok(());
        }
        if tables_of(&plan).is_some() {
            let text = prepared.text.clone();
            self.fill(
                (plan, &text, Asked::Execute(bindings)),
                pending.sequence,
                reach,
            );
            return Ok(());
        }
        if takes_steps(&plan) {
            self.take_steps((plan, Some(bindings)), pending.sequence, reach);
            return Ok(());
        }
        self.send_execution((plan, bindings), number, pending, reach)
    }

    /// Sends the execution of a statement that the server has for a plan.
    fn send_execution(
        &mut self,
        (plan, bindings): (Arc<TextPlan>, Bindings),
        number: u32,
        pending: &Pending,
        reach: &mut Reach<'_>,
    ) -> Result<(), Refusal> {
        let Some(settings) = &self.settings else {
            return Ok(());
        };
        let prepared = self.statements.find(number)?;
        let (Kind::Planned(_, slots), Some(own)) = (&prepared.kind, translated(&plan)) else {
            return Ok(());
        };
        if let Err(error) = sent_whole(&plan, Some(settings)) {
            self.refuse(&error, pending.sequence, reach);
            return Ok(());
        }
        match bindings.command((&plan, own, slots), settings, Made::default())? {
            Err(error) => self.refuse(&error, pending.sequence, reach),
            Ok(command) => {
                self.send(|out| out.extend_from_slice(&command), reach);
                self.await_rows((plan, Some(vec![bindings])), pending.sequence);
            }
        }
        Ok(())
    }

    /// Waits for the rows of a query that the proxy finishes.
    fn finish(&mut self, sent: (Arc<TextPlan>, Option<Bindings>), sequence: u8) {
        let Some(settings) = &self.settings else {
            return;
        };
        let shared = self.shared();
        let limits = (shared.finish_rows_max(), shared.finish_bytes_max());
        // The server counts the rows that it sends, which are others.
        self.told.has_other_counts = true;
        let finishing = Finishing::new(sent, settings.results, limits, sequence);
        self.work = Work::Finishing(Box::new(finishing));
    }

    /// Begins a statement of several steps.
    pub(super) fn take_steps(
        &mut self,
        (plan, bindings): (Arc<TextPlan>, Option<Bindings>),
        sequence: u8,
        reach: &mut Reach<'_>,
    ) {
        let Some(settings) = &self.settings else {
            return;
        };
        let size_max = self.shared().finish_bytes_max();
        match Modifying::begin((plan, bindings), (settings, size_max), sequence) {
            Err(error) => self.refuse(&error, sequence, reach),
            Ok((modifying, text)) => {
                self.send(|out| write_text(kind::QUERY, text.as_bytes(), out), reach);
                self.work = Work::Modifying(Box::new(modifying));
            }
        }
    }

    /// Checks that a prepared statement still means what it did, where the schema or the settings
    /// have changed.
    fn check_prepared(&mut self, number: u32) -> Result<(), StatementError> {
        let version = self.view.loaded().map_or(0, |loaded| loaded.version);
        let Ok(prepared) = self.statements.find(number) else {
            return Ok(());
        };
        let database = self.settings.as_ref().map(|own| &own.database);
        let under = prepared.read_under.as_ref().map(|own| &own.database);
        if under.is_some() && under != database {
            return Err(prepared_otherwise());
        }
        if prepared.version == version {
            return match (&prepared.kind, &self.settings) {
                (Kind::Planned(plan, _) | Kind::Filled(plan), Some(settings)) => {
                    texts::check_sorting(plan, &prepared.text, settings)?;
                    texts::check_results(plan, settings)
                }
                _ => Ok(()),
            };
        }
        let text = prepared.text.clone();
        let decided = self.decide(&text)?;
        let Ok(prepared) = self.statements.find(number) else {
            return Ok(());
        };
        match (&mut prepared.kind, decided) {
            (Kind::Passes(_), Decision::Passes(_)) => {}
            (Kind::Described(own), Decision::Described(now)) => *own = now,
            (Kind::Filled(own), Decision::Planned(now)) if tables_of(&now).is_some() => *own = now,
            (Kind::Planned(own, _), Decision::Planned(now)) if now.means_the_same(own) => {
                *own = now
            }
            _ => return Err(prepared_otherwise()),
        }
        prepared.version = version;
        Ok(())
    }
}

/// The statement of a plan of one, all of whose rows the server gives.
fn sent_whole<'p>(
    plan: &'p TextPlan,
    settings: Option<&Settings>,
) -> Result<&'p Translated, StatementError> {
    if finish_of(plan).is_some() && settings.is_some_and(|own| own.limits_rows) {
        let message = "sql_select_limit in a session whose query the proxy finishes";
        return Err(StatementError::unsupported(message)
            .hint("Set it to DEFAULT, and write LIMIT into the query."));
    }
    translated(plan).ok_or_else(StatementError::other_plan)
}

fn changes_nothing(effects: &Effects) -> bool {
    !effects.changes_settings && !effects.changes_schema
}

fn other_file() -> StatementError {
    StatementError::unsupported("LOAD DATA with a file of this character set")
        .hint("Write the file in UTF-8, and CHARACTER SET utf8mb4 behind the name of the table.")
}

/// `ER_STMT_HAS_NO_OPEN_CURSOR`
fn no_cursor() -> Refusal {
    Refusal::new(
        Reason::Statement(1421, *b"HY000"),
        "rows of protected tables come at once, without a cursor",
    )
}

fn not_with_rules() -> Refusal {
    Refusal::new(
        Reason::NotSupported,
        "this command does not pass a proxy with rules; send a statement in its place (CREATE \
         DATABASE), and connect to the server itself for replication and cloning",
    )
}

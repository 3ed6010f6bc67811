//! Objects that SQL declares and drops by name, and how transactions end, which drops some of them.

use std::collections::VecDeque;

use sql_plan::{Effects, ObjectEffect};
use sql_rewrite::{CursorMeaning, Objects};

use super::{Outputs, Protected};
use crate::session::cursors::{CursorRows, Cursors};
use crate::session::portals::{Portal, PortalState};
use crate::session::unconfirmed::{ChangedBy, Unconfirmed};

/// What SQL has declared, such as cursors, and how its transactions ended.
#[derive(Debug, Default)]
pub(super) struct DeclaredObjects {
    objects: Objects,
    ending: Ending,
    cursors: Cursors,
    /// What the names of cursors meant before statements that the server has not answered. A
    /// cursor may outlive their failure: one WITH HOLD, or one of before a savepoint.
    changes: Unconfirmed<String, (CursorMeaning, Option<CursorRows>)>,
    /// The cursors of each `CLOSE` that the server has not answered.
    closing: VecDeque<Option<String>>,
}

impl DeclaredObjects {
    /// Whether a text may name one of them.
    pub(super) fn concern(&self, text: &str) -> bool {
        self.objects.concern(text)
    }

    /// These objects together with others that can be named in SQL.
    pub(super) fn including(&self, others: impl Iterator<Item = ObjectEffect>) -> Objects {
        self.objects.including(others)
    }

    /// Whether there is a cursor of that name.
    pub(super) fn has_cursor(&self, name: &str) -> bool {
        self.objects.has_cursor(name)
    }

    /// The cursors whose rows are kept.
    pub(super) fn cursors(&mut self) -> &mut Cursors {
        &mut self.cursors
    }

    /// How many bytes these hold.
    pub(super) fn size(&self) -> usize {
        self.cursors.size()
    }

    /// Notes that a statement is sent that declares or closes cursors.
    fn note_sent(&mut self, effect: &ObjectEffect, batch: u64) {
        match effect {
            ObjectEffect::Declares { name, .. } => {
                // If the server takes it, the cursor of that name is another one.
                let before = (
                    self.objects.meaning_of_cursor(name),
                    self.cursors.take(name),
                );
                let by = ChangedBy::DeclareCursor;
                self.changes.note((batch, by), name.clone(), Some(before));
            }
            ObjectEffect::Keeps(kept) => {
                let before = (self.objects.meaning_of_cursor(&kept.name), None);
                let by = ChangedBy::DeclareCursor;
                self.changes
                    .note((batch, by), kept.name.clone(), Some(before));
            }
            ObjectEffect::Closes(Some(name)) => {
                let before = (self.objects.meaning_of_cursor(name), None);
                let by = ChangedBy::CloseCursor;
                self.changes.note((batch, by), name.clone(), Some(before));
                self.closing.push_back(Some(name.clone()));
            }
            ObjectEffect::Closes(None) => {
                let names = self.objects.cursors();
                let before = names.map(|name| {
                    let meaning = self.objects.meaning_of_cursor(name);
                    (name.to_owned(), (meaning, None))
                });
                self.changes
                    .note_all((batch, ChangedBy::CloseCursor), before);
                self.closing.push_back(None);
            }
            _ => {}
        }
        self.objects.note_effect(effect);
    }

    /// Takes back what statements of this batch and earlier ones would have done that the server
    /// has not confirmed.
    pub(super) fn undo(&mut self, batch: u64) {
        for (name, before) in self.changes.undo(batch) {
            let (meaning, rows) = before.unwrap_or_default();
            self.objects.restore_cursor(&name, meaning);
            if let Some(rows) = rows {
                self.cursors.insert(&name, rows);
            }
        }
    }

    /// Notes that the server has declared a cursor.
    fn note_declared(&mut self) {
        self.changes.confirm(ChangedBy::DeclareCursor);
    }

    /// Notes that the server has closed cursors.
    fn note_closed(&mut self) {
        self.changes.confirm(ChangedBy::CloseCursor);
        let Some(name) = self.closing.pop_front() else {
            return;
        };
        self.objects.note_closed(name.as_deref());
        let objects = &self.objects;
        self.cursors.retain(|name| objects.keeps(name));
    }

    /// Notes an error of the server.
    pub(super) fn note_error(&mut self) {
        // What was sent behind it may have been skipped.
        self.closing.clear();
        self.ending.note_error();
    }

    /// Notes the command tag of a statement.
    fn note_tag(&mut self, tag: &[u8]) {
        self.ending.note_tag(tag);
    }

    /// Notes that everything is answered and no transaction is open.
    fn end_transactions(&mut self) {
        let ending = std::mem::take(&mut self.ending);
        self.objects.end_transactions(!ending.may_stay);
        let objects = &self.objects;
        self.cursors.retain(|name| objects.keeps(name));
    }
}

/// How transactions ended since the session was last idle outside of a transaction.
#[derive(Debug, Default)]
struct Ending {
    /// The last answer was an error or a rollback.
    is_back: bool,
    /// Something may have been committed.
    may_stay: bool,
}

impl Ending {
    fn note_tag(&mut self, tag: &[u8]) {
        self.is_back = tag == b"ROLLBACK";
        self.may_stay |= tag == b"COMMIT";
    }

    fn note_error(&mut self) {
        self.is_back = true;
    }

    /// Notes that no transaction is open any more. Messages of the extended protocol outside of a
    /// block may have been committed in part.
    fn note_end(&mut self, was_in_block: bool, is_query: bool) {
        self.may_stay |= !self.is_back || !(was_in_block || is_query);
    }
}

impl Protected {
    /// Notes the objects that a statement declares or drops when it is sent.
    pub(super) fn note_objects(&mut self, effects: &Effects) {
        let batch = self.answers.batch_sent();
        for effect in &effects.objects {
            match effect {
                ObjectEffect::Prepares { .. }
                | ObjectEffect::PreparesPlain { .. }
                | ObjectEffect::Deallocates(_) => self.statements.note(effect, batch),
                ObjectEffect::Closes(None) => {
                    // It closes all portals. The server does not have these. Where it fails, the
                    // transaction has failed, and with it what these read.
                    let is_of_server =
                        |portal: &Portal| matches!(portal.state, PortalState::Bound { .. });
                    self.portals.retain(is_of_server);
                    self.objects.note_sent(effect, batch);
                }
                ObjectEffect::Declares { .. }
                | ObjectEffect::Keeps(_)
                | ObjectEffect::Closes(_) => {
                    self.objects.note_sent(effect, batch);
                }
                ObjectEffect::Scrolls(_) => {}
            }
        }
    }

    /// Notes the command tag of a statement that was executed.
    pub(super) fn note_tag(&mut self, body: &[u8]) {
        let tag = body.strip_suffix(b"\0").unwrap_or(body);
        self.objects.note_tag(tag);
        let word = tag.split(|byte| *byte == b' ').next();
        self.transaction.note_tag(word.unwrap_or_default());
        match tag {
            // Clients may send more before ReadyForQuery comes.
            b"COMMIT" => self.schema.publish_changes(),
            b"DECLARE CURSOR" => self.objects.note_declared(),
            b"CLOSE CURSOR" | b"CLOSE CURSOR ALL" => self.objects.note_closed(),
            b"PREPARE" => self.statements.confirm(ChangedBy::Prepare),
            b"DEALLOCATE" => self.statements.confirm(ChangedBy::Deallocate),
            b"DEALLOCATE ALL" | b"DISCARD ALL" => {
                self.statements.confirm(ChangedBy::Deallocate);
                self.own.forget_all();
                if tag == b"DISCARD ALL" {
                    self.objects.note_closed();
                }
            }
            _ => {}
        }
    }

    /// Forwards the confirmation of a change to a prepared statement. True: it is the last answer.
    pub(super) fn confirm(
        &mut self,
        by: ChangedBy,
        message: &[u8],
        outputs: &mut Outputs<'_>,
    ) -> bool {
        self.statements.confirm(by);
        outputs.to_client.extend_from_slice(message);
        true
    }

    /// Notes that the server is ready and no transaction is open.
    pub(super) fn end_transaction(&mut self, was_in_block: bool, is_query: bool) {
        self.objects.ending.note_end(was_in_block, is_query);
        if self.is_idle() {
            self.objects.end_transactions();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ending;

    /// Whether something may have been committed after these tags; an empty one is an error.
    fn may_stay(tags: &[&str], was_in_block: bool, is_query: bool) -> bool {
        let mut ending = Ending::default();
        for tag in tags {
            match *tag {
                "" => ending.note_error(),
                tag => ending.note_tag(tag.as_bytes()),
            }
        }
        ending.note_end(was_in_block, is_query);
        ending.may_stay
    }

    #[test]
    fn only_certain_rollbacks_count_as_rollbacks() {
        for (tags, was_in_block, is_query) in [
            (&["BEGIN", "DECLARE CURSOR", "ROLLBACK"][..], false, true),
            (&["DECLARE CURSOR", ""], false, true),
            (&["ROLLBACK"], true, false),
            // COMMIT failed, by a constraint that was deferred.
            (&["DECLARE CURSOR", ""], true, false),
        ] {
            assert!(!may_stay(tags, was_in_block, is_query), "{tags:?}");
        }
        for (tags, was_in_block, is_query) in [
            (&["DECLARE CURSOR", "COMMIT"][..], true, true),
            (&["DECLARE CURSOR", "COMMIT", ""], true, true),
            (&["COMMIT", "ROLLBACK"], true, true),
            (&["ROLLBACK", "DECLARE CURSOR"], true, true),
            (&["DECLARE CURSOR", ""], false, false),
        ] {
            assert!(may_stay(tags, was_in_block, is_query), "{tags:?}");
        }
    }
}

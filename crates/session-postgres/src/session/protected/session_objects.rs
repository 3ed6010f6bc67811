//! Names that SQL gives and takes back, and how transactions end, which takes names too.

use sql_plan::{Effects, ObjectEffect};
use sql_rewrite::Objects;

use super::{Outputs, Protected};
use crate::session::prepared::ChangedBy;

/// What SQL has declared, such as cursors, and how its transactions ended.
#[derive(Debug, Default)]
pub(super) struct DeclaredObjects {
    objects: Objects,
    ending: Ending,
}

impl DeclaredObjects {
    /// Whether a text may name one of them.
    pub(super) fn concern(&self, text: &str) -> bool {
        self.objects.concern(text)
    }

    /// They, and what else has such names.
    pub(super) fn including(&self, others: impl Iterator<Item = ObjectEffect>) -> Objects {
        self.objects.including(others)
    }

    /// Whether there is a cursor of that name.
    pub(super) fn has_cursor(&self, name: &str) -> bool {
        self.objects.has_cursor(name)
    }

    /// The server has failed.
    pub(super) fn note_error(&mut self) {
        self.ending.note_error();
    }

    /// A statement was executed.
    fn note_tag(&mut self, tag: &[u8]) {
        self.ending.note_tag(tag);
    }

    /// Nothing is under way, and no transaction is open.
    fn end_transactions(&mut self) {
        let ending = std::mem::take(&mut self.ending);
        self.objects.end_transactions(!ending.may_stay);
    }
}

/// How transactions ended since none was open, nor anything under way.
#[derive(Debug, Default)]
struct Ending {
    /// The last that the server told is a failure, or that it rolled back.
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

    /// No transaction is open any more. What messages of the extended protocol do without a block
    /// may be committed in the midst of them.
    fn note_end(&mut self, was_in_block: bool, is_query: bool) {
        self.may_stay |= !self.is_back || !(was_in_block || is_query);
    }
}

impl Protected {
    /// A statement is sent.
    pub(super) fn note_objects(&mut self, effects: &Effects) {
        let batch = self.answers.batch_sent();
        for effect in &effects.objects {
            match effect {
                ObjectEffect::Prepares { .. }
                | ObjectEffect::PreparesPlain(_)
                | ObjectEffect::Deallocates(_) => self.statements.note(effect, batch),
                ObjectEffect::Declares { .. } | ObjectEffect::Closes(_) => {
                    self.objects.objects.note_effect(effect);
                }
            }
        }
    }

    /// A statement was executed.
    pub(super) fn note_tag(&mut self, body: &[u8]) {
        let tag = body.strip_suffix(b"\0").unwrap_or(body);
        self.objects.note_tag(tag);
        let word = tag.split(|byte| *byte == b' ').next();
        self.transaction.note_tag(word.unwrap_or_default());
        match tag {
            // Clients go on before ReadyForQuery says so.
            b"COMMIT" => self.schema.publish_changes(),
            b"PREPARE" => self.statements.confirm(ChangedBy::Prepare),
            b"DEALLOCATE" => self.statements.confirm(ChangedBy::Deallocate),
            b"DEALLOCATE ALL" | b"DISCARD ALL" => {
                self.statements.confirm(ChangedBy::Deallocate);
                self.own.forget_all();
            }
            _ => {}
        }
    }

    /// What was sent is done, and the client is told. True: that was all.
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

    /// The server is ready, and no transaction is open.
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
    fn only_what_is_surely_rolled_back_is() {
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

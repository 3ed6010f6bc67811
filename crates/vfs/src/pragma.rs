//! The pragmas of an encrypted database (`docs/manual.md` lists them for users).

use crypto::cipher::Cipher;
use crypto::secret::{KEY_SIZE, Key};
use keyring::Credential;
use keyring::slots;
use page_codec::header::{Header, SLOT_COUNT};
use zeroize::Zeroizing;

use crate::abi::{SQLITE_ERROR, SQLITE_FULL, SQLITE_IOERR_DATA, SQLITE_NOTADB};
use crate::credentials::cipher_names;
use crate::database::{Database, State};
use crate::error::{Code, Outcome};
use crate::rotation::{Progress, Waiting};
use crate::verify::CheckedPages;

/// The answer to a pragma: text, nothing, or a pass to SQLite.
pub(crate) enum Answer {
    Text(String),
    NotOurs,
}

type Answered = Outcome<Answer>;

/// Pragmas of other products. SQLite ignores unknown pragmas silently, and users would take that
/// for success.
fn is_foreign(name: &str) -> bool {
    const NAMES: [&str; 4] = ["textkey", "textrekey", "hexrekey", "kdf_iter"];
    NAMES.contains(&name) || name.starts_with("cipher_")
}

/// Whether the shim, and not SQLite, interprets the value of a pragma.
pub(crate) fn takes_own_value(name: &str) -> bool {
    const NAMES: [&str; 5] = ["key", "hexkey", "rekey", "hexrekey", "cipher"];
    NAMES.contains(&name) || name.starts_with("strongroom_") || is_foreign(name)
}

impl Database {
    /// Handles `PRAGMA name` or `PRAGMA name = value`.
    pub fn pragma(&mut self, name: &str, value: Option<&str>) -> Answered {
        match (name, value) {
            ("key", Some(value)) => self.pragma_key(value),
            ("hexkey", Some(value)) => match hex_key(value) {
                Some(key) => self.give_key(Credential::raw_key(key)).map(|()| ok()),
                None => Err(self.misuse("PRAGMA hexkey takes 64 hexadecimal digits")),
            },
            ("rekey", Some(value)) => self.pragma_rekey(value),
            ("hexrekey", Some(value)) if let Some(key) = hex_key(value) => {
                self.replace_slot(&Credential::raw_key(key))
            }
            ("strongroom_rekey", Some(value)) => {
                let credential = self.token(value)?;
                self.replace_slot(&credential)
            }
            ("strongroom_key_add", Some(value)) => self.add_slot(value),
            ("strongroom_key_remove", Some(value)) => self.remove_slot(value),
            ("strongroom_rotate", value) => self.pragma_rotate(value),
            ("strongroom_rotation", None) => {
                let progress = self.rotation_progress(None)?;
                Ok(Answer::Text(progress_as_json(&progress)))
            }
            ("strongroom_keys", None) => self.keys(),
            ("strongroom_cipher" | "cipher", value) => self.cipher(value),
            ("strongroom_status", None) => Ok(Answer::Text(self.status())),
            ("strongroom_verify" | "cipher_integrity_check", value) => self.verify(value),
            ("strongroom_file", None) => self.file(),
            ("strongroom_last_error", None) => Ok(Answer::Text(self.newest_failure())),
            ("strongroom_mmap", value) => self.pragma_map(value),
            ("strongroom_freshness", value) => self.pragma_freshness(value),
            ("strongroom_version" | "cipher_version", None) => Ok(Answer::Text(format!(
                "strongroom {}",
                env!("CARGO_PKG_VERSION")
            ))),
            (foreign, Some(_)) if is_foreign(foreign) => Err(self.misuse(
                "this is another product's pragma; Strongroom keeps cipher and key derivation in \
                 the file, and its manual lists its own pragmas",
            )),
            (unknown, _) if unknown.starts_with("strongroom_") => {
                Err(self.misuse("there is no such pragma, or it takes (or lacks) a value"))
            }
            _ => Ok(Answer::NotOurs),
        }
    }

    fn misuse(&mut self, message: &str) -> Code {
        self.fail(SQLITE_ERROR, message)
    }

    fn pragma_key(&mut self, value: &str) -> Answered {
        let credential = self.credential_from(value)?;
        self.give_key(credential).map(|()| ok())
    }

    fn pragma_rekey(&mut self, value: &str) -> Answered {
        let credential = self.credential_from(value)?;
        self.replace_slot(&credential)
    }

    /// Parses a passphrase, or `x'64 hex digits'` for a raw key, as in SQLCipher.
    fn credential_from(&mut self, value: &str) -> Outcome<Credential> {
        let inner = value
            .strip_prefix(['x', 'X'])
            .and_then(|rest| rest.strip_prefix('\'')?.strip_suffix('\''));
        match inner {
            Some(digits) => match hex_key(digits) {
                Some(key) => Ok(Credential::raw_key(key)),
                None => Err(self.misuse("a raw key is written x'...' with 64 hexadecimal digits")),
            },
            None if value.is_empty() => Err(self.misuse(
                "the key is empty; to store a database without encryption use `strongroom decrypt`",
            )),
            None => Ok(Credential::passphrase(value)),
        }
    }

    fn token(&mut self, value: &str) -> Outcome<Credential> {
        match value.strip_prefix("token=").and_then(crate::tokens::redeem) {
            Some(credential) => Ok(credential),
            None => Err(self.misuse("this takes token=N, a key handed over inside the process")),
        }
    }

    fn replace_slot(&mut self, credential: &Credential) -> Answered {
        if let State::New(prepared) = &self.state
            && prepared.is_some()
        {
            self.prepare(credential.duplicate())?;
            return Ok(ok());
        }
        self.change_header(|header, unlocked| slots::replace(header, unlocked, credential))?;
        Ok(ok())
    }

    fn add_slot(&mut self, value: &str) -> Answered {
        let credential = match value.strip_prefix("token=") {
            Some(_) => self.token(value)?,
            None => self.credential_from(value)?,
        };
        let slot =
            self.change_header(|header, unlocked| slots::add(header, unlocked, &credential))?;
        Ok(Answer::Text(slot.to_string()))
    }

    fn remove_slot(&mut self, value: &str) -> Answered {
        let (token, number) = match value.split_once(" slot=") {
            Some((token, number)) => (Some(token), number),
            None => (None, value),
        };
        let Some(slot) = number.parse().ok().filter(|slot| *slot < SLOT_COUNT) else {
            return Err(self.misuse(
                "PRAGMA strongroom_key_remove takes the number of a slot, or token=N slot=NUMBER \
                 with a key that opens another",
            ));
        };
        let left = token.map(|token| self.token(token)).transpose()?;
        self.change_header(|header, unlocked| match &left {
            Some(left) => slots::remove_by(header, unlocked, slot, left),
            None => slots::remove(header, unlocked, slot),
        })?;
        Ok(ok())
    }

    /// Starts a rotation, continues it, or runs it to the end.
    fn pragma_rotate(&mut self, value: Option<&str>) -> Answered {
        let progress = match value.map(str::to_ascii_lowercase).as_deref() {
            None => {
                self.begin_rotation(false)?;
                self.rotate_to_the_end()?
            }
            Some("start") => {
                self.begin_rotation(false)?;
                self.rotation_progress(None)?
            }
            Some("start-alone") => {
                self.begin_rotation(true)?;
                self.rotation_progress(None)?
            }
            Some(pages) => match pages.parse() {
                Ok(pages) if pages > 0 => self.step_rotation(pages)?,
                Ok(_) | Err(_) => {
                    return Err(self.misuse(
                        "PRAGMA strongroom_rotate takes nothing, a number of pages, 'start' or \
                         'start-alone'",
                    ));
                }
            },
        };
        Ok(Answer::Text(progress_as_json(&progress)))
    }

    fn keys(&mut self) -> Answered {
        if let State::Open(_) = self.state {
            // Another connection may have changed the slots.
            let header = self.read_header()?.header;
            if let State::Open(opened) = &self.state {
                return Ok(Answer::Text(slots_as_json(&header, opened.unlocked.slot())));
            }
        }
        match &self.state {
            State::New(Some(prepared)) => Ok(Answer::Text(slots_as_json(&prepared.header, 0))),
            _ => Ok(Answer::Text("[]".to_owned())),
        }
    }

    fn cipher(&mut self, value: Option<&str>) -> Answered {
        let Some(value) = value else {
            return Ok(Answer::Text(match &self.state {
                State::Plain | State::Broken | State::Locked => "none".to_owned(),
                State::New(_) | State::Open(_) => self.asked.cipher.name().to_owned(),
            }));
        };
        let Some(cipher) = Cipher::from_name(value) else {
            let message = format!("unknown cipher; known are {}", cipher_names());
            return Err(self.misuse(&message));
        };
        match &self.state {
            State::New(_) => self.asked.cipher = cipher,
            State::Open(opened) if opened.header.cipher == cipher => {}
            State::Open(_) | State::Plain | State::Locked | State::Broken => {
                return Err(self.misuse(
                    "the cipher of an existing database cannot be changed in place; copy it with \
                     `strongroom encrypt --cipher`",
                ));
            }
        }
        Ok(Answer::Text(cipher.name().to_owned()))
    }

    fn status(&self) -> String {
        match &self.state {
            State::Open(opened) => format!(
                "{{\"state\":\"encrypted\",\"cipher\":\"{}\",\"page_size\":{},\"file_id\":\"{}\",\
                 \"epoch\":{},\"slots\":{},\"mmap\":{}}}",
                opened.header.cipher.name(),
                opened.header.page_size,
                hexadecimal(&opened.header.file_id),
                opened.header.current_epoch,
                opened.header.slots.iter().flatten().count(),
                self.main.map.is_enabled()
            ),
            State::New(prepared) => format!(
                "{{\"state\":\"new\",\"cipher\":\"{}\",\"key\":{}}}",
                self.asked.cipher.name(),
                prepared.is_some()
            ),
            State::Plain => "{\"state\":\"plain\"}".to_owned(),
            State::Locked => "{\"state\":\"locked\"}".to_owned(),
            State::Broken => "{\"state\":\"broken\"}".to_owned(),
        }
    }

    /// The value: none for the whole file, `FIRST-LAST` for a range of pages, `FIRST-LAST trailers`
    /// for their trailers too, `log` for the write-ahead log.
    fn verify(&mut self, value: Option<&str>) -> Answered {
        if !self.is_open() {
            return Err(match self.state {
                State::Plain => self.fail(SQLITE_NOTADB, "a plain database has nothing to verify"),
                _ => self.refuse_content(),
            });
        }
        let Some(value) = value else {
            let checked = self.verify_pages(1, u64::MAX, false)?;
            return Ok(Answer::Text(checked_in_words(&checked)));
        };
        if value == "log" {
            let checked = self.verify_log()?;
            return Ok(Answer::Text(format!(
                "{{\"committed\":{},\"behind\":{},\"bad\":[{}]}}",
                checked.committed,
                checked.behind,
                joined(&checked.bad)
            )));
        }
        let (range, wants_trailers) = match value.strip_suffix(" trailers") {
            Some(range) => (range, true),
            None => (value, false),
        };
        let Some((Ok(first), Ok(last))) = range
            .split_once('-')
            .map(|(first, last)| (first.parse(), last.parse()))
        else {
            return Err(self.misuse("PRAGMA strongroom_verify takes FIRST-LAST, or log"));
        };
        let checked = self.verify_pages(first, last, wants_trailers)?;
        Ok(Answer::Text(checked_as_json(&checked, wants_trailers)))
    }

    /// Current size and header of the file, and which of it this connection's lock keeps from
    /// changing.
    fn file(&mut self) -> Answered {
        let (pages, pages_told) = self.count_pages()?;
        let header = self.read_header()?.header;
        let authentic = match &self.state {
            State::Open(opened) => keyring::rotation::reopen(&header, &opened.unlocked),
            _ => return Err(self.refuse_content()),
        };
        if let Err(error) = authentic {
            return Err(self.fail(SQLITE_NOTADB, error.to_string()));
        }
        Ok(Answer::Text(format!(
            "{{\"pages\":{pages},\"pages_told\":{pages_told},\"page_size\":{},\"held\":\"{}\",\
             \"rotating\":{},\"header\":\"{}\"}}",
            header.page_size,
            self.held().name(),
            header.is_rotating(),
            hexadecimal(&header.to_copy())
        )))
    }

    fn pragma_map(&mut self, value: Option<&str>) -> Answered {
        match value.map(str::to_ascii_lowercase).as_deref() {
            None => {}
            Some("on" | "1" | "yes" | "true") => self.set_map(true),
            Some("off" | "0" | "no" | "false") => self.set_map(false),
            Some(_) => return Err(self.misuse("PRAGMA strongroom_mmap takes on or off")),
        }
        Ok(Answer::Text(
            if self.main.map.is_enabled() {
                "on"
            } else {
                "off"
            }
            .to_owned(),
        ))
    }

    /// Reads or sets whether pages carry versions: in a new database, or from the next rotation on.
    fn pragma_freshness(&mut self, value: Option<&str>) -> Answered {
        match value.map(str::to_ascii_lowercase).as_deref() {
            None => {}
            Some("on" | "1" | "yes" | "true") => self.freshness.asked = Some(true),
            Some("off" | "0" | "no" | "false") => self.freshness.asked = Some(false),
            Some(_) => return Err(self.misuse("PRAGMA strongroom_freshness takes on or off")),
        }
        let (now, asked) = (self.keeps_versions(), self.freshness.asked);
        let is_new = matches!(self.state, State::New(_));
        let name = |on: bool| if on { "on" } else { "off" };
        Ok(Answer::Text(match asked {
            Some(asked) if is_new => name(asked).to_owned(),
            Some(asked) if asked != now => format!("{} from the next rotation on", name(asked)),
            Some(_) | None => name(now).to_owned(),
        }))
    }

    /// The message of the last failure, for a pragma that failed.
    pub fn message_for(&self, code: Code) -> String {
        match &self.failures.last {
            Some(failure) => failure.message.clone(),
            None if code.0 == SQLITE_IOERR_DATA => "a page does not open".to_owned(),
            None if code.0 == SQLITE_FULL => "the disk is full; make room on it".to_owned(),
            None => format!("the operation failed with SQLite's code {}", code.0),
        }
    }
}

fn ok() -> Answer {
    Answer::Text("ok".to_owned())
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

fn joined(numbers: &[u64]) -> String {
    let texts: Vec<String> = numbers.iter().map(u64::to_string).collect();
    texts.join(",")
}

fn numbers_of(checked: &CheckedPages) -> String {
    let numbers: Vec<u64> = checked.bad.iter().map(|bad| bad.number).collect();
    joined(&numbers)
}

fn checked_in_words(checked: &CheckedPages) -> String {
    match checked.bad.len() {
        0 => "ok".to_owned(),
        bad => {
            let (count, numbers) = (checked.count, numbers_of(checked));
            format!("{bad} of {count} pages do not open: {numbers}")
        }
    }
}

fn checked_as_json(checked: &CheckedPages, with_trailers: bool) -> String {
    let mut json = format!("{{\"checked\":{},", checked.count);
    if with_trailers {
        json += &format!("\"trailers\":\"{}\",", hexadecimal(&checked.trailers));
    }
    if !checked.bad.is_empty() {
        // The reasons are fixed texts without characters that JSON escapes.
        let reasons: Vec<String> = checked
            .bad
            .iter()
            .map(|bad| format!("\"{}\"", bad.reason))
            .collect();
        json += &format!("\"reasons\":[{}],", reasons.join(","));
    }
    json + &format!("\"bad\":[{}]}}", numbers_of(checked))
}

fn hex_key(digits: &str) -> Option<Key> {
    if digits.len() != 2 * KEY_SIZE {
        return None;
    }
    let mut bytes = Zeroizing::new([0; KEY_SIZE]);
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let digit = |character: u8| char::from(character).to_digit(16);
        *byte = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
    }
    Some(Key::from_bytes(*bytes))
}

fn progress_as_json(progress: &Progress) -> String {
    let waiting_for = match progress.waiting {
        None => String::new(),
        Some(Waiting::Checkpoint) => {
            ",\"waiting_for\":\"PRAGMA wal_checkpoint(TRUNCATE)\"".to_owned()
        }
        Some(Waiting::Recovery) => {
            ",\"waiting_for\":\"SELECT count(*) FROM sqlite_schema\"".to_owned()
        }
    };
    format!(
        "{{\"state\":\"{}\",\"epoch\":{},\"pages_done\":{},\"pages\":{}{waiting_for}}}",
        if progress.running {
            "running"
        } else {
            "finished"
        },
        progress.epoch,
        progress.pages_done,
        progress.pages
    )
}

fn slots_as_json(header: &Header, opened_by: usize) -> String {
    let slots = header.slots.iter().enumerate().filter_map(|(index, slot)| {
        let slot = slot.as_ref()?;
        let cost = slot.kdf.map_or_else(String::new, |kdf| {
            format!(
                ",\"memory_kib\":{},\"passes\":{},\"lanes\":{}",
                kdf.memory_kib, kdf.passes, kdf.lanes
            )
        });
        Some(format!(
            "{{\"slot\":{index},\"kind\":\"{}\",\"opened_this\":{}{cost}}}",
            slot.kind.name(),
            index == opened_by
        ))
    });
    format!("[{}]", slots.collect::<Vec<_>>().join(","))
}

//! The destination of results: the main output, a file, or a pager for long results.

use crate::console::{Pager, Screen};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use store::system_error;

/// The main output, with an optional redirection.
pub struct Output {
    main: Box<dyn Write>,
    detour: Option<Detour>,
    screen: Option<Box<dyn Screen>>,
    /// Whether long results are sent to a pager.
    pub(crate) pages: bool,
    result: Option<LongResult>,
}

/// One result that may be too long for the screen.
enum LongResult {
    /// It still fits, and nothing of it has been shown yet.
    Held(Held),
    /// Sent to the pager.
    Paged(Box<dyn Pager>),
    /// The person quit the pager before its end.
    Left(Box<dyn Pager>),
}

/// The beginning of a result.
struct Held {
    text: Vec<u8>,
    /// Screen rows that it fills.
    rows: usize,
    /// Screen rows that it may fill.
    rows_max: usize,
    /// Characters per screen row.
    columns: usize,
    /// Characters in the last line so far.
    column: usize,
}

impl Held {
    /// Appends a part of the result; returns whether everything still fits.
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.text.extend_from_slice(bytes);
        for &byte in bytes {
            // UTF-8 continuation bytes take no column.
            match byte {
                b'\n' => (self.rows, self.column) = (self.rows + 1, 0),
                0x80..=0xbf => {}
                _ => self.column += 1,
            }
            if self.column > self.columns {
                (self.rows, self.column) = (self.rows + 1, 1);
            }
        }
        self.rows <= self.rows_max
    }
}

struct Detour {
    file: BufWriter<File>,
    name: String,
    once: bool,
}

impl Detour {
    /// The error with the name of the file, which is not where the person looks.
    fn named(&self, error: &io::Error) -> io::Error {
        let sentence = system_error::sentence(error);
        io::Error::new(error.kind(), format!("{}: {sentence}", self.name))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| self.named(&error))
    }
}

impl Output {
    /// An output that writes results to `main`.
    pub fn new(main: Box<dyn Write>, screen: Option<Box<dyn Screen>>) -> Self {
        Output {
            main,
            detour: None,
            screen,
            pages: true,
            result: None,
        }
    }

    /// Whether results are shown on a screen, rather than redirected to a file.
    pub fn is_screen(&self) -> bool {
        self.screen.is_some() && self.detour.is_none()
    }

    /// Whether results may have colours.
    pub fn has_colours(&self) -> bool {
        let screen = self.screen.as_ref().filter(|_| self.detour.is_none());
        screen.is_some_and(|screen| screen.has_colours())
    }

    /// Starts a result.
    pub fn begin_result(&mut self) {
        let screen = self.screen.as_ref().filter(|_| self.detour.is_none());
        let size = screen
            .filter(|_| self.pages)
            .and_then(|screen| screen.size());
        self.result = size.map(|(rows, columns)| {
            LongResult::Held(Held {
                text: Vec::new(),
                rows: 0,
                // One row is kept for the prompt after the result.
                rows_max: rows.saturating_sub(1),
                columns: columns.max(1),
                column: 0,
            })
        });
    }

    /// Ends a result, even an incomplete one. Returns whether the person quit the pager early, so
    /// that there is no point in writing more.
    ///
    /// # Errors
    ///
    /// If it cannot be written completely.
    pub fn end_result(&mut self) -> io::Result<bool> {
        match self.result.take() {
            None => Ok(false),
            Some(LongResult::Held(held)) => self.main.write_all(&held.text).map(|()| false),
            Some(LongResult::Paged(mut pager)) => pager.finish().map(|()| false),
            Some(LongResult::Left(mut pager)) => pager.finish().map(|()| true),
        }
    }

    /// Writes to the screen, bypassing a pager that is not needed.
    fn write_result(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.result.take() {
            None => self.main.write(bytes),
            Some(LongResult::Held(mut held)) => {
                if held.take(bytes) {
                    self.result = Some(LongResult::Held(held));
                    return Ok(bytes.len());
                }
                self.main.flush()?;
                match self.screen.as_ref().and_then(|screen| screen.pager()) {
                    Some(pager) => self.write_to_pager(pager, &held.text)?,
                    None => self.main.write_all(&held.text)?,
                }
                Ok(bytes.len())
            }
            Some(LongResult::Paged(pager)) => {
                self.write_to_pager(pager, bytes)?;
                Ok(bytes.len())
            }
            Some(left @ LongResult::Left(_)) => {
                self.result = Some(left);
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn write_to_pager(&mut self, mut pager: Box<dyn Pager>, bytes: &[u8]) -> io::Result<()> {
        let written = pager.write_all(bytes);
        let left = matches!(&written, Err(error) if error.kind() == io::ErrorKind::BrokenPipe);
        self.result = Some(match left {
            true => LongResult::Left(pager),
            false => LongResult::Paged(pager),
        });
        written
    }

    /// Redirects output to a file, for one statement or until further notice.
    ///
    /// # Errors
    ///
    /// If the file cannot be created, or the previous one cannot be finished.
    pub fn detour(&mut self, path: &Path, once: bool) -> io::Result<()> {
        self.back()?;
        let file = BufWriter::new(File::create(path)?);
        self.detour = Some(Detour {
            file,
            name: path.display().to_string(),
            once,
        });
        Ok(())
    }

    /// Ends a redirection.
    ///
    /// # Errors
    ///
    /// If the file cannot be written completely.
    pub fn back(&mut self) -> io::Result<()> {
        match self.detour.take() {
            Some(mut detour) => detour.flush(),
            None => Ok(()),
        }
    }

    /// Ends a redirection for one statement.
    ///
    /// # Errors
    ///
    /// If the file cannot be written completely.
    pub fn statement_done(&mut self) -> io::Result<()> {
        match &self.detour {
            Some(detour) if detour.once => self.back(),
            _ => Ok(()),
        }
    }

    /// The name of the file that output is redirected to, if any.
    pub fn detour_name(&self) -> Option<&str> {
        self.detour.as_ref().map(|detour| detour.name.as_str())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.detour {
            Some(detour) => {
                let written = detour.file.write(bytes);
                written.map_err(|error| detour.named(&error))
            }
            None => self.write_result(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.detour {
            Some(detour) => detour.flush(),
            None => self.main.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    /// Captured output, for a test to inspect.
    #[derive(Clone, Default)]
    struct Seen(Rc<RefCell<Vec<u8>>>);

    impl Seen {
        fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Seen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A screen of four rows and ten columns, with or without a pager.
    #[derive(Clone, Default)]
    struct Small {
        paged: Option<Seen>,
        /// The person quits the pager after this many writes.
        texts_max: usize,
        finished: Rc<Cell<u32>>,
    }

    impl Screen for Small {
        fn size(&self) -> Option<(usize, usize)> {
            Some((4, 10))
        }

        fn has_colours(&self) -> bool {
            false
        }

        fn pager(&self) -> Option<Box<dyn Pager>> {
            self.paged.as_ref()?;
            Some(Box::new(self.clone()))
        }
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.texts_max == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            self.texts_max -= 1;
            self.paged.as_mut().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Pager for Small {
        fn finish(&mut self) -> io::Result<()> {
            self.finished.set(self.finished.get() + 1);
            Ok(())
        }
    }

    fn output(screen: &Small) -> (Output, Seen) {
        let seen = Seen::default();
        let output = Output::new(Box::new(seen.clone()), Some(Box::new(screen.clone())));
        (output, seen)
    }

    #[test]
    fn short_results_stay_on_the_screen_and_long_ones_are_paged() {
        let screen = Small {
            paged: Some(Seen::default()),
            texts_max: usize::MAX,
            ..Small::default()
        };
        let paged = screen.paged.clone().unwrap();
        let (mut output, seen) = output(&screen);
        for (text, fits) in [
            ("a\nb\n", true),
            ("a\nb\nc\n", true),
            ("a\nb\nc\nd\n", false),
            ("0123456789\nü\n", true),
            ("ääääääääää\nü\n", true),
            ("0123456789x\nb\nc\n", false),
        ] {
            output.begin_result();
            write!(output, "{text}").unwrap();
            assert!(!output.end_result().unwrap());
            let (there, elsewhere) = if fits {
                (&seen, &paged)
            } else {
                (&paged, &seen)
            };
            assert_eq!(there.text(), text);
            assert_eq!(elsewhere.text(), "");
            there.0.borrow_mut().clear();
        }
        assert_eq!(screen.finished.get(), 2);
        output.pages = false;
        output.begin_result();
        output.write_all(b"a\nb\nc\nd\n").unwrap();
        output.end_result().unwrap();
        assert_eq!(seen.text(), "a\nb\nc\nd\n");
    }

    #[test]
    fn a_pager_that_is_left_ends_the_result_and_nothing_else() {
        let screen = Small {
            paged: Some(Seen::default()),
            texts_max: 1,
            ..Small::default()
        };
        let (mut output, seen) = output(&screen);
        output.begin_result();
        output.write_all(b"a\nb\nc\nd\n").unwrap();
        for _ in 0..2 {
            let error = output.write_all(b"d\n").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
        assert!(output.end_result().unwrap());
        assert_eq!(screen.finished.get(), 1);
        output.write_all(b"next").unwrap();
        assert_eq!(seen.text(), "next");
    }

    #[test]
    fn without_a_pager_and_in_a_file_everything_arrives() {
        let (mut output, seen) = output(&Small::default());
        output.begin_result();
        output.write_all(b"a\nb\nc\nd\n").unwrap();
        output.write_all(b"e\n").unwrap();
        assert!(!output.end_result().unwrap());
        assert_eq!(seen.text(), "a\nb\nc\nd\ne\n");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        output.detour(&path, true).unwrap();
        assert!(!output.is_screen());
        output.begin_result();
        output.write_all(b"x\n".repeat(20).as_slice()).unwrap();
        output.end_result().unwrap();
        output.statement_done().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"x\n".repeat(20));
        assert!(output.is_screen());
    }
}

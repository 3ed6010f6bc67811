//! Formats errors for users: every cause once, and system errors with a remedy.

use std::io::{self, ErrorKind};
use std::path::Path;

use store::system_error;

/// Whether the reader of the output has closed it, so that nobody is left to be told.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
    })
}

/// The error with its causes, without those whose text it already contains.
pub fn in_one_line(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    // The number of SQLite's code adds nothing to its message.
    let causes = error
        .chain()
        .skip(1)
        .filter(|cause| !cause.is::<rusqlite::ffi::Error>());
    for cause in causes {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let of_system = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    for cause in of_system {
        text = in_words(&text, cause);
    }
    text
}

/// The text with the usual errors of the system in words. A message that goes on with a remedy of
/// its own keeps that one.
fn in_words(text: &str, cause: &io::Error) -> String {
    let Some(told) = system_error::told(cause) else {
        return text.to_owned();
    };
    let (of_system, sentence) = (cause.to_string(), system_error::sentence(cause));
    text.replace(
        &format!("{of_system}; check "),
        &format!("{}; check ", told.what),
    )
    .replace(&of_system, &sentence)
}

/// The error, with the name of the file that it is about unless it says that already.
pub fn about<E: Into<anyhow::Error>>(file: &Path) -> impl Fn(E) -> anyhow::Error {
    let file = file.display().to_string();
    move |error| {
        let error = error.into();
        match in_one_line(&error).contains(&file) {
            true => error,
            false => error.context(file.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_printed_once() {
        let error = anyhow::anyhow!("the page is damaged").context("x.db: the page is damaged");
        assert_eq!(in_one_line(&error), "x.db: the page is damaged");
        let error = anyhow::anyhow!("page 3").context("x.db");
        assert_eq!(in_one_line(&error), "x.db: page 3");
    }

    #[test]
    fn an_error_names_its_file_once() {
        let about_x = about(Path::new("x.db"));
        let error = about_x(anyhow::anyhow!("page 3"));
        assert_eq!(in_one_line(&error), "x.db: page 3");
        assert_eq!(in_one_line(&about_x(error)), "x.db: page 3");
    }

    #[test]
    fn an_error_of_the_system_says_what_to_do() {
        let missing = std::fs::read("no/such/file").context("cannot read no/such/file");
        assert_eq!(
            in_one_line(&missing.unwrap_err()),
            "cannot read no/such/file: no such file or folder; check the name"
        );
        // An error whose text includes that of its cause.
        #[derive(Debug, thiserror::Error)]
        #[error("{name}: {source}; nothing was written")]
        struct Refused {
            name: &'static str,
            source: io::Error,
        }
        let source = io::Error::from_raw_os_error(24);
        let error = anyhow::Error::new(Refused {
            name: "x.db",
            source,
        });
        assert_eq!(
            in_one_line(&error),
            "x.db: too many open files; raise the limit (`ulimit -n`); nothing was written"
        );
        // One that has a remedy of its own.
        let missing = std::fs::read("no/such/file").unwrap_err();
        let error = anyhow::anyhow!("cannot read k: {missing}; check the name and its owner");
        assert_eq!(
            in_one_line(&anyhow::Error::new(missing).context(error.to_string())),
            "cannot read k: no such file or folder; check the name and its owner"
        );
        let unusual = anyhow::Error::new(io::Error::from_raw_os_error(5));
        assert!(in_one_line(&unusual).contains("(os error 5)"));
        let of_a_library = anyhow::Error::new(io::Error::new(ErrorKind::NotFound, "no entry"));
        assert_eq!(in_one_line(&of_a_library), "no entry");
    }
}

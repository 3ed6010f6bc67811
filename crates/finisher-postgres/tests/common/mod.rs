//! Finishers of the installed PostgreSQL, and questions to them.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use finisher_postgres::{FinisherOptions, Finishers};
use session_core::StatementError;
use session_postgres::finisher::{
    Described, FinisherAnswer, FinisherExecution, FinisherKind, FinisherRequest,
};
use tempfile::TempDir;
use wire_postgres::{HEADER_SIZE, Header, backend};

/// What a busy machine may need for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options for a machine of tests. None: PostgreSQL is not installed.
pub fn options() -> Option<FinisherOptions> {
    server_testkit::is_installed().then(|| FinisherOptions {
        programs: std::env::var_os("STRONGROOM_TEST_POSTGRES").map(PathBuf::from),
        // PostgreSQL does not run as root.
        run_as: is_root().then(|| "nobody".to_owned()),
        ..FinisherOptions::default()
    })
}

/// Finishers for a machine of tests. None: PostgreSQL is not installed.
pub fn finishers() -> Option<Finishers> {
    options().map(Finishers::new)
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

/// A folder for the folders of servers, which their user can enter.
pub fn place() -> TempDir {
    let place = tempfile::tempdir().expect("a folder");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o711)).expect("own folder");
    if is_root() {
        std::os::unix::fs::chown(place.path(), Some(65534), Some(65534)).expect("root gives away");
    }
    place
}

/// The newest version that is installed, sorting as C does.
pub fn kind(finishers: &Finishers) -> FinisherKind {
    let major = (13..30).rev().find(|major| finishers.offers(*major));
    FinisherKind {
        major: major.expect("PostgreSQL is installed"),
        locale_provider: "c".to_owned(),
        collate: "C".to_owned(),
        ctype: "C".to_owned(),
        icu_locale: String::new(),
        collation_version: String::new(),
        named_types: Vec::new(),
        extensions: Vec::new(),
        search_path: Vec::new(),
    }
}

/// A question with values as texts.
pub fn question(kind: &FinisherKind, query: &str, values: &[&str]) -> FinisherRequest {
    let values = values.iter();
    let values: Vec<_> = values
        .map(|value| Some(value.as_bytes().to_vec()))
        .collect();
    FinisherRequest {
        execution: Some(FinisherExecution {
            formats: vec![0; values.len()],
            values,
            result_formats: Box::new([]),
            answer_size_max: 1 << 20,
        }),
        ..description(kind, query)
    }
}

/// A question for types only.
pub fn description(kind: &FinisherKind, query: &str) -> FinisherRequest {
    FinisherRequest {
        kind: Arc::new(kind.clone()),
        settings: Arc::default(),
        query: query.into(),
        parameter_types: Arc::default(),
        execution: None,
    }
}

/// The same question with settings.
pub fn with_settings(mut request: FinisherRequest, settings: &[(&str, &str)]) -> FinisherRequest {
    let settings = settings.iter();
    request.settings = settings
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    request
}

pub async fn describe(finishers: &Finishers, request: FinisherRequest) -> Described {
    match finishers.ask(request).await {
        FinisherAnswer::Described(described) => described,
        other => panic!("{other:?}"),
    }
}

/// The rows of an answer, values separated by `|` and NULL as `-`.
pub async fn rows(finishers: &Finishers, request: FinisherRequest) -> Vec<String> {
    let answer = match finishers.ask(request).await {
        FinisherAnswer::Rows(rows) => rows,
        other => panic!("{other:?}"),
    };
    let mut messages = &answer.messages[..];
    let mut rows = Vec::new();
    while let Ok(Some(header)) = Header::read(messages, usize::MAX) {
        let (message, behind) = messages.split_at(header.size);
        assert_eq!(header.kind, backend::kind::DATA_ROW);
        let values = backend::read_data_row(&message[HEADER_SIZE..]).expect("a row");
        let text = |value: Option<&[u8]>| match value {
            Some(value) => String::from_utf8_lossy(value).into_owned(),
            None => "-".to_owned(),
        };
        let values: Vec<String> = values.iter().map(text).collect();
        rows.push(values.join("|"));
        messages = behind;
    }
    assert!(messages.is_empty());
    assert_eq!(answer.count, rows.len() as u64);
    rows
}

pub async fn failure(finishers: &Finishers, request: FinisherRequest) -> StatementError {
    match finishers.ask(request).await {
        FinisherAnswer::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

/// The folders of servers in a place.
pub fn folders(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The number of the server's first process in a folder.
pub fn process(folder: &Path) -> i32 {
    let lock = fs::read_to_string(folder.join("data/postmaster.pid")).expect("a server");
    let line = lock.lines().next().expect("a line");
    line.parse().expect("a number")
}

/// Whether a process is there, and has not ended.
pub fn lives(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until something is so.
pub fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "not {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

//! Helpers for databases in the tests of all engines.

use std::path::Path;

use lab::answer::Answers;
use lab::engine::Engine;
use tempfile::TempDir;

/// A folder whose name has characters that are special in URIs and shells.
pub fn odd_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("odd name %20?&").tempdir();
    folder.expect("a folder can be made")
}

/// Opens the database, runs the statements and closes it.
#[track_caller]
pub fn answers(engine: &dyn Engine, folder: &Path, statements: &[&str]) -> Answers {
    let mut answers = Answers::default();
    let mut connection = engine.open(folder).expect("it opens");
    let result = connection.run(statements, &mut answers);
    result.expect("every statement runs");
    connection.close().expect("it closes");
    answers
}

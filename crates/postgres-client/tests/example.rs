//! The example `in_process` on a real server, with its own rules.

use crate::common::Setup;

#[path = "../examples/in_process.rs"]
#[allow(dead_code, reason = "the test takes the place of its main function")]
mod in_process;

#[tokio::test]
async fn the_example_does_what_it_says() {
    let Some(setup) = Setup::start_empty() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rules = include_str!("../examples/in_process.toml");
    let file = folder.path().join("in_process.toml");
    std::fs::write(&file, rules).expect("own folder");
    std::fs::write(folder.path().join("columns.key"), [0x5a; 32]).expect("own folder");

    let lines = in_process::run(&file, &setup.server.url()).await;
    let lines = lines.expect("it runs");
    assert_eq!(lines[..2], ["1 Ada Lovelace", "3 Mary Somerville"]);
    assert_eq!(lines.len(), 5);
    for line in &lines[2..] {
        assert!(line.starts_with("the server has "), "{line}");
    }
    let left = "SELECT count(*) FROM pg_class WHERE relname LIKE 'in_process%'";
    assert_eq!(setup.raw(left).trim(), "0");
    setup.assert_unseen(&["Lovelace", "Noether", "Erlangen"]);
}

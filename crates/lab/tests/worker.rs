//! A worker with a mock engine that returns wrong answers or fails.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::Path;

use lab::answer::{Answers, Value};
use lab::engine::{Connection, Durability, Engine, EngineError, EngineOptions, Mode, Profile};
use lab::worker::{Reply, Request, Task, WorkerError, serve};
use workloads::{Dialect, Spec, Test};

/// A mock that knows the answers to the facts, and nothing else.
struct Parrot {
    profile: Profile,
    lies: bool,
    fails_in_test: Option<u32>,
    cannot: Option<Cannot>,
}

/// The test that it cannot do, and whether the database is unusable afterwards.
#[derive(Clone, Copy)]
struct Cannot {
    test: u32,
    ends: bool,
}

struct ParrotConnection {
    facts: Vec<(String, Vec<i64>)>,
    tests: Vec<Test>,
    lies: bool,
    fails_in_test: Option<u32>,
    cannot: Option<Cannot>,
    test: usize,
}

impl Engine for Parrot {
    fn profile(&self) -> &Profile {
        &self.profile
    }

    fn create(&self, folder: &Path) -> Result<(), EngineError> {
        fs::write(folder.join("file"), "one thousand")
            .map_err(|error| EngineError::Create(error.into()))
    }

    fn open(&self, _: &Path) -> Result<Box<dyn Connection>, EngineError> {
        Ok(Box::new(ParrotConnection {
            facts: vec![],
            tests: workloads::speed::tests(),
            lies: self.lies,
            fails_in_test: self.fails_in_test,
            cannot: self.cannot,
            test: 0,
        }))
    }
}

impl Connection for ParrotConnection {
    fn run(&mut self, statements: &[&str], answers: &mut Answers) -> Result<(), EngineError> {
        if let [statement] = statements
            && let Some((_, row)) = self.facts.iter().find(|(query, _)| query == statement)
        {
            for number in row {
                answers.push(Value::Integer(number + i64::from(self.lies)));
            }
            answers.end_row();
            answers.end_statement();
            return Ok(());
        }
        let test = &self.tests[self.test];
        self.test += 1;
        assert!(
            test.statements().eq(statements.iter().copied()),
            "test {}",
            test.number
        );
        if self.fails_in_test == Some(test.number) {
            return Err(EngineError::Statement {
                number: 1,
                statement: statements[0].to_owned(),
                source: "the parrot is tired".into(),
            });
        }
        if let Some(Cannot { test: cannot, ends }) = self.cannot
            && cannot == test.number
        {
            let why = "it has wings".into();
            return Err(EngineError::NotPossible { why, ends });
        }
        self.facts = test
            .oracle
            .iter()
            .map(|fact| (fact.query.clone(), fact.row.clone()))
            .collect();
        Ok(())
    }

    fn settings(&mut self) -> Result<Vec<(String, String)>, EngineError> {
        Ok(vec![("feathers".into(), "green".into())])
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(())
    }
}

fn replies(lies: bool, fails_in_test: Option<u32>) -> Vec<Reply> {
    replies_of(lies, fails_in_test, None)
}

fn replies_of(lies: bool, fails_in_test: Option<u32>, cannot: Option<Cannot>) -> Vec<Reply> {
    let folder = tempfile::tempdir().unwrap();
    let request = Request {
        engine: "parrot".into(),
        options: EngineOptions::default(),
        workload: Spec::Speed { scale: 1 },
        mode: Mode::Direct,
        pass_folder: folder.path().to_owned(),
        folder: folder.path().to_owned(),
        task: Task::Pass,
    };
    let mut output = Vec::new();
    let engine_named = |name: &str, _: &EngineOptions| -> Option<Box<dyn Engine>> {
        let profile = Profile {
            name: name.into(),
            description: String::new(),
            family: String::new(),
            dialect: Dialect::Sqlite,
            base: None,
            durability: Durability::None,
            cipher: None,
            control: false,
        };
        Some(Box::new(Parrot {
            profile,
            lies,
            fails_in_test,
            cannot,
        }))
    };
    let text = serde_json::to_string(&request).unwrap();
    serve(text.as_bytes(), &mut output, engine_named).unwrap();
    let text = String::from_utf8(output).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_pass_reports_opening_fifteen_tests_and_closing() {
    let replies = replies(false, None);
    let (answers, replies): (Vec<Reply>, Vec<Reply>) = replies
        .into_iter()
        .partition(|reply| matches!(reply, Reply::Answer(_)));
    assert_eq!((answers.len(), replies.len()), (15, 17));
    assert!(matches!(&replies[0], Reply::Opened { settings, .. } if settings[0].0 == "feathers"));
    for (reply, number) in replies[1..16].iter().zip(1..) {
        let Reply::Test(test) = reply else {
            panic!("{reply:?}")
        };
        assert_eq!((test.number, &test.contradiction), (number, &None));
    }
    let Reply::Closed(closing) = &replies[16] else {
        panic!("{:?}", replies[16])
    };
    assert!(closing.readable_on_disk);
    assert_eq!(closing.file_bytes, 12);
}

#[test]
fn an_engine_that_lies_is_contradicted_where_the_facts_are_known() {
    let contradicted: Vec<u32> = replies(true, None)
        .iter()
        .filter_map(|reply| match reply {
            Reply::Test(test) if test.contradiction.is_some() => Some(test.number),
            _ => None,
        })
        .collect();
    assert_eq!(contradicted, [2, 7, 9, 10, 11, 12, 13, 14]);
}

#[test]
fn a_failing_statement_ends_the_pass_with_its_cause() {
    let replies = replies(false, Some(3));
    assert_eq!(replies.len(), 6);
    let Reply::Failed { message } = &replies[5] else {
        panic!("{:?}", replies[3])
    };
    assert!(message.contains("the parrot is tired"), "{message}");
    assert!(
        message.contains("statement 1 of the test failed: SELECT"),
        "{message}"
    );
}

#[test]
fn an_impossible_test_is_no_failure_and_may_end_the_tests() {
    for (ends, not_possible) in [(false, vec![3]), (true, (3..=15).collect::<Vec<u32>>())] {
        let replies = replies_of(false, None, Some(Cannot { test: 3, ends }));
        assert!(
            matches!(replies.last(), Some(Reply::Closed(_))),
            "{replies:?}"
        );
        let tests = replies.iter().filter_map(|reply| match reply {
            Reply::Test(test) => Some(test),
            _ => None,
        });
        let tests: Vec<_> = tests.collect();
        assert_eq!(tests.len(), 15);
        let found = tests.iter().filter(|test| {
            let found = test.not_possible.as_ref();
            found.is_some_and(|found| found.why == "it has wings" && found.ends == ends)
        });
        assert_eq!(
            found.map(|test| test.number).collect::<Vec<u32>>(),
            not_possible
        );
    }
}

#[test]
fn unknown_names_are_refused() {
    let request = Request {
        engine: "x".into(),
        options: EngineOptions::default(),
        workload: Spec::Speed { scale: 1 },
        mode: Mode::Direct,
        pass_folder: "/".into(),
        folder: "/".into(),
        task: Task::Pass,
    };
    let request = serde_json::to_string(&request).unwrap();
    let none = |_: &str, _: &EngineOptions| -> Option<Box<dyn Engine>> { None };
    let mut output = Vec::new();
    let refused = serve(request.as_bytes(), &mut output, none);
    assert!(matches!(refused, Err(WorkerError::Engine { .. })));
    let refused = serve(b"".as_slice(), &mut output, none);
    assert!(matches!(refused, Err(WorkerError::Request(_))));
    assert!(output.is_empty());
}

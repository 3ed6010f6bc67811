//! Workload `speedtest` returns the same answers as SQLite's own program.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "support/facts.rs"]
mod facts;

use lab::answer::{Answers, Value};
use lab::engine::EngineOptions;
use workloads::{Dialect, Spec, build, speedtest};

/// The hash that the original prints with `--verify`, over all values of the statements that it
/// prepares: the state of a stream cipher, updated with the bytes.
struct Verification {
    state: [u8; 256],
    places: (u8, u8),
    /// Bytes of all values, plus two for each.
    bytes: usize,
}

impl Verification {
    fn new() -> Self {
        Self {
            state: std::array::from_fn(|place| place as u8),
            places: (0, 0),
            bytes: 0,
        }
    }

    fn stir(&mut self, bytes: &[u8]) {
        let (mut first, mut second) = self.places;
        for &byte in bytes {
            second = second
                .wrapping_add(self.state[usize::from(first)])
                .wrapping_add(byte);
            self.state.swap(usize::from(first), usize::from(second));
            first = first.wrapping_add(1);
        }
        self.places = (first, second);
    }

    fn add(&mut self, value: &Value) {
        // Reals differ in their last digits, so only their presence is counted.
        let (kind, text) = match value {
            Value::Null => (b'N', "nil".to_owned()),
            Value::Integer(number) => (b'I', number.to_string()),
            Value::Real(_) => (b'F', String::new()),
            Value::Text(text) => (b'T', text.clone()),
            Value::Blob(_) => panic!("the test has no blobs"),
        };
        if self.bytes > 0 {
            self.stir(b"\n");
        }
        self.stir(&[kind]);
        self.stir(text.as_bytes());
        self.bytes += text.len() + 2;
    }

    fn finish(mut self) -> String {
        self.stir(b"\n");
        let (mut first, mut second) = self.places;
        let digits = (0..24).map(|_| {
            first = first.wrapping_add(1);
            let moved = self.state[usize::from(first)];
            second = second.wrapping_add(moved);
            self.state.swap(usize::from(first), usize::from(second));
            let place = moved.wrapping_add(self.state[usize::from(first)]);
            format!("{:02x}", self.state[usize::from(place)])
        });
        let digits: String = digits.collect();
        format!("{} {digits}", self.bytes)
    }
}

/// Tests whose rows the original reads with a call that does not count.
const NOT_COUNTED: [&str; 4] = ["210", "260", "520", "980"];

fn verify(engine: &str, size: u32) -> String {
    let engine = lab_engines::named(engine, &EngineOptions::default()).unwrap();
    let workload = build(
        &Spec::Speedtest {
            size,
            big_transactions: false,
        },
        Dialect::Sqlite,
    )
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    engine.create(folder.path()).unwrap();
    let mut connection = engine.open(folder.path()).unwrap();
    let mut verification = Verification::new();
    for test in &workload.tests {
        let mut answers = Answers::default();
        let statements: Vec<&str> = test.statements().collect();
        connection.run(&statements, &mut answers).unwrap();
        if !NOT_COUNTED.contains(&speedtest::original_number(test)) {
            answers
                .values()
                .iter()
                .for_each(|value| verification.add(value));
        }
        facts::hold(connection.as_mut(), test);
    }
    connection.close().unwrap();
    verification.finish()
}

#[test]
fn the_answers_have_the_hash_of_the_original() {
    let known = [
        (2, "244592 28e6676ac610b0067f7b48634a7665a3ccf4f1ef8d7fd374"),
        (5, "826556 2ef302098d252181c4cb98b84a8a332a8e98506910393697"),
    ];
    for (size, hash) in known {
        assert_eq!(verify("sqlite-nosync", size), hash, "size {size}");
    }
    assert_eq!(verify("strongroom-nosync", 2), known[0].1);
}

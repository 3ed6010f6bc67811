//! Runs a script with an engine's own shell: one process per test, measured from start to exit.
//!
//! The interval begins before the shell is started and ends when it has exited and all its output
//! has been read. The script is a file that is the shell's standard input, so that feeding it costs
//! nothing. The output is read while the clock runs and parsed afterwards.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;

use crate::answer::{Answers, Value};
use crate::engine::{Cause, ScriptCommand, ScriptOutput, Server};
use crate::measure::{DescendantUsage, Sample, Usage, nanoseconds};
use crate::processes::field;

/// Runs a script and returns its cost and answer. All rows count as those of one statement, since a
/// shell does not mark where the rows of a statement end.
pub(crate) fn run(
    command: &ScriptCommand,
    script: &str,
    folder: &Path,
    server: Server,
) -> Result<(Sample, Answers), Cause> {
    let input = nameless(folder, script.as_bytes())?;
    let errors = folder.join("shell-errors");
    let complaints = File::create(&errors)?;
    let descendants = DescendantUsage::running(server);
    let usage = Usage::now(UsageWho::RUSAGE_CHILDREN);
    let began = Instant::now();
    let mut child = Command::new(&command.program)
        .args(&command.arguments)
        .envs(
            command
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        )
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(complaints)
        .spawn()
        .map_err(|error| format!("cannot start {}: {error}", command.program.display()))?;
    let peak = Peak::watch(child.id());
    let mut output = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_end(&mut output)?;
    }
    let traffic = ended(&child);
    let wall = began.elapsed();
    let status = child.wait()?;
    let usage = Usage::now(UsageWho::RUSAGE_CHILDREN).since(usage);
    let mut sample = Sample {
        wall_ns: nanoseconds(wall),
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        peak_memory_bytes: peak.highest(),
        read_bytes: traffic.as_deref().and_then(|text| field(text, "rchar:")),
        written_bytes: traffic.as_deref().and_then(|text| field(text, "wchar:")),
        server: None,
        way_ns: None,
    };
    descendants.add_to(&mut sample, server);
    let errors_text = fs::read(&errors)?;
    fs::remove_file(&errors)?;
    if !status.success() {
        let errors_text = String::from_utf8_lossy(&errors_text);
        let errors_text = errors_text
            .trim()
            .lines()
            .last()
            .unwrap_or("it said nothing")
            .to_owned();
        return Err(format!("{}: {status}: {errors_text}", command.program.display()).into());
    }
    Ok((sample, parsed(&output, command.output)))
}

/// An unnamed file to read from: nothing of it is left, however this process ends.
fn nameless(folder: &Path, content: &[u8]) -> Result<File, Cause> {
    let path = folder.join("shell-script");
    fs::write(&path, content)?;
    let file = File::open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Waits until the process has exited, and returns its I/O counters before the system drops them.
fn ended(child: &Child) -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::wait::{Id, WaitPidFlag, waitid};
        use nix::unistd::Pid;
        let pid = Pid::from_raw(child.id().cast_signed());
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        let _told_by_wait = waitid(Id::Pid(pid), flags);
    }
    fs::read_to_string(format!("/proc/{}/io", child.id())).ok()
}

/// Polls the peak memory of a process, since its exit cannot be foreseen.
struct Peak {
    stop: Sender<()>,
    thread: JoinHandle<Option<u64>>,
}

impl Peak {
    fn watch(pid: u32) -> Self {
        const PERIOD: Duration = Duration::from_millis(10);
        let now = move || {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            field(&status, "VmHWM:").map(|kibibytes| kibibytes * 1024)
        };
        let (stop, stopped) = channel();
        let mut highest = now();
        let thread = thread::spawn(move || {
            loop {
                highest = highest.max(now());
                if stopped.recv_timeout(PERIOD) != Err(RecvTimeoutError::Timeout) {
                    return highest;
                }
            }
        });
        Self { stop, thread }
    }

    fn highest(self) -> Option<u64> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

fn parsed(output: &[u8], format: ScriptOutput) -> Answers {
    let text = String::from_utf8_lossy(output);
    let mut answers = Answers::default();
    match format {
        ScriptOutput::Csv => csv_rows(&text, &mut answers),
        ScriptOutput::Tsv => tsv_rows(&text, &mut answers),
    }
    answers.end_statement();
    answers
}

/// RFC 4180. An empty line is a row with one NULL.
fn csv_rows(text: &str, answers: &mut Answers) {
    let mut rest = text;
    while !rest.is_empty() {
        let (value, after) = csv_value(rest);
        answers.push(value);
        match after.strip_prefix(',') {
            // A comma at the very end precedes an empty value.
            Some("") => {
                answers.push(Value::Null);
                answers.end_row();
                return;
            }
            Some(after) => rest = after,
            None => {
                answers.end_row();
                rest = after.strip_prefix('\r').unwrap_or(after);
                rest = rest.strip_prefix('\n').unwrap_or(rest);
            }
        }
    }
}

/// One value, and what follows it.
fn csv_value(text: &str) -> (Value, &str) {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        let plain = value.strip_suffix('\r').unwrap_or(value);
        return (
            if plain.is_empty() {
                Value::Null
            } else {
                untyped(plain)
            },
            after,
        );
    };
    let mut value = String::new();
    loop {
        let end = rest.find('"').unwrap_or(rest.len());
        value.push_str(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
        match rest.strip_prefix('"') {
            Some(after) => {
                value.push('"');
                rest = after;
            }
            None => return (untyped(&value), rest),
        }
    }
}

fn tsv_rows(text: &str, answers: &mut Answers) {
    for line in text.lines() {
        for value in line.split('\t') {
            answers.push(match value {
                "NULL" => Value::Null,
                value => untyped(&unescaped(value)),
            });
        }
        answers.end_row();
    }
}

fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        text.push(match character {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}

/// Converts answers to what a shell would have printed and this program parsed: texts that look
/// like numbers become numbers, and all rows belong to one statement.
pub(crate) fn without_types(answers: &Answers) -> Answers {
    let mut plain = Answers::default();
    for row in answers.rows() {
        for value in row {
            plain.push(match value {
                Value::Text(text) => untyped(text),
                Value::Blob(bytes) => untyped(&String::from_utf8_lossy(bytes)),
                Value::Null | Value::Integer(_) | Value::Real(_) => value.clone(),
            });
        }
        plain.end_row();
    }
    plain.end_statement();
    plain
}

/// The value of an untyped text: an integer or a real if it looks like one, else a text.
fn untyped(text: &str) -> Value {
    if let Ok(number) = text.parse() {
        return Value::Integer(number);
    }
    // Words that Rust parses as numbers (`inf`, `NaN`) stay texts.
    let looks_like_one = text.bytes().all(|byte| b"+-.0123456789eE".contains(&byte));
    match text.parse() {
        Ok(number) if looks_like_one => Value::Real(number),
        _ => Value::Text(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn values_that_look_like_numbers_are_numbers() {
        assert_eq!(untyped("-7"), Value::Integer(-7));
        assert_eq!(untyped("25.0000"), Value::Real(25.0));
        assert_eq!(untyped("1e3"), Value::Real(1000.0));
        for text in ["inf", "NaN", "1 2", "e", "-", "0x10"] {
            assert_eq!(untyped(text), texts(text));
        }
    }

    #[test]
    fn rows_with_commas_are_read() {
        let text = "1,2.5,\"a,\"\"b\"\"\nc\",\"\",\n\n\"x\",y\r\n7,";
        let answers = parsed(text.as_bytes(), ScriptOutput::Csv);
        assert_eq!(
            answers.values(),
            [
                Value::Integer(1),
                Value::Real(2.5),
                texts("a,\"b\"\nc"),
                texts(""),
                Value::Null,
                Value::Null,
                texts("x"),
                texts("y"),
                Value::Integer(7),
                Value::Null,
            ]
        );
        assert_eq!(answers.row_count(), 4);
        assert_eq!(parsed(b"", ScriptOutput::Csv).row_count(), 0);
        assert_eq!(
            parsed(b"\"open", ScriptOutput::Csv).values(),
            [texts("open")]
        );
    }

    #[test]
    fn answers_with_types_become_those_of_a_shell() {
        let mut typed = Answers::default();
        let values = [
            vec![texts("7"), texts("x"), Value::Null],
            vec![Value::Real(2.5), texts(""), Value::Blob(b"41".to_vec())],
        ];
        for row in values {
            row.into_iter().for_each(|value| typed.push(value));
            typed.end_row();
            typed.end_statement();
        }
        let read = parsed(b"7,x,\n2.5,\"\",41\n", ScriptOutput::Csv);
        assert_eq!(without_types(&typed), read);
    }

    #[test]
    fn rows_with_tabs_are_read() {
        let answers = parsed(b"1\tNULL\ta\\tb\\\\n\\n\n\n", ScriptOutput::Tsv);
        assert_eq!(
            answers.values(),
            [
                Value::Integer(1),
                Value::Null,
                texts("a\tb\\n\n"),
                texts("")
            ]
        );
        assert_eq!(answers.row_count(), 2);
    }

    fn shell(script: &str) -> ScriptCommand {
        ScriptCommand {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: vec![("LAB_WORD".into(), "word".into())],
            output: ScriptOutput::Csv,
        }
    }

    #[test]
    fn a_shell_gets_the_script_and_its_rows_and_costs_are_returned() {
        let folder = tempfile::tempdir().unwrap();
        let command =
            shell("read line; while [ ${#x} -lt 9999 ]; do x=x$x; done; echo \"$LAB_WORD,$line\"");
        let (sample, answers) = run(&command, "7\n", folder.path(), Server::None).unwrap();
        assert_eq!(answers.values(), [texts("word"), Value::Integer(7)]);
        assert!(
            sample.wall_ns > 0 && sample.cpu_ns().unwrap() > 0,
            "{sample:?}"
        );
        assert!(sample.peak_memory_bytes.unwrap() > 100_000, "{sample:?}");
        assert!(sample.written_bytes.unwrap() >= 7, "{sample:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failing_shell_is_reported_with_its_last_output() {
        let folder = tempfile::tempdir().unwrap();
        let command = shell("echo first >&2; echo 'no such table' >&2; exit 3");
        let error = run(&command, "", folder.path(), Server::None)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("/bin/sh") && error.contains("no such table"),
            "{error}"
        );
        let mut command = command;
        command.program = "/nonexistent/shell".into();
        let error = run(&command, "", folder.path(), Server::None)
            .unwrap_err()
            .to_string();
        assert!(error.contains("cannot start /nonexistent/shell"), "{error}");
    }
}

//! The table of dot commands, and how a command is found and run.

mod files;
mod keys;
mod parameters;
mod schema;
mod settings;

use crate::error::ShellError;
use crate::session::{Flow, Shell};
use crate::words;
use std::io::Write;
use zeroize::Zeroize;

type Run = fn(&mut Shell, &[String]) -> Result<Flow, ShellError>;

/// A dot command.
pub(crate) struct Command {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    /// What `.help NAME` adds.
    details: &'static str,
    /// What its argument is, for completion.
    takes: Takes,
    run: Run,
}

/// The kind of a command's argument.
#[derive(Clone, Copy)]
pub(crate) enum Takes {
    /// Nothing that can be completed.
    Nothing,
    /// A file.
    Path,
    /// A table.
    Table,
    /// A dot command.
    Command,
    /// One of these words.
    OneOf(fn() -> Vec<&'static str>),
}

const ON_OR_OFF: Takes = Takes::OneOf(|| vec!["on", "off"]);

impl Command {
    /// Its line in the list of commands; a long usage is put on a line of its own.
    fn in_list(&self) -> String {
        let (usage, summary) = (self.usage, self.summary);
        // At least two spaces, to keep the columns apart.
        if usage.len() + 2 > HELP_COLUMN {
            format!("{usage}\n{:HELP_COLUMN$}{summary}", "")
        } else {
            format!("{usage:<HELP_COLUMN$}{summary}")
        }
    }
}

/// Commands whose failure ends a script: what follows would be written to the wrong file, or in
/// clear.
const VITAL: [&str; 2] = ["decrypt", "encrypt"];

/// Commands whose output may be long.
const PAGED: [&str; 5] = ["dump", "help", "indexes", "schema", "tables"];

/// All dot commands, by subject.
const COMMANDS: &[&[Command]] = &[
    files::COMMANDS,
    keys::COMMANDS,
    parameters::COMMANDS,
    schema::COMMANDS,
    settings::COMMANDS,
    OWN,
];

const OWN: &[Command] = &[
    Command {
        name: "exit",
        usage: ".exit [CODE]",
        summary: "Leave the shell, with this exit status",
        details: "",
        takes: Takes::Nothing,
        run: exit,
    },
    Command {
        name: "help",
        usage: ".help [COMMAND]",
        summary: "Explain dot commands",
        details: "",
        takes: Takes::Command,
        run: help,
    },
    Command {
        name: "quit",
        usage: ".quit",
        summary: "Leave the shell",
        details: "",
        takes: Takes::Nothing,
        run: quit,
    },
];

/// The names of all commands, sorted.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    all().into_iter().map(|command| command.name)
}

/// The kind of argument of a command; `None` for an unknown name.
pub(crate) fn takes(name: &str) -> Option<Takes> {
    find(name).ok().map(|command| command.takes)
}

fn all() -> Vec<&'static Command> {
    let mut commands: Vec<&Command> = COMMANDS.iter().copied().flatten().collect();
    commands.sort_by_key(|command| command.name);
    commands
}

/// Runs one line that starts with a dot. The words of the line are wiped, since some are
/// passphrases.
pub(crate) fn run(shell: &mut Shell, line: &str) -> Result<Flow, ShellError> {
    let mut words = words::split(&line[1..]);
    let result = match words.split_first() {
        None => Ok(Flow::Continue),
        Some((name, arguments)) => {
            find(name).and_then(|command| run_command(shell, command, arguments))
        }
    };
    words.zeroize();
    result
}

fn run_command(
    shell: &mut Shell,
    command: &Command,
    arguments: &[String],
) -> Result<Flow, ShellError> {
    let result = match PAGED.contains(&command.name) {
        true => shell.paged(|shell| (command.run)(shell, arguments)),
        false => (command.run)(shell, arguments),
    };
    result.map_err(|error| {
        let error = match error {
            ShellError::Usage("") => ShellError::Usage(command.usage),
            other => other,
        };
        if VITAL.contains(&command.name) {
            return ShellError::KeyNotTaken(Box::new(error));
        }
        error
    })
}

fn find(name: &str) -> Result<&'static Command, ShellError> {
    let commands = all();
    if let Some(command) = commands.iter().find(|command| command.name == name) {
        return Ok(command);
    }
    let candidates: Vec<&&Command> = commands
        .iter()
        .filter(|command| command.name.starts_with(name))
        .collect();
    match candidates.as_slice() {
        [command] => Ok(command),
        [] => Err(ShellError::UnknownCommand {
            name: name.to_owned(),
            nearest: words::nearest(name, commands.iter().map(|command| command.name)),
        }),
        several => Err(ShellError::AmbiguousCommand {
            name: name.to_owned(),
            candidates: several.iter().map(|command| command.name).collect(),
        }),
    }
}

/// The arguments do not fit; the message gives the command's usage.
fn usage<T>() -> Result<T, ShellError> {
    Err(ShellError::Usage(""))
}

/// The optional argument.
fn at_most_one(arguments: &[String]) -> Result<Option<&str>, ShellError> {
    match arguments {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => usage(),
    }
}

/// The single argument.
fn exactly_one(arguments: &[String]) -> Result<&str, ShellError> {
    at_most_one(arguments)?.ok_or(ShellError::Usage(""))
}

fn on_or_off(arguments: &[String]) -> Result<bool, ShellError> {
    match exactly_one(arguments)?.to_ascii_lowercase().as_str() {
        "on" | "yes" | "1" | "true" => Ok(true),
        "off" | "no" | "0" | "false" => Ok(false),
        other => Err(ShellError::UnknownWord {
            what: "setting",
            word: other.to_owned(),
            possible: "on, off".to_owned(),
        }),
    }
}

fn exit(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    if let Some(code) = at_most_one(arguments)? {
        shell.exit_with(code.parse().or_else(|_| usage())?);
    }
    Ok(Flow::Quit)
}

fn quit(_shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    if arguments.is_empty() {
        Ok(Flow::Quit)
    } else {
        usage()
    }
}

/// Column of the explanations in the list of commands.
const HELP_COLUMN: usize = 34;

fn help(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let Some(name) = at_most_one(arguments)? else {
        for command in all() {
            writeln!(shell.output, "{}", command.in_list())?;
        }
        return Ok(Flow::Continue);
    };
    let command = find(name.trim_start_matches('.'))?;
    writeln!(shell.output, "{}\n    {}", command.usage, command.summary)?;
    for line in command.details.lines() {
        writeln!(shell.output, "    {line}")?;
    }
    Ok(Flow::Continue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_named_once_and_explained() {
        let commands = all();
        for pair in commands.windows(2) {
            assert_ne!(pair[0].name, pair[1].name);
        }
        for command in commands {
            assert!(
                command.usage.starts_with(&format!(".{}", command.name)),
                "{}",
                command.name
            );
            assert!(!command.summary.is_empty());
        }
    }

    #[test]
    fn the_list_keeps_usage_and_summary_apart() {
        for command in all() {
            let text = command.in_list();
            let last = text.lines().next_back().unwrap();
            let (before, summary) = last.split_at(HELP_COLUMN);
            assert_eq!(summary, command.summary);
            assert!(before.ends_with("  "), "{text}");
            assert!(text.starts_with(command.usage));
        }
    }

    #[test]
    fn short_forms_are_found_when_they_are_clear() {
        assert_eq!(find("tab").map(|command| command.name).ok(), Some("tables"));
        assert!(matches!(
            find("e"),
            Err(ShellError::AmbiguousCommand { .. })
        ));
        assert!(matches!(
            find("talbes"),
            Err(ShellError::UnknownCommand {
                nearest: Some("tables"),
                ..
            })
        ));
    }
}

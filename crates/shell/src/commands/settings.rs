//! Dot commands for settings of the shell: modes, headers, timer and the like.

use super::{Command, ON_OR_OFF, Takes, at_most_one, exactly_one, on_or_off, usage};
use crate::error::ShellError;
use crate::session::{Explain, Flow, Shell};
use crate::style::{Mode, Style};
use std::io::Write;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "bail",
        usage: ".bail on|off",
        summary: "Stop at the first error; off by default",
        details: "Only where the input is not typed by a person.",
        takes: ON_OR_OFF,
        run: |shell, arguments| set(arguments, &mut shell.settings.bail),
    },
    Command {
        name: "changes",
        usage: ".changes on|off",
        summary: "Say after each statement how many rows it changed",
        details: "With the total of the session. A person is told of INSERT, UPDATE and DELETE\n\
                  without it.",
        takes: ON_OR_OFF,
        run: |shell, arguments| set(arguments, &mut shell.settings.changes),
    },
    Command {
        name: "echo",
        usage: ".echo on|off",
        summary: "Write each statement before it runs",
        details: "Lines that hold a key or a passphrase are never written.",
        takes: ON_OR_OFF,
        run: |shell, arguments| set(arguments, &mut shell.settings.echo),
    },
    Command {
        name: "explain",
        usage: ".explain on|off|auto",
        summary: "Lay out EXPLAIN and EXPLAIN QUERY PLAN to be read; auto by default",
        details: "auto and on draw the plan as a tree and indent loops of the program. With off\n\
                  both are rows like others.",
        takes: Takes::OneOf(|| vec!["auto", "off", "on"]),
        run: explain,
    },
    Command {
        name: "headers",
        usage: ".headers on|off",
        summary: "Write the names of columns",
        details: "On by default in modes column, box, table and markdown.",
        takes: ON_OR_OFF,
        run: headers,
    },
    Command {
        name: "mode",
        usage: ".mode [MODE [TABLE]]",
        summary: "Choose how rows are written",
        details: "list, column, box, table, csv, json, line, tabs, markdown, html, insert,\n\
                  quote, ascii. TABLE is the name that mode insert writes. A person starts with\n\
                  box, a script with list.",
        takes: Takes::OneOf(|| Mode::ALL.map(Mode::name).to_vec()),
        run: mode,
    },
    Command {
        name: "nullvalue",
        usage: ".nullvalue TEXT",
        summary: "Write this text for NULL",
        details: "Without it a person sees NULL in modes list, column, box, table and line, and\n\
                  scripts and files get nothing.",
        takes: Takes::Nothing,
        run: null_value,
    },
    Command {
        name: "pager",
        usage: ".pager on|off",
        summary: "Show long results page by page; on by default",
        details: "Only on a terminal: what does not fit the screen goes to the program that\n\
                  $PAGER names, else to less.",
        takes: ON_OR_OFF,
        run: |shell, arguments| set(arguments, &mut shell.output.pages),
    },
    Command {
        name: "print",
        usage: ".print [TEXT...]",
        summary: "Write this text",
        details: "",
        takes: Takes::Nothing,
        run: print,
    },
    Command {
        name: "separator",
        usage: ".separator COLUMN [ROW]",
        summary: "Choose what stands between values and rows",
        details: "In modes list, csv, tabs, quote and ascii; .mode sets it back. Double quotes\n\
                  know \\t, \\n and \\r.",
        takes: Takes::Nothing,
        run: separator,
    },
    Command {
        name: "show",
        usage: ".show",
        summary: "List all settings",
        details: "",
        takes: Takes::Nothing,
        run: show,
    },
    Command {
        name: "timer",
        usage: ".timer on|off",
        summary: "Say after each statement how long it took",
        details: "",
        takes: ON_OR_OFF,
        run: |shell, arguments| set(arguments, &mut shell.settings.timer),
    },
    Command {
        name: "width",
        usage: ".width [NUMBER...]",
        summary: "Choose the least width of each column",
        details: "In modes column, box and table. A longer value goes on in the next line. A\n\
                  negative number puts values at the right; 0 is as wide as the values are.\n\
                  Without NUMBER every column is so.",
        takes: Takes::Nothing,
        run: width,
    },
];

fn set(arguments: &[String], setting: &mut bool) -> Result<Flow, ShellError> {
    *setting = on_or_off(arguments)?;
    Ok(Flow::Continue)
}

fn explain(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    shell.settings.explain = match arguments {
        [word] if word.eq_ignore_ascii_case("auto") => Explain::Auto,
        _ if on_or_off(arguments)? => Explain::On,
        _ => Explain::Off,
    };
    Ok(Flow::Continue)
}

/// Maximum width of a column, in characters, for either alignment.
const WIDTH_MAX: i32 = 10_000;

fn width(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let widths = arguments.iter().map(|word| match word.parse() {
        Ok(width) if (-WIDTH_MAX..=WIDTH_MAX).contains(&width) => Ok(width),
        _ => usage(),
    });
    shell.style.widths = widths.collect::<Result<_, _>>()?;
    Ok(Flow::Continue)
}

fn headers(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    shell.style.headers = Some(on_or_off(arguments)?);
    Ok(Flow::Continue)
}

fn mode(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let (name, table) = match arguments {
        [] => {
            writeln!(
                shell.output,
                "current output mode: {}",
                shell.style.mode.name()
            )?;
            return Ok(Flow::Continue);
        }
        [name] => (name, None),
        [name, table] => (name, Some(table)),
        _ => return usage(),
    };
    let Some(mode) = Mode::from_name(name) else {
        return Err(ShellError::UnknownWord {
            what: "mode",
            word: name.clone(),
            possible: Mode::ALL.map(Mode::name).join(", "),
        });
    };
    let former = std::mem::replace(&mut shell.style, Style::new(mode));
    shell.style = Style {
        headers: former.headers,
        null_value: former.null_value,
        reader: former.reader,
        widths: former.widths,
        ..Style::new(mode)
    };
    if let Some(table) = table {
        shell.style.insert_table = table.clone();
    }
    Ok(Flow::Continue)
}

fn null_value(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    shell.style.null_value = Some(exactly_one(arguments)?.to_owned());
    Ok(Flow::Continue)
}

fn print(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    writeln!(shell.output, "{}", arguments.join(" "))?;
    Ok(Flow::Continue)
}

fn separator(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    let (column, row) = match arguments {
        [column] => (column, None),
        [column, row] => (column, Some(row)),
        _ => return usage(),
    };
    shell.style.separator = Some(unescape(column));
    if let Some(row) = row {
        shell.style.row_separator = Some(unescape(row));
    }
    Ok(Flow::Continue)
}

/// Also accepts unquoted `\t`, `\n` and `\r`, as people write them.
fn unescape(text: &str) -> String {
    text.replace("\\t", "\t")
        .replace("\\n", "\n")
        .replace("\\r", "\r")
}

fn show(shell: &mut Shell, arguments: &[String]) -> Result<Flow, ShellError> {
    if at_most_one(arguments)?.is_some() {
        return usage();
    }
    let word = |setting: bool| if setting { "on" } else { "off" }.to_owned();
    let (settings, style) = (&shell.settings, shell.style_of_output());
    let widths: Vec<String> = style.widths.iter().map(i32::to_string).collect();
    let database = shell.database.path();
    let lines = [
        ("bail", word(settings.bail)),
        ("changes", word(settings.changes)),
        (
            "database",
            database.map_or(":memory:".to_owned(), |path| path.display().to_string()),
        ),
        ("echo", word(settings.echo)),
        ("explain", settings.explain.name().to_owned()),
        ("headers", word(style.shows_headers())),
        ("mode", style.mode.name().to_owned()),
        ("nullvalue", format!("{:?}", style.null_value())),
        (
            "output",
            shell.output.detour_name().unwrap_or("stdout").to_owned(),
        ),
        ("pager", word(shell.output.pages)),
        ("colseparator", format!("{:?}", style.separator())),
        ("rowseparator", format!("{:?}", style.row_separator())),
        ("timer", word(settings.timer)),
        ("width", widths.join(" ")),
    ];
    for (name, value) in lines {
        writeln!(shell.output, "{name:>12}: {value}")?;
    }
    Ok(Flow::Continue)
}

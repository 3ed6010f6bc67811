//! Differences between two runs, in words and as a table for the terminal.

use lab::difference::{Change, Difference};
use lab::statistics::ROUNDS_FOR_INTERVAL;

use crate::format::{date, ratio};
use crate::terminal::{align_right, new_table, wrapped};

/// The result in one sentence.
pub fn sentence(difference: &Difference) -> String {
    let regressions = difference.regressions().len();
    let percent = difference.threshold * 100.0;
    let (before, after) = difference.began;
    let between = format!(
        "{} between {} and {}",
        difference.workload,
        date(before),
        date(after)
    );
    if difference.too_few_rounds() && regressions == 0 {
        return format!(
            "{between}: too few rounds to call a change ({} and {}; {ROUNDS_FOR_INTERVAL} are \
             needed)",
            difference.rounds.0, difference.rounds.1
        );
    }
    match regressions {
        0 => format!("{between}: no regression of more than {percent} % stands out from the noise"),
        1 => format!("{between}: 1 regression of more than {percent} %"),
        count => format!("{between}: {count} regressions of more than {percent} %"),
    }
}

/// The word for a change.
pub(crate) fn word(change: &Change, wrong: bool) -> &'static str {
    if wrong {
        "WRONG ANSWER"
    } else if change.regression {
        "REGRESSION"
    } else if change.improvement {
        "faster"
    } else {
        ""
    }
}

/// Further notes, one per line.
pub(crate) fn notes(difference: &Difference) -> Vec<String> {
    let mut notes = Vec::new();
    for (fact, before, after) in &difference.facts {
        notes.push(format!("{fact}: {before} before, {after} after"));
    }
    for name in &difference.unmatched {
        notes.push(format!("{name} is in one of the runs only"));
    }
    for engine in &difference.engines {
        for test in &engine.tests {
            if let Some(wrong) = &test.wrong {
                notes.push(format!("{}, test {}: {wrong}", engine.engine, test.number));
            }
        }
    }
    notes
}

/// The sentence, a line per engine, a line per changed test, and other differences.
pub fn table(difference: &Difference, width: u16) -> String {
    let mut table = new_table(width);
    table.set_header(["time after / before", "wall time", "processor time", ""]);
    for engine in &difference.engines {
        let noise = if engine.control { ", the noise" } else { "" };
        table.add_row([
            format!("{}{noise}", engine.engine),
            ratio(engine.mean.wall.as_ref()),
            ratio(engine.mean.cpu.as_ref()),
            word(&engine.mean, false).to_owned(),
        ]);
        for test in &engine.tests {
            let word = word(&test.change, test.wrong.is_some());
            if word.is_empty() {
                continue;
            }
            table.add_row([
                format!("  {} {}", test.number, test.title),
                ratio(test.change.wall.as_ref()),
                ratio(test.change.cpu.as_ref()),
                word.to_owned(),
            ]);
        }
    }
    align_right(&mut table);
    let mut text = format!("{table}\n");
    for note in notes(difference) {
        text += &wrapped(&note, usize::from(width));
        text.push('\n');
    }
    let sentence = sentence(difference) + ".";
    text + &wrapped(&sentence, usize::from(width)) + "\n"
}

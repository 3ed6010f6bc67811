//! What was found, in words.

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Durability;
use lab::statistics::{Ratio, Verdict, verdict};

use crate::format::{interval, times};
use crate::tpcc;

/// The contender the headline speaks of: the first with a cipher that waits for the disk, or else
/// the first there is.
pub fn lead(comparison: &Comparison) -> Option<&EngineSummary> {
    if tpcc::is_tpcc(comparison) {
        return tpcc::lead(comparison);
    }
    let encrypted = |engine: &&EngineSummary| engine.profile.cipher.is_some();
    let durable = |engine: &&EngineSummary| engine.profile.durability == Durability::Full;
    comparison
        .contenders()
        .find(|engine| encrypted(engine) && durable(engine))
        .or_else(|| comparison.contenders().find(encrypted))
        .or_else(|| comparison.contenders().next())
}

/// The result in one sentence.
pub fn sentence(comparison: &Comparison) -> String {
    if tpcc::is_tpcc(comparison) {
        return tpcc::sentence(comparison);
    }
    let tests = comparison.header.workload.tests.len();
    let Some(lead) = lead(comparison) else {
        return format!(
            "{tests} tests were measured on {}, without a base to compare with.",
            comparison.names()
        );
    };
    let name = &lead.profile.name;
    let base = lead.base.as_deref().unwrap_or_default();
    let wrong = lead.wrong_count();
    let (Some(wall), Some(cpu)) = (&lead.wall_mean, &lead.cpu_mean) else {
        return format!("{name} has no round in which it finished all tests.");
    };
    let mut text = format!(
        "Over the {tests} tests {name} took {} times as long as {base} ({}) and used {} times its \
         processor time ({})",
        times(wall.value),
        interval_words(wall),
        times(cpu.value),
        interval_words(cpu),
    );
    if wrong > 0 {
        text += &format!("; {wrong} of its answers are wrong and not counted");
    }
    text + "."
}

fn interval_words(ratio: &Ratio) -> String {
    match interval(ratio) {
        Some(interval) => format!("95 % interval {interval}"),
        None => "too few rounds for an interval".to_owned(),
    }
}

/// The same, for a headline: what a reader keeps.
pub fn headline(comparison: &Comparison) -> String {
    if tpcc::is_tpcc(comparison) {
        return tpcc::headline(comparison);
    }
    let Some((lead, ratio)) =
        lead(comparison).and_then(|lead| lead.wall_mean.as_ref().map(|ratio| (lead, ratio)))
    else {
        return "No ratio could be computed".to_owned();
    };
    let what = if lead.profile.cipher.is_some() {
        "Every page encrypted"
    } else {
        lead.profile.name.as_str()
    };
    let control = comparison
        .control()
        .and_then(|engine| engine.wall_mean.as_ref());
    let percent = (ratio.value - 1.0).abs() * 100.0;
    match verdict(ratio, control) {
        Verdict::Slower if ratio.value >= 2.0 => {
            format!("{what}, for {} times the time", times(ratio.value))
        }
        Verdict::Slower => format!("{what}, for {percent:.0} % more time"),
        Verdict::Faster => format!("{what}, in {percent:.0} % less time"),
        Verdict::Alike => format!("{what}, in no more time than the noise hides"),
        Verdict::Unknown => {
            format!(
                "{what}, for {} times the time, from few rounds",
                times(ratio.value)
            )
        }
    }
}

/// What a verdict is called in a table.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Alike => "no difference seen",
        Verdict::Unknown => "too few rounds",
    }
}

/// What a durability means, in words.
pub fn durability_words(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "waits for the disk",
        Durability::Delayed => "lets the disk follow within about a second",
        Durability::None => "does not wait for the disk",
    }
}

/// The same in a word, for the head of a column.
pub fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "synced",
        Durability::Delayed => "synced later",
        Durability::None => "not synced",
    }
}

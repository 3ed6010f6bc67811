//! The findings, in words.

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Durability;
use lab::statistics::{Ratio, Verdict};

use crate::format::{interval, times};
use crate::tpcc;

/// The contender in the headline: the first with a cipher that waits for the disk, or else the
/// first.
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
    if let Some(control) = comparison.control().filter(|_| comparison.is_too_busy()) {
        return busy_sentence(control);
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
    text += ".";
    if let Some((mapped, ratio)) = mapped(comparison, lead) {
        text += &format!(
            " {name} reads through a memory map; {} does too, without a cipher, and took {} times \
             as long as {base} ({}).",
            mapped.profile.name,
            times(ratio.value),
            interval_words(&ratio),
        );
    }
    text
}

/// Why no conclusion is drawn, and what to do.
fn busy_sentence(control: &EngineSummary) -> String {
    let words = |ratio: &Option<Ratio>| {
        ratio.as_ref().map_or_else(
            || "not measured".to_owned(),
            |ratio| format!("{} times ({})", times(ratio.value), interval_words(ratio)),
        )
    };
    format!(
        "{} against {}, the same engine: {} in wall time, {} in processor time. Something else \
         used the machine. Stop it, or take more rounds (`--repetitions`), and run the comparison \
         again.",
        control.profile.name,
        control.base.as_deref().unwrap_or_default(),
        words(&control.wall_mean),
        words(&control.cpu_mean),
    )
}

/// Stock SQLite with a memory map.
pub(crate) const MAPPED: &str = "sqlite-mmap";

/// The fair counterpart of our encrypted engines, which read through a memory map: stock SQLite
/// with a map, over the same base.
fn mapped<'a>(
    comparison: &'a Comparison,
    lead: &EngineSummary,
) -> Option<(&'a EngineSummary, Ratio)> {
    let mapped = comparison.engine(MAPPED)?;
    let is_like = lead.profile.cipher.is_some() && lead.profile.family == OURS;
    (is_like && mapped.base == lead.base).then_some((mapped, mapped.wall_mean?))
}

/// The family of this project's engines that encrypt files.
const OURS: &str = "strongroom";

fn interval_words(ratio: &Ratio) -> String {
    match interval(ratio) {
        Some(interval) => format!("95 % interval {interval}"),
        None => "too few rounds for an interval".to_owned(),
    }
}

/// The finding as a headline.
pub fn headline(comparison: &Comparison) -> String {
    if tpcc::is_tpcc(comparison) {
        return tpcc::headline(comparison);
    }
    if comparison.is_too_busy() {
        return "This machine was too busy to tell".to_owned();
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
    let words = |engine: &EngineSummary, ratio: &Ratio| {
        let verdict = comparison.verdict(engine, ratio, |engine| engine.wall_mean);
        time_words(ratio, verdict)
    };
    let mut text = format!("{what}, {}", words(lead, ratio));
    if let Some((mapped, ratio)) = mapped(comparison, lead) {
        text += &format!("; a plain file through a map, {}", words(mapped, &ratio));
    }
    text
}

fn time_words(ratio: &Ratio, verdict: Verdict) -> String {
    let percent = (ratio.value - 1.0).abs() * 100.0;
    match verdict {
        Verdict::Slower if ratio.value >= 2.0 => {
            format!("for {} times the time", times(ratio.value))
        }
        Verdict::Slower => format!("for {percent:.0} % more time"),
        Verdict::Faster => format!("in {percent:.0} % less time"),
        Verdict::Alike => "in no more time than the noise hides".to_owned(),
        Verdict::Unknown | Verdict::Busy => {
            format!("for {} times the time, from few rounds", times(ratio.value))
        }
    }
}

/// The word for a verdict in a table.
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Alike => "no difference seen",
        Verdict::Unknown => "too few rounds",
        Verdict::Busy => "the machine was too busy",
    }
}

/// A durability in words.
pub fn durability_words(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "waits for the disk",
        Durability::Delayed => "lets the disk follow within about a second",
        Durability::None => "does not wait for the disk",
    }
}

/// A durability in one word, for the heading of a column.
pub fn durability_word(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "synced",
        Durability::Delayed => "synced later",
        Durability::None => "not synced",
    }
}

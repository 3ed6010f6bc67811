//! The engines as bars, the fastest first. A script lets readers select engines and the measure of
//! the ranking.

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Durability;
use lab::statistics::Ratio;
use serde::Serialize;

use super::RatioText;
use crate::chart::percent;
use crate::finding::durability_words;
use crate::format::MISSING;

/// The bars, and what readers can select.
#[derive(Debug, Serialize)]
pub(super) struct Ranking {
    bars: Vec<Bar>,
    /// End of the bar of the base, per cent of the widest bar.
    one: String,
    /// Properties of engines, only those in which they differ.
    groups: Vec<Group>,
    /// Titles of the tests.
    tests: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    base: Option<String>,
    control: bool,
    /// Whether the engine has a card, whose colour the bar then has.
    card: bool,
    /// One value for each property.
    kinds: Vec<String>,
    ratio: Option<RatioText>,
    value: String,
    width: String,
    low: String,
    /// How wide the interval is.
    range: Option<String>,
}

/// One property of engines.
#[derive(Debug, Serialize)]
struct Group {
    title: &'static str,
    /// The CSS word of the bars, and the text for readers.
    kinds: Vec<(String, String)>,
}

impl Group {
    /// Runs of engines that do not differ in product have none.
    fn has_words(&self) -> bool {
        self.kinds.iter().all(|(_, text)| !text.is_empty())
    }
}

/// End of the widest bar, per cent; the rest is for the end mark of an interval.
const WIDEST: f64 = 99.0;

/// The value of a property for an engine: CSS word and text.
type Kind = fn(&EngineSummary) -> (String, String);

const GROUPS: [(&str, Kind); 3] = [
    ("Files", |engine| match engine.profile.cipher {
        Some(_) => ("encrypted".to_owned(), "encrypted".to_owned()),
        None => ("plain".to_owned(), "not encrypted".to_owned()),
    }),
    ("After a commit", |engine| {
        let durability = engine.profile.durability;
        let word = match durability {
            Durability::Full => "full",
            Durability::Delayed => "delayed",
            Durability::None => "none",
        };
        (word.to_owned(), durability_words(durability).to_owned())
    }),
    ("Product", |engine| {
        let family = &engine.profile.family;
        (format!("of-{family}"), family.clone())
    }),
];

/// `None` if no engine is compared with another.
pub(super) fn ranking(comparison: &Comparison, with_cards: &[&EngineSummary]) -> Option<Ranking> {
    comparison.contenders().next()?;
    let mut engines: Vec<(&EngineSummary, Option<Ratio>)> = comparison
        .engines
        .iter()
        .map(|engine| (engine, relative(engine)))
        .collect();
    let order = |ratio: &Option<Ratio>| ratio.map_or(f64::INFINITY, |ratio| ratio.value);
    engines.sort_by(|one, other| order(&one.1).total_cmp(&order(&other.1)));
    let ends = engines.iter().filter_map(|(_, ratio)| {
        let ratio = (*ratio)?;
        Some(ratio.interval.map_or(ratio.value, |(_, high)| high))
    });
    let widest = ends.fold(1.0, f64::max);
    let groups: Vec<(Group, Kind)> = GROUPS
        .iter()
        .map(|&(title, kind)| (group(title, kind, comparison), kind))
        .filter(|(group, _)| group.kinds.len() > 1 && group.has_words())
        .collect();
    let kinds: Vec<Kind> = groups.iter().map(|(_, kind)| *kind).collect();
    let bars = engines.iter().map(|(engine, ratio)| {
        let has_card = with_cards
            .iter()
            .any(|other| other.profile.name == engine.profile.name);
        let text = RatioText::of(comparison, engine, |engine| engine.wall_mean);
        bar(engine, *ratio, text, has_card, widest, &kinds)
    });
    Some(Ranking {
        bars: bars.collect(),
        one: percent(WIDEST / widest),
        groups: groups.into_iter().map(|(group, _)| group).collect(),
        tests: comparison.header.workload.tests.clone(),
    })
}

/// The headline's relative time; for an engine without a base, 1.
fn relative(engine: &EngineSummary) -> Option<Ratio> {
    let unity = Ratio {
        value: 1.0,
        interval: None,
        rounds: 0,
    };
    match engine.base {
        None => Some(unity),
        Some(_) => engine.wall_mean,
    }
}

fn group(title: &'static str, kind: Kind, comparison: &Comparison) -> Group {
    let mut kinds: Vec<(String, String)> = Vec::new();
    for engine in &comparison.engines {
        let one = kind(engine);
        if !kinds.contains(&one) {
            kinds.push(one);
        }
    }
    Group { title, kinds }
}

fn bar(
    engine: &EngineSummary,
    ratio: Option<Ratio>,
    text: Option<RatioText>,
    card: bool,
    widest: f64,
    kinds: &[Kind],
) -> Bar {
    let share = |value: f64| percent(value / widest * WIDEST);
    let value = match (&text, &engine.base) {
        (Some(text), _) => text.value.clone(),
        (None, None) => "1".to_owned(),
        (None, Some(_)) => MISSING.to_owned(),
    };
    let interval = ratio.and_then(|ratio| ratio.interval);
    Bar {
        name: engine.profile.name.clone(),
        base: engine.base.clone(),
        control: engine.profile.control,
        card,
        kinds: kinds.iter().map(|kind| kind(engine).0).collect(),
        value,
        ratio: text,
        width: share(ratio.map_or(0.0, |ratio| ratio.value)),
        low: share(interval.map_or(0.0, |(low, _)| low)),
        range: interval.map(|(low, high)| share(high - low)),
    }
}

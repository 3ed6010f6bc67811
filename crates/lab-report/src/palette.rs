//! Which engines a page puts first, and the colour of each: the same wherever the page names it.

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Durability;

use crate::finding::MAPPED;
use crate::tpcc;

/// How many colours the style sheet has.
const COLOURS: usize = 8;

/// The class of what is no contender: the reference engine and the control.
const GREY: &str = "noise";

/// The contenders of a page in the order of their colours.
#[derive(Debug, Clone)]
pub(crate) struct Palette {
    names: Vec<String>,
}

impl Palette {
    /// Those with a card come first, so that no two cards share a colour.
    pub(crate) fn of(comparisons: &[&Comparison]) -> Self {
        let mut names: Vec<String> = Vec::new();
        let with_cards = comparisons.iter().flat_map(|one| carded(one));
        let all = comparisons.iter().flat_map(|one| ordered(one));
        for engine in with_cards.chain(all) {
            let profile = &engine.profile;
            if !profile.control && !names.contains(&profile.name) {
                names.push(profile.name.clone());
            }
        }
        Self { names }
    }

    /// The place of an engine in the order of colours; the reference engine and the control have
    /// none.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The classes that colour an engine. When the colours have all been used once they come
    /// again, and marks are hollow.
    pub(crate) fn class(&self, name: &str) -> String {
        match self.place(name) {
            None => GREY.to_owned(),
            Some(place) if place < COLOURS => format!("s{place}"),
            Some(place) => format!("s{} again", place % COLOURS),
        }
    }

    /// Whether an engine shares its colour with one before it.
    pub(crate) fn is_again(&self, name: &str) -> bool {
        self.place(name).is_some_and(|place| place >= COLOURS)
    }
}

/// The engines that are compared with a base, the encrypted ones first; the control is not among
/// them.
pub(crate) fn ordered(comparison: &Comparison) -> Vec<&EngineSummary> {
    let encrypted = |engine: &&EngineSummary| engine.profile.cipher.is_some();
    let others = comparison.contenders().filter(|engine| !encrypted(engine));
    comparison
        .contenders()
        .filter(encrypted)
        .chain(others)
        .collect()
}

/// The engines in groups that a chart can show; encrypted ones and others do not mix.
pub(crate) fn groups(comparison: &Comparison) -> Vec<Vec<&EngineSummary>> {
    let ordered = ordered(comparison);
    let encrypted = ordered
        .iter()
        .take_while(|engine| engine.profile.cipher.is_some())
        .count();
    let (encrypted, others) = ordered.split_at(encrypted);
    [encrypted, others]
        .into_iter()
        .flat_map(|some| some.chunks(ENGINES_PER_CHART))
        .map(<[&EngineSummary]>::to_vec)
        .collect()
}

/// Most engines in a chart of all tests, the control left out.
const ENGINES_PER_CHART: usize = 4;

/// The engines that stand out: the encrypted ones, or all where none is, few enough to be seen at
/// once; then the control.
pub(crate) fn shown(comparison: &Comparison) -> Vec<&EngineSummary> {
    let groups = groups(comparison);
    let first = groups.into_iter().next().unwrap_or_default();
    first.into_iter().chain(comparison.control()).collect()
}

/// The engines with a card at the head of the page: those that stand out, the first of each other
/// product that encrypts and waits for the disk, and what is like for like with ours; of terminals
/// all, since those before a server and those in process are read against each other. Then the
/// control.
pub(crate) fn carded(comparison: &Comparison) -> Vec<&EngineSummary> {
    if tpcc::is_tpcc(comparison) {
        let all = comparison.contenders();
        return all.chain(comparison.control()).collect();
    }
    let mut carded = groups(comparison).into_iter().next().unwrap_or_default();
    for engine in ordered(comparison) {
        let profile = &engine.profile;
        let is_peer = profile.cipher.is_some()
            && profile.durability == Durability::Full
            && carded
                .iter()
                .all(|other| other.profile.family != profile.family);
        let is_new = carded
            .iter()
            .all(|other| other.profile.name != profile.name);
        if is_peer || (is_new && profile.name == MAPPED) {
            carded.push(engine);
        }
    }
    carded.into_iter().chain(comparison.control()).collect()
}

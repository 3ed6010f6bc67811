//! The order of the engines on a page, and the colour of each, the same everywhere on the page.

use lab::comparison::{Comparison, EngineSummary};
use lab::engine::Durability;

use crate::finding::MAPPED;
use crate::tpcc;

/// The number of colours in the style sheet.
const COLOURS: usize = 8;

/// The class of engines that are not contenders: the reference engine and the control.
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

    /// The index of an engine's colour; the reference engine and the control have none.
    pub(crate) fn index(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The CSS classes for an engine's colour. Once all colours are used they repeat, with hollow
    /// marks.
    pub(crate) fn class(&self, name: &str) -> String {
        match self.index(name) {
            None => GREY.to_owned(),
            Some(index) if index < COLOURS => format!("s{index}"),
            Some(index) => format!("s{} again", index % COLOURS),
        }
    }

    /// Whether an engine shares its colour with an earlier one.
    pub(crate) fn is_again(&self, name: &str) -> bool {
        self.index(name).is_some_and(|index| index >= COLOURS)
    }
}

/// The engines that are compared with a base, the encrypted ones first, without the control.
pub(crate) fn ordered(comparison: &Comparison) -> Vec<&EngineSummary> {
    let encrypted = |engine: &&EngineSummary| engine.profile.cipher.is_some();
    let others = comparison.contenders().filter(|engine| !encrypted(engine));
    comparison
        .contenders()
        .filter(encrypted)
        .chain(others)
        .collect()
}

/// The engines in groups of the size of a chart; encrypted ones and others are kept apart.
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

/// Maximum number of engines in a chart of all tests, without the control.
const ENGINES_PER_CHART: usize = 4;

/// The engines that are emphasised: the encrypted ones, or all if none is, up to a limit; then the
/// control.
pub(crate) fn shown(comparison: &Comparison) -> Vec<&EngineSummary> {
    let groups = groups(comparison);
    let first = groups.into_iter().next().unwrap_or_default();
    first.into_iter().chain(comparison.control()).collect()
}

/// The engines with a card at the top of the page: the emphasised ones, the first engine of each
/// other product that encrypts and waits for the disk, and the fair counterparts of ours. For
/// terminals all engines, since those before a server and those in process are compared with each
/// other. Then the control.
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

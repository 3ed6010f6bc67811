//! Domains: columns that refer to each other need one key.

use std::collections::BTreeMap;

use super::{Candidate, Place};

/// Bytes of a domain's name at most.
const NAME_BYTES_MAX: usize = 64;

/// Gives the columns of each group that foreign keys connect one domain, named after the column
/// that the others refer to.
pub(super) fn assign<'a>(
    references: impl Iterator<Item = &'a (Place, Place)>,
    candidates: &mut BTreeMap<Place, Candidate>,
) {
    let mut roots: BTreeMap<Place, Place> = BTreeMap::new();
    for (own, other) in references {
        if !candidates.contains_key(own) || !candidates.contains_key(other) {
            continue;
        }
        let (own, other) = (root(&roots, own), root(&roots, other));
        if own != other {
            roots.insert(own, other);
        }
    }
    let mut names: BTreeMap<String, Place> = BTreeMap::new();
    let places: Vec<Place> = candidates.keys().cloned().collect();
    for place in places {
        let end = root(&roots, &place);
        let is_alone = end == place && !roots.values().any(|other| *other == place);
        if is_alone {
            continue;
        }
        let name = free_name(&end, &mut names);
        if let Some(candidate) = candidates.get_mut(&place) {
            candidate.rule.domain = Some(name);
        }
    }
}

fn root(roots: &BTreeMap<Place, Place>, place: &Place) -> Place {
    let mut place = place;
    while let Some(next) = roots.get(place) {
        place = next;
    }
    place.clone()
}

/// A name that no other group has.
fn free_name(end: &Place, names: &mut BTreeMap<String, Place>) -> String {
    let plain = format!("{}_{}", end.0, end.1);
    let letters = plain.chars();
    let plain: String = letters
        .map(
            |letter| match letter.is_ascii_alphanumeric() || letter == '-' {
                true => letter,
                false => '_',
            },
        )
        .collect();
    let mut number = 1_u32;
    loop {
        let suffix = match number {
            1 => String::new(),
            number => format!("_{number}"),
        };
        let kept = plain.len().min(NAME_BYTES_MAX - suffix.len());
        let name = format!("{}{suffix}", &plain[..kept]);
        if names.entry(name.clone()).or_insert_with(|| end.clone()) == end {
            return name;
        }
        number += 1;
    }
}

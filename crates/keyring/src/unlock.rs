//! Unlocking a header: which slots are tried, in which order, within which limit on work.

use page_codec::header::{Header, Slot};

use crate::derivation::slot_key;
use crate::unlocked::{InheritedSlot, UnlockError, Unlocked, open_header};
use crate::work::{WorkLimit, times_for, work_of};
use crate::wrapping::open_slot;
use crate::{Credential, cache};

/// Slots with the same salt and cost, which one derivation tries together.
struct Group<'a> {
    work: u64,
    slots: Vec<(usize, &'a Slot)>,
}

/// The groups to try, the cheapest first.
struct Plan<'a> {
    groups: Vec<Group<'a>>,
    /// Total work, including the groups that are left out.
    work_total: u64,
    left_out: bool,
}

fn plan<'a>(slots: &[(usize, &'a Slot)], limit: WorkLimit) -> Plan<'a> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (index, slot) in slots {
        let same = |group: &&mut Group<'a>| {
            let first = group.slots[0].1;
            (first.kdf, first.salt) == (slot.kdf, slot.salt)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.slots.push((*index, slot)),
            None => groups.push(Group {
                work: work_of(slot.kdf),
                slots: vec![(*index, slot)],
            }),
        }
    }
    groups.sort_by_key(|group| group.work);
    let work_total = groups.iter().map(|group| group.work).sum();
    let mut work_left = limit.work();
    let tried = groups
        .iter()
        .take_while(|group| match work_left.checked_sub(group.work) {
            Some(left) => {
                work_left = left;
                true
            }
            None => false,
        })
        .count();
    let left_out = tried < groups.len();
    groups.truncate(tried);
    Plan {
        groups,
        work_total,
        left_out,
    }
}

/// Unlocks a header within the default limit on work.
///
/// # Errors
///
/// An [`UnlockError`] that says what to do.
pub fn unlock(header: &Header, credential: &Credential) -> Result<Unlocked, UnlockError> {
    unlock_within(header, credential, WorkLimit::DEFAULT)
}

/// Unlocks a header within a limit on work.
///
/// # Errors
///
/// As for [`unlock`]; [`UnlockError::TooMuchWork`] if slots were left out because of the limit.
pub fn unlock_within(
    header: &Header,
    credential: &Credential,
    limit: WorkLimit,
) -> Result<Unlocked, UnlockError> {
    let lease = cache::Lease::new(header.file_id);
    let slots: Vec<(usize, &Slot)> = header
        .slots
        .iter()
        .enumerate()
        .filter_map(|(index, slot)| Some((index, slot.as_ref()?)))
        .filter(|(_, slot)| credential.fits(slot.kind))
        .collect();
    if slots.is_empty() {
        return Err(UnlockError::NoSlotOfKind(credential.slot_kind().name()));
    }
    let fingerprint = match credential {
        Credential::Passphrase(_) => Some(cache::fingerprint(credential)?),
        // Deriving a slot key from a raw key is cheaper than caching it.
        Credential::RawKey(_) | Credential::KeyFile(_) => None,
    };
    for (index, slot) in &slots {
        let recalled = fingerprint
            .as_ref()
            .and_then(|print| cache::recall(&header.file_id, *index, &slot.salt, print));
        if let Some(kek) = recalled
            && let Some(master) = open_slot(header, *index, slot, &kek)
        {
            return open_header(header, master, *index, kek, lease);
        }
    }
    let plan = plan(&slots, limit);
    for group in &plan.groups {
        let first = group.slots[0].1;
        let kek = slot_key(credential, first.kdf, &first.salt)?;
        for (index, slot) in &group.slots {
            let Some(master) = open_slot(header, *index, slot, &kek) else {
                continue;
            };
            if let Some(print) = &fingerprint {
                cache::remember(&header.file_id, *index, &slot.salt, print, &kek);
            }
            return open_header(header, master, *index, kek, lease);
        }
    }
    if plan.left_out {
        return Err(UnlockError::TooMuchWork {
            wanted: times_for(plan.work_total),
            limit: limit.times(),
        });
    }
    Err(UnlockError::WrongKey)
}

/// Unlocks a header with the slot key of another file (see [`Unlocked::inherited`]).
pub fn unlock_inherited(header: &Header, inherited: &InheritedSlot) -> Option<Unlocked> {
    let lease = cache::Lease::new(header.file_id);
    let (index, master) = header.slots.iter().enumerate().find_map(|(index, slot)| {
        let slot = slot.as_ref().filter(|slot| slot.salt == inherited.salt)?;
        Some((index, open_slot(header, index, slot, &inherited.kek)?))
    })?;
    open_header(header, master, index, inherited.kek.duplicate(), lease).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slots::{add, create, remove, replace};
    use crypto::cipher::Cipher;
    use crypto::kdf::Argon2idParameters;
    use page_codec::header::{SLOT_COUNT, SlotKind};

    const DEFAULT: Argon2idParameters = Argon2idParameters::DEFAULT;

    fn passphrase(number: usize) -> Credential {
        Credential::passphrase(format!("passphrase {number}"))
    }

    /// A file with one raw key, whose other seven slots an attacker has filled.
    fn hostile(cost: impl Fn(usize) -> Argon2idParameters) -> Header {
        let raw = Credential::raw_key(crypto::secret::Key::from_bytes([1; 32]));
        let (mut header, _) = create(Cipher::Aegis256X2, 4096, &raw).expect("creates");
        for (number, place) in header.slots.iter_mut().enumerate() {
            *place = Some(Slot {
                kind: SlotKind::Passphrase,
                kdf: Some(cost(number)),
                salt: [number as u8; 16],
                nonce: [0; 24],
                wrapped: [0; 48],
            });
        }
        header
    }

    fn planned(header: &Header) -> (Vec<usize>, u64, bool) {
        let slots: Vec<(usize, &Slot)> = header.slots.iter().flatten().enumerate().collect();
        let plan = plan(&slots, WorkLimit::DEFAULT);
        let tried = plan.groups.iter().flat_map(|group| &group.slots);
        (
            tried.map(|(index, _)| *index).collect(),
            plan.groups.iter().map(|group| group.work).sum(),
            plan.left_out,
        )
    }

    #[test]
    fn a_hostile_header_costs_at_most_four_derivations_at_the_default_cost() {
        let gibibyte = Argon2idParameters {
            memory_kib: 1 << 20,
            ..DEFAULT
        };
        let passes = Argon2idParameters {
            passes: 64,
            ..DEFAULT
        };
        for (header, tried) in [
            (hostile(|_| Argon2idParameters::CEILING), vec![]),
            (hostile(|_| gibibyte), vec![]),
            (hostile(|_| passes), vec![]),
            (hostile(|_| DEFAULT), vec![0, 1, 2, 3]),
            // The genuine slot is found behind the others.
            (
                hostile(|number| if number < 7 { gibibyte } else { DEFAULT }),
                vec![7],
            ),
        ] {
            let (planned, work, left_out) = planned(&header);
            assert_eq!((planned, left_out), (tried, true));
            assert!(work <= 4 * work_of(Some(DEFAULT)));
        }
        let header = hostile(|_| gibibyte);
        let Err(error) = unlock(&header, &passphrase(0)) else {
            panic!("nobody has this key");
        };
        // Eight slots at 16 times the default.
        assert!(error.to_string().contains("--unlock-work 128"), "{error}");
    }

    #[test]
    fn work_that_was_asked_for_is_done() {
        let costly = Argon2idParameters {
            memory_kib: Argon2idParameters::FLOOR.memory_kib,
            passes: 64,
            lanes: 1,
        };
        let header = hostile(|_| costly);
        let slots: Vec<(usize, &Slot)> = header.slots.iter().flatten().enumerate().collect();
        let wanted = times_for(8 * work_of(Some(costly)));
        let limit = WorkLimit::parse(&wanted.to_string()).expect("a limit");
        assert!(!plan(&slots, limit).left_out);
        let less = WorkLimit::parse(&(wanted - 1).to_string()).expect("a limit");
        assert!(plan(&slots, less).left_out);
        for text in ["0", "-1", "", "x", "20001", "4.5"] {
            assert!(WorkLimit::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn all_passphrases_that_we_add_open_within_the_default_work() {
        let (mut header, mut unlocked) =
            create(Cipher::Aegis256X2, 4096, &passphrase(0)).expect("creates");
        for number in 1..SLOT_COUNT {
            add(&mut header, &unlocked, &passphrase(number)).expect("adds");
        }
        let (tried, work, left_out) = planned(&header);
        assert_eq!((tried.len(), left_out), (SLOT_COUNT, false));
        assert!(work <= WorkLimit::DEFAULT.work());
        for number in [0, SLOT_COUNT - 1] {
            let opened = unlock(&header, &passphrase(number)).expect("opens");
            assert_eq!(opened.slot(), number);
        }
        // A replaced or re-added slot is no exception.
        replace(&mut header, &mut unlocked, &passphrase(10)).expect("replaces");
        remove(&mut header, &unlocked, 3).expect("removes");
        add(&mut header, &unlocked, &passphrase(13)).expect("adds");
        assert!(!planned(&header).2);
        for number in [10, 13] {
            unlock(&header, &passphrase(number)).expect("opens");
        }
        assert!(matches!(
            unlock(&header, &passphrase(0)),
            Err(UnlockError::WrongKey)
        ));
    }

    #[test]
    fn the_slot_of_another_file_is_found_among_those_of_its_salt() {
        let (mut header, unlocked) =
            create(Cipher::Aegis256X2, 4096, &passphrase(0)).expect("creates");
        add(&mut header, &unlocked, &passphrase(1)).expect("adds");
        let second = unlock(&header, &passphrase(1)).expect("opens");
        let inherited = second.inherited(&header).expect("is in its slot");
        let opened = unlock_inherited(&header, &inherited).expect("opens");
        assert_eq!(opened.slot(), 1);
    }
}

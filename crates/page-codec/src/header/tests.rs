//! The header: round trips, damage, generations, refusals.

use super::*;

pub(crate) fn sample(generation: u64) -> Header {
    let slot = Slot {
        kind: SlotKind::Passphrase,
        kdf: Some(Argon2idParameters::DEFAULT),
        salt: [1; 16],
        nonce: [2; 24],
        wrapped: [3; 48],
    };
    let mut slots = [const { None }; SLOT_COUNT];
    slots[2] = Some(slot);
    Header {
        page_size: 4096,
        cipher: Cipher::Aegis256,
        must_understand: 0,
        may_ignore: UNFINISHED,
        current_epoch: 1,
        generation,
        file_id: [7; 16],
        epochs: [
            Some(EpochEntry {
                epoch: 1,
                nonce: [8; 24],
                wrapped: [9; 48],
                versioned: false,
            }),
            None,
        ],
        slots,
        tag: [4; 32],
    }
}

#[test]
fn layouts_are_contiguous_and_complete() {
    let sizes = [
        COPY_SIZE,
        SLOT_SIZE,
        EPOCH_SIZE,
        crate::page::TRAILER_SIZE,
        24,
    ];
    for ((name, fields), size) in crate::LAYOUTS.iter().zip(sizes) {
        let mut next = 0;
        for (offset, length, field) in *fields {
            assert_eq!(*offset, next, "{name}: {field}");
            next += length;
        }
        assert_eq!(next, size, "{name}");
    }
}

#[test]
fn survives_the_round_trip() {
    let header = sample(3);
    let region = HeaderRegion::parse(&HeaderRegion::to_bytes(&header)).expect("intact");
    assert_eq!(region.header, header);
    assert_eq!(region.intact, [true, true]);
}

/// sqlite.org/fileformat2.html 1.3: the page size is at offset 16, big-endian.
#[test]
fn stock_sqlite_finds_another_page_size() {
    let mut header = sample(3);
    for shift in 9..=16 {
        header.page_size = 1 << shift;
        let copy = header.to_copy();
        let found = u32::from(u16::from_be_bytes([copy[16], copy[17]]));
        assert!(is_page_size(found), "{found}");
        assert_ne!(found, header.page_size);
        assert_eq!(Header::from_copy(&copy).expect("intact"), header);
    }
}

#[test]
fn regions_say_the_same_up_to_their_zeros() {
    let one = HeaderRegion::to_bytes(&sample(3));
    assert!(HeaderRegion::says_the_same(&one, &one.clone()));
    assert!(!HeaderRegion::says_the_same(&one, &one[..COPY_SIZE]));
    assert!(!HeaderRegion::says_the_same(&[], &one));
    for copy in [0, COPY_SIZE] {
        for &(field, size, _) in COPY_FIELDS {
            for offset in [field, field + size - 1] {
                let mut other = one.clone();
                other[copy + offset] ^= 1;
                let is_zero = (OFFSET_ZERO_2..OFFSET_TAG).contains(&offset);
                let same = HeaderRegion::says_the_same(&one, &other);
                assert_eq!(same, is_zero, "{offset} of the copy at {copy}");
            }
        }
    }
}

#[test]
fn any_damaged_byte_of_one_copy_leaves_the_other_in_force() {
    let header = sample(3);
    let good = HeaderRegion::to_bytes(&header);
    for offset in 0..REGION_SIZE {
        let mut bytes = good.clone();
        bytes[offset] ^= 0x40;
        let region = HeaderRegion::parse(&bytes).expect("one copy is intact");
        assert_eq!(region.header, header);
        assert_eq!(
            region.intact.iter().filter(|intact| **intact).count(),
            1,
            "{offset}"
        );
    }
}

#[test]
fn the_higher_generation_is_in_force() {
    let (old, new) = (sample(3), sample(4));
    for (bytes, expected) in [
        ([old.to_copy(), new.to_copy()].concat(), 1),
        ([new.to_copy(), old.to_copy()].concat(), 0),
    ] {
        let region = HeaderRegion::parse(&bytes).expect("intact");
        assert_eq!(
            (region.header.generation, region.copy_in_force),
            (4, expected)
        );
    }
}

#[test]
fn a_change_that_reached_one_copy_is_told_from_the_end_of_a_creation() {
    let is_half_changed = |other: &Header| {
        let bytes = [sample(3).to_copy(), other.to_copy()].concat();
        let region = HeaderRegion::parse(&bytes).expect("intact");
        region.is_half_changed
    };
    let mut finished = sample(4);
    finished.may_ignore = 0;
    finished.tag = [5; 32];
    assert!(!is_half_changed(&sample(3)));
    assert!(!is_half_changed(&finished));
    let mut other_slot = finished.clone();
    other_slot.slots[3] = other_slot.slots[2].clone();
    assert!(is_half_changed(&other_slot));
    let mut other_epoch = finished;
    other_epoch.current_epoch = 2;
    assert!(is_half_changed(&other_epoch));
}

#[test]
fn every_byte_before_the_tag_is_covered_by_it() {
    let good = sample(3).to_copy();
    for offset in 0..OFFSET_TAG {
        let mut copy = good.clone();
        copy[offset] ^= 1;
        let checksum = crypto::mac::checksum(&copy[..OFFSET_CHECKSUM]);
        copy[OFFSET_CHECKSUM..].copy_from_slice(&checksum);
        if let Ok(header) = Header::from_copy(&copy) {
            assert_eq!(header.authenticated_bytes(), copy[..OFFSET_TAG], "{offset}");
            assert_ne!(header.authenticated_bytes(), good[..OFFSET_TAG], "{offset}");
        }
    }
}

#[test]
fn four_conditions_are_four_errors() {
    let mut plain = vec![0; REGION_SIZE];
    plain[..16].copy_from_slice(&PLAIN_SQLITE_MAGIC);
    assert_eq!(
        HeaderRegion::parse(&plain).unwrap_err(),
        HeaderError::PlainSqlite
    );
    assert_eq!(
        HeaderRegion::parse(&[b'x'; REGION_SIZE]).unwrap_err(),
        HeaderError::NotStrongroom
    );
    let mut damaged = HeaderRegion::to_bytes(&sample(1));
    damaged[100] ^= 1;
    damaged[COPY_SIZE + 100] ^= 1;
    assert_eq!(
        HeaderRegion::parse(&damaged).unwrap_err(),
        HeaderError::Damaged
    );
    let mut newer = sample(1).to_copy();
    newer[OFFSET_VERSION] = 2;
    let checksum = crypto::mac::checksum(&newer[..OFFSET_CHECKSUM]);
    newer[OFFSET_CHECKSUM..].copy_from_slice(&checksum);
    newer.extend_from_within(..);
    assert_eq!(
        HeaderRegion::parse(&newer).unwrap_err(),
        HeaderError::NewerVersion(2)
    );
    let mut unknown = sample(1);
    unknown.must_understand = 2;
    assert_eq!(
        HeaderRegion::parse(&HeaderRegion::to_bytes(&unknown)).unwrap_err(),
        HeaderError::UnknownFeatures(2)
    );
}

#[test]
fn a_slot_may_not_ask_for_unbounded_work() {
    let mut greedy = sample(1);
    let slot = greedy.slots[2].as_mut().expect("filled");
    slot.kdf = Some(Argon2idParameters {
        memory_kib: u32::MAX,
        passes: 1,
        lanes: 1,
    });
    assert_eq!(
        HeaderRegion::parse(&HeaderRegion::to_bytes(&greedy)).unwrap_err(),
        HeaderError::DerivationCost
    );
}

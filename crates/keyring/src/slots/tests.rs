//! Key slots: which secret opens which slot, and how changes affect that.

use super::*;

fn raw(byte: u8) -> Credential {
    Credential::raw_key(Key::from_bytes([byte; 32]))
}

fn new_file() -> (Header, Unlocked) {
    create(Cipher::Aegis256X2, 4096, &raw(1)).expect("creates")
}

#[test]
fn each_slot_opens_with_its_own_secret_only() {
    let (mut header, unlocked) = new_file();
    let passphrase = Credential::passphrase("correct horse");
    assert_eq!(add(&mut header, &unlocked, &passphrase).expect("adds"), 1);
    assert_eq!(unlock(&header, &passphrase).expect("opens").slot(), 1);
    assert_eq!(unlock(&header, &raw(1)).expect("opens").slot(), 0);
    assert!(matches!(
        unlock(&header, &raw(2)),
        Err(UnlockError::WrongKey)
    ));
    assert!(matches!(
        unlock(&header, &Credential::passphrase("wrong")),
        Err(UnlockError::WrongKey)
    ));
}

#[test]
fn a_slot_is_removed_only_by_a_key_that_still_opens_the_file() {
    let (mut header, unlocked) = new_file();
    add(&mut header, &unlocked, &raw(2)).expect("adds");
    for (slot, key) in [(0, 1), (0, 3), (1, 2)] {
        let mut left = header.clone();
        let refused = remove_by(&mut left, &unlocked, slot, &raw(key));
        let wrong = SlotError::Unlock(UnlockError::WrongKey).to_string();
        assert_eq!(refused.expect_err("locked out").to_string(), wrong);
    }
    remove_by(&mut header, &unlocked, 0, &raw(2)).expect("removes");
    assert_eq!(unlock(&header, &raw(2)).expect("opens").slot(), 1);
}

#[test]
fn a_replaced_or_removed_secret_opens_nothing() {
    let (mut header, mut unlocked) = new_file();
    replace(&mut header, &mut unlocked, &raw(2)).expect("replaces");
    assert!(matches!(
        unlock(&header, &raw(1)),
        Err(UnlockError::WrongKey)
    ));
    let second = add(&mut header, &unlocked, &raw(3)).expect("adds");
    remove(&mut header, &unlocked, 0).expect("removes");
    assert!(matches!(
        unlock(&header, &raw(2)),
        Err(UnlockError::WrongKey)
    ));
    assert_eq!(unlock(&header, &raw(3)).expect("opens").slot(), second);
    assert!(matches!(
        remove(&mut header, &unlocked, second),
        Err(SlotError::Last(_))
    ));
    assert!(matches!(
        remove(&mut header, &unlocked, 0),
        Err(SlotError::Empty(0))
    ));
}

#[test]
fn slots_run_out_with_an_error() {
    let (mut header, unlocked) = new_file();
    for byte in 2..=SLOT_COUNT as u8 {
        add(&mut header, &unlocked, &raw(byte)).expect("adds");
    }
    assert!(matches!(
        add(&mut header, &unlocked, &raw(99)),
        Err(SlotError::Full)
    ));
}

#[test]
fn an_altered_header_is_distinguished_from_a_wrong_key() {
    let (mut header, _unlocked) = new_file();
    header.cipher = Cipher::Aes256Gcm;
    assert!(matches!(
        unlock(&header, &raw(1)),
        Err(UnlockError::HeaderAltered)
    ));
}

#[test]
fn a_slot_does_not_open_in_another_file() {
    let ((one, _), (mut other, _)) = (new_file(), new_file());
    other.slots = one.slots.clone();
    assert!(matches!(
        unlock(&other, &raw(1)),
        Err(UnlockError::WrongKey)
    ));
}

#[test]
fn derived_keys_are_cached_while_the_file_is_open_and_then_forgotten() {
    let passphrase = Credential::passphrase("cached");
    let (header, unlocked) = create(Cipher::Aegis256, 4096, &passphrase).expect("creates");
    let print = cache::fingerprint(&passphrase).expect("entropy");
    let salt = header.slots[0].as_ref().expect("filled").salt;
    let recall = || cache::recall(&header.file_id, 0, &salt, &print);
    assert!(recall().is_none(), "creating remembers nothing by itself");
    let second = unlock(&header, &passphrase).expect("opens");
    assert!(recall().is_some());
    drop(unlocked);
    assert!(recall().is_some(), "one user is left");
    drop(second);
    assert!(recall().is_none(), "the last user wipes it");
}

#[test]
fn another_file_may_inherit_the_slot() {
    let (header, unlocked) = new_file();
    let inherited = unlocked.inherited(&header).expect("open slot");
    let (copy, _) = create_with(Cipher::Aegis256, 512, inherited).expect("creates");
    assert_ne!(copy.file_id, header.file_id);
    unlock(&copy, &raw(1)).expect("the same secret opens both");
}

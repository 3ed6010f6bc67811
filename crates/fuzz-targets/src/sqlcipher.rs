//! Pages in SQLCipher's form: under any parameters, as they come and with HMACs put right.

use hmac::digest::block_api::EagerHash;
use hmac::{Hmac, KeyInit, Mac};
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use sqlcipher_format::detect::{Candidate, detect};
use sqlcipher_format::key::{PageKeys, SourceKey, parse_salt};
use sqlcipher_format::page::{PageError, PageOpener};
use sqlcipher_format::parameters::{Algorithm, Parameters};

use crate::input::Input;
use crate::sealed::user_key;

const SALT: [u8; 16] = [0x44; 16];
/// Initialisation vector, before the HMAC.
const IV_SIZE: usize = 16;

/// Takes parameters and pages.
pub fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let algorithms = [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512];
    let how = input.byte();
    let parameters = Parameters {
        page_size: 512 << (how % 9),
        kdf_iterations: u32::from(how >> 7),
        kdf_algorithm: input.one_of(&algorithms),
        hmac_algorithm: (how & 0x10 == 0).then(|| input.one_of(&algorithms)),
        plaintext_header_size: u32::from(input.byte()),
    };
    if parameters.check().is_err() {
        return;
    }
    let number = 1 + u32::from(input.byte() % 4);
    let size = parameters.page_size as usize;
    let mut page = vec![0; size];
    for _ in 0..4 {
        input.patch(&mut page);
    }
    let key = SourceKey::Raw {
        key: user_key(),
        salt: Some(SALT),
    };
    let opener = PageOpener::new(parameters, &PageKeys::derive(&key, &SALT, &parameters));
    opens_only_with_its_hmac(&opener, number, &page);
    let text = input.rest();
    let candidate = Candidate {
        version: 4,
        parameters,
        page_size_known: how & 0x20 != 0,
    };
    let _ = detect(&key, None, &[candidate], &page);
    let _ = parse_salt(&String::from_utf8_lossy(text));
    if text.first() == Some(&b'x') {
        let _ = SourceKey::from_pragma(crypto::secret::SecretBytes::new(text.to_vec())).salt();
    }
}

fn opens_only_with_its_hmac(opener: &PageOpener, number: u32, page: &[u8]) {
    let parameters = *opener.parameters();
    let mut plain = vec![1; page.len()];
    let opened = opener.open_page(number, page, &mut plain);
    let Some(algorithm) = parameters.hmac_algorithm else {
        // Without an HMAC, all that can be wrong is the header of page 1.
        let expected = number != 1 || opened == Err(PageError::NotAHeader);
        assert!(expected || opened.is_ok());
        return;
    };
    assert!(opened.is_err(), "a page opens without its HMAC");
    assert!(plain.iter().all(|byte| *byte == 0), "no plaintext is left");
    let mut owned = page.to_vec();
    let begin = match (number, parameters.plaintext_header_size) {
        (1, 0) => SALT.len(),
        (1, size) => size as usize,
        _ => 0,
    };
    let end = page.len() - parameters.reserve() + IV_SIZE;
    let tag = tag(
        parameters.kdf_algorithm,
        algorithm,
        &owned[begin..end],
        number,
    );
    owned[end..end + tag.len()].copy_from_slice(&tag);
    let opened = opener.open_page(number, &owned, &mut plain);
    let is_page_one = number == 1 && opened == Err(PageError::NotAHeader);
    assert!(opened.is_ok() || is_page_one, "{opened:?}");
    let elsewhere = opener.open_page(number + 1, &owned, &mut plain);
    assert!(elsewhere.is_err(), "a page opens in another place");
    owned[begin] ^= 1;
    let altered = opener.open_page(number, &owned, &mut plain);
    assert_eq!(altered, Err(PageError::NotAuthentic));
}

fn tag(kdf: Algorithm, hmac: Algorithm, covered: &[u8], number: u32) -> Vec<u8> {
    let salt = SALT.map(|byte| byte ^ 0x3a);
    let mut key = [0; 32];
    let secret = user_key();
    let secret = secret.expose();
    match kdf {
        Algorithm::Sha1 => pbkdf2_hmac::<Sha1>(secret, &salt, 2, &mut key),
        Algorithm::Sha256 => pbkdf2_hmac::<Sha256>(secret, &salt, 2, &mut key),
        Algorithm::Sha512 => pbkdf2_hmac::<Sha512>(secret, &salt, 2, &mut key),
    }
    match hmac {
        Algorithm::Sha1 => authenticate::<Sha1>(&key, covered, number),
        Algorithm::Sha256 => authenticate::<Sha256>(&key, covered, number),
        Algorithm::Sha512 => authenticate::<Sha512>(&key, covered, number),
    }
}

fn authenticate<D: EagerHash>(key: &[u8], covered: &[u8], number: u32) -> Vec<u8>
where
    Hmac<D>: Mac + KeyInit,
{
    let mut mac = <Hmac<D> as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(covered);
    mac.update(&number.to_le_bytes());
    mac.finalize().into_bytes().to_vec()
}

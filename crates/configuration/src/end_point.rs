//! `tls-server-end-point` (RFC 5929, section 4): what a login is bound to is the hash of the
//! certificate, by the hash function of its signature.

use sha2::{Digest, Sha256, Sha384, Sha512};

/// Object identifiers of signatures, with the hash that binding takes.
const SIGNATURES: &[(&[u8], Hash)] = &[
    // RFC 8017, A.2.4: md5, sha1, sha256, sha384, sha512 with RSA. The first two are replaced.
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512),
    // RFC 3279, 2.2.3, and RFC 5758, 3.2: ECDSA with sha1, sha256, sha384, sha512.
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),
];

#[derive(Clone, Copy)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// What a login over TLS with this certificate (DER) is bound to. None: its signature has no hash
/// function of its own (Ed25519), or one that is not listed (RSASSA-PSS).
pub fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    const SEQUENCE: u8 = 0x30;
    const OBJECT_IDENTIFIER: u8 = 0x06;

    // RFC 5280, 4.1: Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm, … }
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (_, behind) = element(whole, SEQUENCE)?;
    let (algorithm, _) = element(behind, SEQUENCE)?;
    let (identifier, _) = element(algorithm, OBJECT_IDENTIFIER)?;
    let (_, hash) = SIGNATURES.iter().find(|(known, _)| *known == identifier)?;
    Some(match hash {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// Content of the element that the bytes begin with, and what is behind it (X.690, 8.1).
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, first], rest) = bytes.split_first_chunk::<2>()?;
    if found != tag {
        return None;
    }
    let (size, rest) = match first {
        0x00..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (size, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let size = size
                .iter()
                .fold(0, |size, &byte| size << 8 | usize::from(byte));
            (size, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(identifier: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| {
            let size = u8::try_from(content.len()).expect("small");
            [&[tag, size][..], content].concat()
        };
        let algorithm = wrap(0x30, &wrap(0x06, identifier));
        wrap(0x30, &[wrap(0x30, b"to be signed"), algorithm].concat())
    }

    #[test]
    fn the_hash_is_that_of_the_signature() {
        let sizes = [32, 32, 32, 48, 64, 32, 32, 48, 64];
        for ((identifier, _), size) in SIGNATURES.iter().zip(sizes) {
            let bytes = certificate(identifier);
            assert_eq!(end_point(&bytes).map(|hash| hash.len()), Some(size));
        }
        // Ed25519, RFC 8410
        assert_eq!(end_point(&certificate(b"\x2b\x65\x70")), None);
    }

    #[test]
    fn bytes_that_are_no_certificate_have_no_end_point() {
        let whole = certificate(SIGNATURES[0].0);
        for size in 0..whole.len() {
            assert_eq!(end_point(&whole[..size]), None);
        }
        assert_eq!(end_point(b"\x30\x85\x01\x01\x01\x01\x01"), None);
        assert_eq!(end_point(b"\x30\x84\xff\xff\xff\xff"), None);
    }
}

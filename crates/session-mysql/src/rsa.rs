//! A password for a server that is reached without TLS: encrypted with the server's own key.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject as _;
use wire_mysql::greeting::NONCE_SIZE;
use zeroize::Zeroizing;

/// The server's key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongKey;

/// Encrypts a password with its zero byte as both methods of MySQL want it: each byte XOR one of
/// the nonce, then RSAES-OAEP with SHA-1. `pem` is the server's key.
pub(crate) fn encrypt(
    pem: &[u8],
    password: &[u8],
    nonce: &[u8; NONCE_SIZE],
) -> Result<Vec<u8>, WrongKey> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).map_err(|_| WrongKey)?;
    let key = PublicEncryptingKey::from_der(&der).map_err(|_| WrongKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| WrongKey)?;
    let mixed = password.iter().zip(nonce.iter().cycle());
    let mixed: Vec<u8> = mixed.map(|(byte, noise)| byte ^ noise).collect();
    let mixed = Zeroizing::new(mixed);
    let mut sealed = vec![0; key.ciphertext_size()];
    let sealed = key.encrypt(&OAEP_SHA1_MGF1SHA1, &mixed, &mut sealed, None);
    sealed.map(|sealed| sealed.to_vec()).map_err(|_| WrongKey)
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::rsa::{KeySize, OaepPrivateDecryptingKey, PrivateDecryptingKey};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const NONCE: [u8; NONCE_SIZE] = *b"abcdefghijklmnopqrst";

    #[test]
    fn the_server_gets_the_password_back() {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).expect("a key");
        let public = private.public_key().as_der().expect("its public half");
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(public.as_ref())
        );
        let password = b"a password of more bytes than the nonce\0";
        let sealed = encrypt(pem.as_bytes(), password, &NONCE).expect("it is encrypted");
        let private = OaepPrivateDecryptingKey::new(private).expect("the same key");
        let mut opened = vec![0; private.min_output_size()];
        let opened = private.decrypt(&OAEP_SHA1_MGF1SHA1, &sealed, &mut opened, None);
        let mixed = opened.expect("it opens").to_vec();
        let opened = mixed.iter().zip(NONCE.iter().cycle());
        assert!(opened.map(|(a, b)| a ^ b).eq(password.iter().copied()));
        // What does not fit under the key is no reason to say it otherwise.
        let long = encrypt(pem.as_bytes(), &[b'x'; 300], &NONCE);
        assert_eq!(long, Err(WrongKey));
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for pem in [
            "",
            "no key",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\n****\n-----END PUBLIC KEY-----\n",
        ] {
            assert_eq!(
                encrypt(pem.as_bytes(), b"x\0", &NONCE),
                Err(WrongKey),
                "{pem}"
            );
        }
    }
}

//! Ciphers of processors: C and assembly with their AES and vector instructions.

pub(super) mod extended;
pub(super) mod gcm;

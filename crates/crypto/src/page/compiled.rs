//! Cipher implementations for native targets: C and assembly with the processor's AES and vector
//! instructions.

pub(super) mod extended;
pub(super) mod gcm;

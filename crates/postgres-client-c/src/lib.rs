//! Entry point of confidential columns in process, for programs in any language: C functions, which
//! `include/strongroom_client.h` declares and describes.
//!
//! Invariants:
//! 1. No pointer of the caller outlives the call that it came by.
//! 2. No panic crosses the boundary: each function catches it and answers with a code.
//! 3. A client is a number. One that is unknown, closed, or of the process that this one was forked
//!    from is answered with a code; nothing is reached through it.
//! 4. Signals are the business of the program ([`client`]).
#![expect(unsafe_code, reason = "the functions of a C library")]

mod client;
mod clients;
mod error;
mod service;
mod socket;
mod threads;
mod worker;

use std::ffi::{CStr, c_char};
use std::os::fd::IntoRawFd;
use std::panic::{AssertUnwindSafe, catch_unwind};

use error::{Code, Error};

/// `STRONGROOM_CLIENT_ABI_VERSION`
const ABI_VERSION: u32 = 1;

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn strongroom_client_abi_version() -> u32 {
    ABI_VERSION
}

/// See the header.
///
/// # Safety
/// `configuration` must end with a zero byte, as must `server` unless it is null; `client` must be
/// writable. `message` must have room for `message_size` bytes, or be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_client_open(
    configuration: *const c_char,
    server: *const c_char,
    client: *mut u64,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let result = caught(|| {
        // SAFETY: by contract.
        let configuration = unsafe { text("configuration", configuration) }?;
        let configuration = configuration.ok_or(Error::Null("configuration"))?;
        // SAFETY: by contract.
        let server = unsafe { text("server", server) }?;
        // SAFETY: by contract; null is looked for.
        let client = unsafe { client.as_mut() }.ok_or(Error::Null("client"))?;
        *client = clients::open(configuration.as_ref(), server)?;
        Ok(())
    });
    // SAFETY: by contract.
    unsafe { answer(result, message, message_size) }
}

/// See the header.
///
/// # Safety
/// `descriptor` must be writable. `message` must have room for `message_size` bytes, or be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_client_connect(
    client: u64,
    descriptor: *mut i32,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let result = caught(|| {
        // SAFETY: by contract; null is looked for.
        let descriptor = unsafe { descriptor.as_mut() }.ok_or(Error::Null("descriptor"))?;
        *descriptor = clients::find(client)?.connect()?.into_raw_fd();
        Ok(())
    });
    // SAFETY: by contract.
    unsafe { answer(result, message, message_size) }
}

/// See the header.
///
/// # Safety
/// `folder` must have room for `folder_size` bytes. `message` must have room for `message_size`
/// bytes, or be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_client_listen(
    client: u64,
    folder: *mut c_char,
    folder_size: usize,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let result = caught(|| {
        if folder.is_null() {
            return Err(Error::Null("folder"));
        }
        let path = clients::find(client)?.listen()?;
        let path = path.to_str().ok_or(Error::Text("the temporary folder"))?;
        if path.len() >= folder_size {
            return Err(Error::Room(path.len() + 1));
        }
        // SAFETY: by contract; it is not null.
        unsafe { write(path, folder, folder_size) };
        Ok(())
    });
    // SAFETY: by contract.
    unsafe { answer(result, message, message_size) }
}

/// See the header.
///
/// # Safety
/// `message` must have room for `message_size` bytes, or be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strongroom_client_close(
    client: u64,
    message: *mut c_char,
    message_size: usize,
) -> i32 {
    let result = caught(|| clients::close(client));
    // SAFETY: by contract.
    unsafe { answer(result, message, message_size) }
}

fn caught(call: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
    // What a panic leaves behind is looked at by nobody who expects it whole: locks are taken by
    // `error::lock`, and what they guard is changed in one step.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or(Err(Error::Defect))
}

/// The code of a result. An error is written for the caller.
///
/// # Safety
/// `message` must have room for `message_size` bytes, or be null.
unsafe fn answer(result: Result<(), Error>, message: *mut c_char, message_size: usize) -> i32 {
    let Err(error) = result else {
        return Code::Ok as i32;
    };
    let text = catch_unwind(AssertUnwindSafe(|| error.to_string())).unwrap_or_default();
    // SAFETY: by contract.
    unsafe { write(&text, message, message_size) };
    error.code() as i32
}

/// # Safety
/// The text must end with a zero byte, and stay as it is while the result is used; or be null.
unsafe fn text<'a>(name: &'static str, text: *const c_char) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: by contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::Text(name))
}

/// Writes what fits of a text, and a zero byte. A character is not cut.
///
/// # Safety
/// `place` must have room for `size` bytes, or be null.
unsafe fn write(text: &str, place: *mut c_char, size: usize) {
    let Some(room) = size.checked_sub(1) else {
        return;
    };
    if place.is_null() {
        return;
    }
    let fits = &text.as_bytes()[..text.floor_char_boundary(room)];
    // SAFETY: by contract; there is room for what fits and the zero byte, and no Rust reference to
    // the place.
    unsafe {
        std::ptr::copy_nonoverlapping(fits.as_ptr(), place.cast(), fits.len());
        place.add(fits.len()).write(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str, size: usize) -> Vec<u8> {
        let mut place = vec![7_u8; 16];
        assert!(size <= place.len());
        // SAFETY: there is as much room.
        unsafe { write(text, place.as_mut_ptr().cast(), size) };
        place
    }

    #[test]
    fn a_text_is_cut_between_characters_and_ends() {
        assert_eq!(written("abc", 0), [7; 16]);
        assert_eq!(written("abc", 1)[..2], [0, 7]);
        assert_eq!(written("abc", 3)[..4], *b"ab\0\x07");
        assert_eq!(written("abc", 16)[..5], *b"abc\0\x07");
        // Two bytes each.
        assert_eq!(written("äö", 4)[..4], *b"\xc3\xa4\0\x07");
        // SAFETY: null is allowed.
        unsafe { write("abc", std::ptr::null_mut(), 5) };
    }

    #[test]
    fn a_panic_becomes_a_code() {
        let result = caught(|| panic!("planted"));
        // SAFETY: null is allowed.
        let code = unsafe { answer(result, std::ptr::null_mut(), 0) };
        assert_eq!(code, Code::Defect as i32);
    }
}

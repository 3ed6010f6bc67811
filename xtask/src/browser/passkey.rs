//! Databases that a passkey opens, in a Chromium with an authenticator that is not hardware.
//!
//! Firefox has none that a program can use without its own remote protocol.

use serde_json::{Value, json};

use super::debug::Debug;
use super::page::Page;
use crate::wasm::Built;

/// Keys are given for names of domains, and not for an address.
const HOST: &str = "localhost";

pub fn run(built: &Built) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (program, mut debug) = Debug::program(folder.path())?;
    let mut page = Page::start(program, built, HOST, None)?;
    // The page is there when it has answered.
    page.names()?;
    let session = debug.page()?;
    debug.call(Some(&session), "WebAuthn.enable", &json!({}))?;
    let keyless = add(&mut debug, &session, false)?;
    page.step("an authenticator without keys is refused", &Value::Null)?;
    let which = json!({"authenticatorId": keyless});
    debug.call(
        Some(&session),
        "WebAuthn.removeVirtualAuthenticator",
        &which,
    )?;
    let authenticator = add(&mut debug, &session, true)?;
    let passkey = page.step("passkeys open databases", &Value::Null)?;
    // The same person, who does not prove it this time.
    let unverified = json!({"authenticatorId": authenticator, "isUserVerified": false});
    debug.call(Some(&session), "WebAuthn.setUserVerified", &unverified)?;
    page.step("a user who is not verified opens nothing", &passkey)?;
    Ok(())
}

/// Gives the page an authenticator that may give keys; its name.
fn add(debug: &mut Debug, session: &str, has_keys: bool) -> anyhow::Result<Value> {
    let authenticator = json!({"options": {
        "protocol": "ctap2",
        "ctap2Version": "ctap2_1",
        "transport": "internal",
        "hasResidentKey": true,
        "hasUserVerification": true,
        "hasPrf": has_keys,
        "isUserVerified": true,
        "automaticPresenceSimulation": true,
    }});
    let method = "WebAuthn.addVirtualAuthenticator";
    let mut added = debug.call(Some(session), method, &authenticator)?;
    Ok(added["authenticatorId"].take())
}

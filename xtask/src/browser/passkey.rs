//! Databases opened with a passkey, in Chromium with a virtual authenticator.
//!
//! Firefox has none that can be used without its own remote protocol.

use serde_json::{Value, json};

use super::debug::Debug;
use super::page::Page;
use crate::wasm::Built;

/// Passkeys need a domain name, not an address.
const HOST: &str = "localhost";

pub fn run(built: &Built) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (program, mut debug) = Debug::program(folder.path())?;
    let mut page = Page::start(program, built, HOST, None)?;
    // Returns when the page has answered.
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
    // The same user, without user verification this time.
    let unverified = json!({"authenticatorId": authenticator, "isUserVerified": false});
    debug.call(Some(&session), "WebAuthn.setUserVerified", &unverified)?;
    page.step("a user who is not verified opens nothing", &passkey)?;
    Ok(())
}

/// Adds an authenticator to the page, which may support keys; returns its name.
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

//! The tree of files that the packages for Linux install, the same for each, except for the folder
//! of shared libraries.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context as _;

use super::build::Dynamic;
use super::documents;
use crate::command::{program, run as run_command};

/// The systemd unit of the proxy, with one instance per configuration.
pub const UNIT: &str = "usr/lib/systemd/system/strongroom-proxy@.service";

/// Path of the example configuration of the proxy.
pub const EXAMPLE: &str = "usr/share/doc/strongroom/examples/proxy.toml";

/// Path of the header of the library for drivers of PostgreSQL.
pub const HEADER: &str = "usr/include/strongroom_client.h";

/// The header's text.
const HEADER_TEXT: &str =
    include_str!("../../../crates/postgres-client-c/include/strongroom_client.h");

/// The unit's text.
pub const UNIT_TEXT: &str = include_str!("../../dist/strongroom-proxy@.service");

/// The example's text.
pub const EXAMPLE_TEXT: &str = include_str!("../../dist/proxy.toml");

const PROGRAM: u32 = 0o755;
const TEXT: u32 = 0o644;

/// Licences, and the changelog.
const DOCUMENTS: &[&str] = &["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Fills an empty folder. `libraries` is the loader's folder, where SQLite finds an extension that
/// is named without a path.
pub fn fill(root: &Path, built: &Dynamic, libraries: &str) -> anyhow::Result<()> {
    copy(&built.program, root, "usr/bin/strongroom", PROGRAM)?;
    let extension = format!("{libraries}/libstrongroom.so");
    copy(&built.extension, root, &extension, TEXT)?;
    let client = format!("{libraries}/libstrongroom_client.so");
    copy(&built.client, root, &client, TEXT)?;
    write(root, HEADER, HEADER_TEXT)?;
    write(root, UNIT, UNIT_TEXT)?;
    write(root, EXAMPLE, EXAMPLE_TEXT)?;
    for name in DOCUMENTS {
        let to = format!("usr/share/doc/strongroom/{name}");
        copy(Path::new(name), root, &to, TEXT)?;
    }
    fs::create_dir_all(root.join("etc/strongroom"))?;
    add_documents(root, &built.program)
}

/// Manual pages, compressed as in packages, and completions in the shells' folders.
fn add_documents(root: &Path, strongroom: &Path) -> anyhow::Result<()> {
    let written = tempfile::tempdir()?;
    documents::write(strongroom, written.path())?;
    for page in fs::read_dir(written.path().join("man"))? {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        let to = format!("usr/share/man/man1/{name}");
        copy(&page.path(), root, &to, TEXT)?;
        run_command(program("gzip").args(["-9", "--no-name"]).arg(root.join(to)))?;
    }
    let completions = written.path().join("completions");
    for (name, to) in [
        ("strongroom.bash", "bash-completion/completions/strongroom"),
        ("_strongroom", "zsh/vendor-completions/_strongroom"),
        (
            "strongroom.fish",
            "fish/vendor_completions.d/strongroom.fish",
        ),
    ] {
        copy(
            &completions.join(name),
            root,
            &format!("usr/share/{to}"),
            TEXT,
        )?;
    }
    Ok(())
}

fn copy(from: &Path, root: &Path, to: &str, mode: u32) -> anyhow::Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    put(root, to, &bytes, mode)
}

fn write(root: &Path, to: &str, text: &str) -> anyhow::Result<()> {
    put(root, to, text.as_bytes(), TEXT)
}

fn put(root: &Path, to: &str, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    let path = root.join(to);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a key that occurs once in the unit.
    fn value<'a>(key: &str) -> Option<&'a str> {
        let mut values = UNIT_TEXT.lines().filter_map(|line| {
            let (name, value) = line.split_once('=')?;
            (name == key).then_some(value)
        });
        let first = values.next();
        assert!(values.next().is_none(), "{key} twice");
        first
    }

    #[test]
    fn the_unit_gives_the_proxy_nothing_that_it_does_not_need() {
        for (key, expected) in [
            ("DynamicUser", "yes"),
            ("NoNewPrivileges", "yes"),
            ("ProtectSystem", "strict"),
            ("CapabilityBoundingSet", ""),
            ("MemoryDenyWriteExecute", "yes"),
            ("LimitCORE", "0"),
            ("LimitMEMLOCK", "infinity"),
        ] {
            assert_eq!(value(key), Some(expected), "{key}");
        }
    }

    #[test]
    fn the_example_reads_the_key_and_the_socket_where_the_unit_puts_them() {
        let credential = value("LoadCredential").unwrap();
        let name = credential.split(':').next().unwrap();
        let key = format!("file = \"/run/credentials/strongroom-proxy@main.service/{name}\"");
        assert!(EXAMPLE_TEXT.contains(&key), "{key}");
        let folder = value("RuntimeDirectory").unwrap().replace("%i", "main");
        assert!(EXAMPLE_TEXT.contains(&format!("socket = \"/run/{folder}\"")));
    }

    #[test]
    fn transactions_may_end_before_the_service_is_killed() {
        let stop = value("TimeoutStopSec").unwrap();
        let stop: u32 = stop.trim_end_matches('s').parse().unwrap();
        let example: toml::Table = toml::from_str(EXAMPLE_TEXT).unwrap();
        let drain = example["proxy"]["drain_seconds"].as_integer().unwrap();
        assert!(i64::from(stop) > drain);
    }
}

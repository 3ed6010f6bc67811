//! Source packages of Debian, from the mirror that the machine uses.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::command::{program, read, run as run_command};

/// The folder with a Debian system's package sources (sources.list(5)).
const SOURCES_FOLDER: &str = "/etc/apt/sources.list.d";
const SOURCES_LIST: &str = "/etc/apt/sources.list";
/// The key that Debian's own source file names, for any mirror.
const DEBIAN_KEY: &str = "debian-archive";

/// Downloads a source package (`name`, or `name=version`) into `download`, and unpacks it as
/// `folder`. Without a release it is that of the machine's.
pub fn source(
    download: &Path,
    package: &str,
    release: Option<&str>,
    folder: &Path,
) -> anyhow::Result<()> {
    let download = emptied(download)?;
    download_package(&download, package, release)?;
    unpack(&download, package, folder)
}

/// Uses the machine's own mirror, with a separate configuration, so that the system's is not
/// changed.
fn download_package(folder: &Path, package: &str, release: Option<&str>) -> anyhow::Result<()> {
    let mut sources = source_entries(&configured()?);
    if let Some(release) = release {
        sources = of_release(&sources, release);
    }
    if sources.is_empty() {
        bail!(
            "neither {SOURCES_FOLDER} nor {SOURCES_LIST} names a mirror of Debian, from which the \
             source of {package} could come: unpack it in the folder `source` beside {}",
            folder.display()
        );
    }
    for part in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(folder.join("mirror.sources"), sources.join("\n"))?;
    let at = |name: &str| folder.join(name).display().to_string();
    let options = [
        format!("Dir::Etc::sourcelist={}", at("mirror.sources")),
        "Dir::Etc::sourceparts=-".to_owned(),
        format!("Dir::State::lists={}", at("lists")),
        format!("Dir::Cache={}", at("cache")),
        // Downloads by root would be handed to another user, who may not be able to read a home
        // folder.
        "APT::Sandbox::User=root".to_owned(),
    ];
    let apt_get = |arguments: &[&str]| {
        let mut command = program("apt-get");
        command.current_dir(folder).arg("--quiet=2");
        for option in &options {
            command.args(["--option", option]);
        }
        run_command(command.args(arguments))
    };
    apt_get(&["update"])?;
    apt_get(&["--download-only", "source", package])
}

fn unpack(download: &Path, package: &str, folder: &Path) -> anyhow::Result<()> {
    let names = fs::read_dir(download)?.collect::<Result<Vec<_>, _>>()?;
    let description = names
        .iter()
        .map(fs::DirEntry::path)
        .find(|path| path.extension().is_some_and(|extension| extension == "dsc"));
    let Some(description) = description else {
        bail!("apt-get has left no source package of {package}");
    };
    // An existing folder was not unpacked completely.
    let part = folder.with_extension("part");
    for old in [&part, folder] {
        if old.exists() {
            fs::remove_dir_all(old)?;
        }
    }
    // apt-get has checked the description against the signed index.
    let extract = ["--extract", "--no-check"];
    read(
        program("dpkg-source")
            .args(extract)
            .arg(description)
            .arg(&part),
    )?;
    fs::rename(&part, folder)?;
    Ok(())
}

/// The texts of the system's source files, in both formats.
fn configured() -> anyhow::Result<Vec<String>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(SOURCES_FOLDER).into_iter().flatten() {
        texts.push(fs::read_to_string(entry?.path())?);
    }
    texts.extend(fs::read_to_string(SOURCES_LIST));
    Ok(texts)
}

/// Entries for source packages corresponding to Debian's binary packages, in the newer format.
fn source_entries(texts: &[String]) -> Vec<String> {
    let paragraphs = texts.iter().flat_map(|text| text.split("\n\n"));
    let newer = paragraphs
        .filter(|paragraph| paragraph.contains(DEBIAN_KEY))
        .map(|paragraph| {
            let lines = paragraph.lines().filter(|line| !line.starts_with('#'));
            let lines = lines.map(|line| match line.starts_with("Types:") {
                true => "Types: deb-src",
                false => line,
            });
            lines.fold(String::new(), |text, line| text + line + "\n")
        });
    let lines = texts.iter().flat_map(|text| text.lines());
    newer.chain(lines.filter_map(from_line)).collect()
}

/// The entries of a mirror's main archive, for another release. Updates are in other archives or
/// suites: a named release is used as it was published.
fn of_release(entries: &[String], release: &str) -> Vec<String> {
    let is_archive = |line: &str| {
        let uris = line.strip_prefix("URIs:");
        uris.is_some_and(|uris| uris.trim().trim_end_matches('/').ends_with("/debian"))
    };
    let of_archive = entries.iter().filter(|entry| entry.lines().any(is_archive));
    let renamed = of_archive.map(|entry| {
        let lines = entry.lines().map(|line| match line.starts_with("Suites:") {
            true => format!("Suites: {release}\n"),
            false => format!("{line}\n"),
        });
        lines.collect()
    });
    let mut entries: Vec<String> = renamed.collect();
    entries.dedup();
    entries
}

/// Converts an entry `deb [options] URI suite component...`, if it is Debian's.
fn from_line(line: &str) -> Option<String> {
    let rest = line.trim().strip_prefix("deb ")?.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(options) => options.split_once(']')?.1,
        None => rest,
    };
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let components: Vec<_> = words.collect();
    if !(uri
        .trim_end_matches('/')
        .rsplit('/')
        .next()?
        .starts_with("debian"))
    {
        return None;
    }
    Some(format!(
        "Types: deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {}\n",
        components.join(" ")
    ))
}

fn emptied(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_either_form_becomes_one_for_sources() {
        let newer = "# a remark\nTypes: deb\nURIs: http://mirror.test/debian\nSuites: stable\n\
                     Components: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";
        let foreign = "Types: deb\nURIs: http://other.test/packages\nSuites: stable\n";
        let older = "deb [signed-by=/key] http://mirror.test/debian-security stable main contrib\n\
                     deb http://other.test/packages stable main\n";
        let entries = source_entries(&[newer, foreign, older].map(str::to_owned));
        assert_eq!(
            entries,
            [
                "Types: deb-src\nURIs: http://mirror.test/debian\nSuites: stable\n\
                 Components: main\n\
                 Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
                "Types: deb-src\nURIs: http://mirror.test/debian-security\nSuites: stable\n\
                 Components: main contrib\n",
            ]
        );
        let of_sid = "Types: deb-src\nURIs: http://mirror.test/debian\nSuites: sid\n\
                      Components: main\n\
                      Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";
        assert_eq!(of_release(&entries, "sid"), [of_sid]);
    }
}

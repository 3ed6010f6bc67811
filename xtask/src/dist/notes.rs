//! `notes`: release notes, extracted from the changelog.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use super::{Context, Part};

pub const PART: Part = Part {
    name: "notes",
    needs: &[],
    make,
    check,
};

const CHANGELOG: &str = "CHANGELOG.md";
const UNRELEASED: &str = "Unreleased";

fn path(context: &Context) -> PathBuf {
    let name = format!("strongroom-{}-notes.md", context.version);
    context.artefacts.join(name)
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let changelog = fs::read_to_string(CHANGELOG).context("cannot read the changelog")?;
    let path = path(context);
    fs::write(&path, cut(&changelog, &context.version)?)?;
    Ok(vec![path])
}

fn check(context: &Context) -> anyhow::Result<String> {
    let text = fs::read_to_string(path(context))?;
    let items = text.lines().filter(|line| line.starts_with("- ")).count();
    ensure!(items > 0, "the notes list nothing");
    ensure!(
        !text.contains("](docs/"),
        "a link of the notes leads nowhere"
    );
    Ok(format!("items: {items}"))
}

/// The section of a version, or the unreleased section, with a new heading. Links into the
/// repository become plain text, since the notes are read elsewhere.
fn cut(changelog: &str, version: &str) -> anyhow::Result<String> {
    let body = section(changelog, version).or_else(|| section(changelog, UNRELEASED));
    let Some(body) = body else {
        bail!("{CHANGELOG} has neither `## [{version}]` nor `## [{UNRELEASED}]`");
    };
    let body = body.trim();
    ensure!(
        !body.is_empty(),
        "{CHANGELOG} says nothing about {version}: write what changed"
    );
    Ok(format!(
        "# Strongroom {version}\n\n{}\n",
        without_links(body)
    ))
}

/// The text between a second-level heading and the next one.
fn section<'a>(changelog: &'a str, name: &str) -> Option<&'a str> {
    let heading = format!("## [{name}]");
    let start = if changelog.starts_with(&heading) {
        0
    } else {
        changelog.find(&format!("\n{heading}"))? + 1
    };
    let (_, body) = changelog[start..].split_once('\n')?;
    Some(body.find("\n## ").map_or(body, |end| &body[..end]))
}

/// `[text](docs/a.md)` becomes `text`; a link with a scheme stays.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(middle) = rest.find("](") {
        let link = rest[..middle].rfind('[').and_then(|open| {
            let end = rest[middle..].find(')')?;
            (!rest[open..middle].contains(']')).then_some((open, middle + end))
        });
        let Some((open, end)) = link else {
            out.push_str(&rest[..middle + 2]);
            rest = &rest[middle + 2..];
            continue;
        };
        out.push_str(&rest[..open]);
        if rest[middle + 2..end].contains("://") {
            out.push_str(&rest[open..=end]);
        } else {
            out.push_str(&rest[open + 1..middle]);
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Changelog\n\n## [Unreleased]\n\n- next\n\n## [0.2.0] - 2026-01-02\n\n\
                        ### Added\n\n- [a](docs/a.md#b), [c](https://c.example/)\n\n\
                        ## [0.1.0]\n\n- old\n";

    #[test]
    fn a_version_has_its_own_section() {
        assert_eq!(
            cut(TEXT, "0.2.0").unwrap(),
            "# Strongroom 0.2.0\n\n### Added\n\n- a, [c](https://c.example/)\n"
        );
        assert_eq!(cut(TEXT, "0.1.0").unwrap(), "# Strongroom 0.1.0\n\n- old\n");
    }

    #[test]
    fn a_version_without_a_section_is_what_is_not_released() {
        assert_eq!(
            cut(TEXT, "0.3.0").unwrap(),
            "# Strongroom 0.3.0\n\n- next\n"
        );
    }

    #[test]
    fn an_empty_section_and_none_are_errors() {
        assert!(cut("## [0.1.0]\n\n## [0.0.1]\n\n- old\n", "0.1.0").is_err());
        assert!(cut("# Changelog\n", "0.1.0").is_err());
    }

    #[test]
    fn brackets_that_are_no_link_stay() {
        let text = "`a[0]` and ](x) and [b] (c)";
        assert_eq!(without_links(text), text);
    }
}

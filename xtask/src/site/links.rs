//! Checks that links in built pages lead to existing files and anchors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::markdown;

/// Every broken relative link in the pages below a folder, with its page.
pub fn broken(site: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = BTreeSet::new();
    list(site, "", &mut files)?;
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".html")) {
        let bytes = fs::read(site.join(path)).with_context(|| format!("cannot read {path}"))?;
        pages.insert(path.clone(), String::from_utf8_lossy(&bytes).into_owned());
    }
    let places: BTreeMap<&str, BTreeSet<String>> = pages
        .iter()
        .map(|(path, text)| (path.as_str(), attributes(text, " id=\"").collect()))
        .collect();
    let mut broken = Vec::new();
    for (page, text) in &pages {
        let links = attributes(text, " href=\"").chain(attributes(text, " src=\""));
        for link in links.collect::<BTreeSet<_>>() {
            if !leads_somewhere(page, &link, &files, &places) {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    Ok(broken)
}

fn leads_somewhere(
    page: &str,
    link: &str,
    files: &BTreeSet<String>,
    places: &BTreeMap<&str, BTreeSet<String>>,
) -> bool {
    let (path, place) = link.split_once('#').unwrap_or((link, ""));
    let path = path.split('?').next().unwrap_or(path);
    if path.contains(':') || path.starts_with("//") {
        return true;
    }
    // The page for missing pages is shown at any path, so its links begin at the root.
    let led_to = match (path, path.strip_prefix('/')) {
        ("", _) => Some(page.into()),
        ("/", _) => Some("index.html".into()),
        (_, Some(path)) => markdown::led_to("", path),
        (path, None) => markdown::led_to(page, path),
    };
    let Some(led_to) = led_to else {
        return false;
    };
    let led_to = led_to.to_string_lossy();
    if !files.contains(&*led_to) {
        return false;
    }
    let known = places.get(&*led_to);
    place.is_empty() || known.is_none_or(|places| places.contains(place))
}

/// Decoded values of an attribute.
fn attributes<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = String> + 'a {
    let values = text.split(start).skip(1);
    values.map(|rest| {
        let value = rest.split('"').next().unwrap_or(rest);
        value.replace("&amp;", "&")
    })
}

/// All files below a folder, by their paths from there.
fn list(root: &Path, folder: &str, files: &mut BTreeSet<String>) -> anyhow::Result<()> {
    let whole = root.join(folder);
    let entries =
        fs::read_dir(&whole).with_context(|| format!("cannot read {}", whole.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() {
            name
        } else {
            format!("{folder}/{name}")
        };
        if entry.path().is_dir() {
            list(root, &path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        broken(folder.path()).unwrap()
    }

    #[test]
    fn what_leads_somewhere_passes() {
        let page = r##"<h1 id="top">A</h1> <a href="#top">a</a> <a href="../index.html#end">b</a>
            <img src="c.png"> <a href="https://example.com/#x">d</a> <a href="../e.rs#L1">e</a>
            <a href="/docs/a.html?x=1&amp;y=2">f</a> <a href="data:text/plain,x">g</a>"##;
        let files = [
            ("docs/a.html", page),
            ("docs/c.png", ""),
            ("e.rs", ""),
            ("index.html", "<p id=\"end\">"),
        ];
        assert_eq!(site(&files), [""; 0]);
    }

    #[test]
    fn what_leads_nowhere_is_named_with_its_page() {
        let page = r##"<a href="b.md">a</a> <a href="#none">b</a> <img src="no.png">
            <a href="../../out.html">c</a> <a href="/docs/a.html#none">d</a>"##;
        assert_eq!(
            site(&[("docs/a.html", page)]),
            [
                "docs/a.html: #none",
                "docs/a.html: ../../out.html",
                "docs/a.html: /docs/a.html#none",
                "docs/a.html: b.md",
                "docs/a.html: no.png"
            ]
        );
    }
}

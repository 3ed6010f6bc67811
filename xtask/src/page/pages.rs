//! The pages to check: those of committed runs, and made-up ones from tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::built;
use crate::command::{program, run as run_command};
use crate::executables::Tests;

/// Folders of committed runs.
const RESULTS: &str = "docs/results";

/// Environment variable for where tests leave their made-up pages, and the names of these tests.
const VARIABLE: &str = "STRONGROOM_PAGES";
const TEST: &str = "pages";

/// Prefix of the names of made-up pages.
const MADE_UP: &str = "made-up-";

/// A page in the folder that the browser is served.
pub struct Drawn {
    pub name: String,
    pub path: PathBuf,
}

impl Drawn {
    /// Its path for the browser.
    pub fn file_name(&self) -> String {
        format!("{}.html", self.name)
    }
}

/// Renders the selected pages into the folder.
pub fn draw(folder: &Path, wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<Drawn>> {
    fs::create_dir_all(folder)?;
    let strongroom = built::build()?.program;
    let mut drawn = Vec::new();
    let of = |name: String| Drawn {
        path: folder.join(format!("{name}.html")),
        name,
    };
    for name in names(Path::new(RESULTS))? {
        if wanted(&name) {
            let page = of(name);
            draw_run(
                &strongroom,
                &Path::new(RESULTS).join(&page.name),
                &page.path,
            )?;
            drawn.push(page);
        }
    }
    if wanted(MADE_UP) {
        let made_up = folder.join("made-up");
        if made_up.exists() {
            fs::remove_dir_all(&made_up)?;
        }
        fs::create_dir_all(&made_up)?;
        let tests = Tests {
            names: &[TEST],
            environment: &[(VARIABLE, made_up.as_os_str())],
            ..Tests::default()
        };
        tests.run()?;
        for file in names(&made_up)? {
            let name = file.strip_suffix(".html").unwrap_or(&file);
            let page = of(format!("{MADE_UP}{name}"));
            fs::rename(made_up.join(&file), &page.path)?;
            drawn.push(page);
        }
    }
    Ok(drawn)
}

/// Has the program render the page of a run, or of a folder of runs.
pub fn draw_run(strongroom: &Path, run: &Path, page: &Path) -> anyhow::Result<()> {
    run_command(
        program(&strongroom.to_string_lossy())
            .arg("report")
            .arg(run)
            .arg("--out")
            .arg(page),
    )
}

fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".md") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

//! `dist`: builds the artefacts of a release on this machine, and tests each in an empty
//! environment.

mod build;
mod checksums;
mod crates;
mod debian;
mod documents;
mod homebrew;
mod image;
mod installed;
mod materials;
mod musl;
mod notes;
mod npm;
mod rpm;
mod sandbox;
mod source;
mod tarball;
mod tree;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::builder::PossibleValuesParser;

use crate::requirements::{self, Requirement};
use crate::workspace;

/// What to build, and where to.
#[derive(clap::Args)]
pub struct Options {
    /// Only these parts, in the order of the full list
    #[arg(long, value_name = "PART", num_args = 1.., value_parser = names())]
    only: Vec<String>,
    /// The folder of the artefacts; by default `target/dist/VERSION`
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The address below which the artefacts will be published, for what names it
    #[arg(
        long,
        value_name = "URL",
        default_value = "https://strongroom.example/releases"
    )]
    address: String,
    /// Build nothing: check what was built before
    #[arg(long)]
    check_only: bool,
}

/// An artefact, or several that are built together. A part may use the results of earlier ones.
pub struct Part {
    /// What `--only` calls it.
    pub name: &'static str,
    /// Requirements besides Rust and a C compiler.
    pub needs: &'static [Requirement],
    /// Builds the artefacts into [`Context::artefacts`], and returns their paths.
    pub make: fn(&Context) -> anyhow::Result<Vec<PathBuf>>,
    /// Uses the artefacts in an empty environment, and returns a sentence on the result.
    pub check: fn(&Context) -> anyhow::Result<String>,
}

/// In the order in which they are made and checked.
const PARTS: &[Part] = &[
    tarball::X86_64,
    tarball::ARM_64,
    debian::PART,
    rpm::PART,
    image::PART,
    homebrew::PART,
    wheel::PART,
    npm::PART,
    materials::PART,
    crates::PART,
    notes::PART,
];

/// Shared context of the parts.
pub struct Context {
    /// The folder of the artefacts, without subfolders.
    pub artefacts: PathBuf,
    /// A folder for intermediate files; with `--only` it has those of earlier runs.
    pub scratch: PathBuf,
    /// Where the artefacts will be published, without a slash at the end.
    pub address: String,
    /// The version of the workspace, as `0.1.0`.
    pub version: String,
}

impl Context {
    /// An empty folder for a part, in the scratch folder.
    ///
    /// # Errors
    ///
    /// If what an earlier run left there cannot be removed.
    pub fn empty_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.scratch.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

/// Builds the parts, writes their checksums, then checks each part.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let context = context(options)?;
    let parts: Vec<&Part> = PARTS
        .iter()
        .filter(|part| options.only.is_empty() || options.only.iter().any(|it| it == part.name))
        .collect();
    for part in &parts {
        requirements::ensure(part.needs)
            .with_context(|| format!("`{}` cannot be made here", part.name))?;
    }
    if !options.check_only {
        for part in &parts {
            make(part, &context)?;
        }
        checksums::write(&context.artefacts)?;
    }
    println!("PASS {}", checksums::check(&context.artefacts)?);
    for part in &parts {
        let seen = (part.check)(&context)
            .with_context(|| format!("FAIL {}: see {}", part.name, context.scratch.display()))?;
        println!("PASS {}: {seen}", part.name);
    }
    Ok(())
}

fn make(part: &Part, context: &Context) -> anyhow::Result<()> {
    let started = Instant::now();
    println!("making {}", part.name);
    let files = (part.make)(context).with_context(|| format!("cannot make {}", part.name))?;
    for file in &files {
        let size = fs::metadata(file)
            .with_context(|| format!("{} was not made", file.display()))?
            .len();
        ensure!(size > 0, "{} is empty", file.display());
        println!("  {} {size} bytes", file.display());
    }
    println!("  {} s", started.elapsed().as_secs());
    Ok(())
}

fn context(options: &Options) -> anyhow::Result<Context> {
    let target = workspace::target_folder()?;
    let version = workspace::version()?;
    // Not `target/dist` itself, where cargo puts builds with the profile of that name.
    let folder = options.output.clone();
    let artefacts = folder.unwrap_or_else(|| target.join("dist").join(&version));
    let scratch = target.join("dist-scratch");
    for folder in [&artefacts, &scratch] {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    Ok(Context {
        artefacts: absolute(&artefacts)?,
        scratch: absolute(&scratch)?,
        address: options.address.trim_end_matches('/').to_owned(),
        version,
    })
}

/// Absolute, since programs in other folders get these paths.
fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize()
        .with_context(|| format!("cannot find {}", path.display()))
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(PARTS.iter().map(|part| part.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_a_name_of_its_own() {
        let mut names: Vec<_> = PARTS.iter().map(|part| part.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PARTS.len());
    }
}

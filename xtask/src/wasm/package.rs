//! The packed npm package.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::{Built, PACKAGE};
use crate::command::{program, read};

/// Size limits of the package that are promised to users: installed, and with brotli, each file
/// compressed separately as servers send it.
const INSTALLED_MAX: u64 = 1_200_000;
const COMPRESSED_MAX: u64 = 450_000;

/// Files of the repository that are copied unchanged, from a folder.
const ALONG: &[(&str, &[&str])] = &[
    (PACKAGE, &["package.json", "README.md"]),
    (".", &["LICENSE-APACHE", "LICENSE-MIT"]),
];

/// Assembles and packs the package; returns the path of the tarball.
pub fn pack(built: &Built) -> anyhow::Result<PathBuf> {
    let folder = built.page.with_file_name("package");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let dist = folder.join("dist");
    fs::create_dir_all(&dist)?;
    for (from, names) in ALONG {
        for name in *names {
            fs::copy(Path::new(from).join(name), folder.join(name))?;
        }
    }
    fs::copy(&built.module, dist.join("strongroom.wasm"))?;
    let mut wanted: BTreeSet<String> = ["dist/strongroom.wasm".to_owned()].into();
    wanted.extend(
        ALONG
            .iter()
            .flat_map(|(_, names)| names.iter().map(|&name| name.to_owned())),
    );
    for stem in sources()? {
        // The compiler's folder may contain output of sources that no longer exist.
        for name in [format!("{stem}.js"), format!("{stem}.d.ts")] {
            let from = built.page.join("src").join(&name);
            fs::copy(&from, dist.join(&name))
                .with_context(|| format!("{} is missing", from.display()))?;
            wanted.insert(format!("dist/{name}"));
        }
    }
    let name = read(
        program("npm")
            .args(["pack", "--silent", "--pack-destination", ".."])
            .current_dir(&folder),
    )?;
    let tarball = folder.with_file_name(name.trim());
    let listed = read(program("tar").arg("--list").arg("--file").arg(&tarball))?;
    let packed: BTreeSet<String> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("package/").map(str::to_owned))
        .collect();
    if packed != wanted {
        let differing: Vec<_> = packed.symmetric_difference(&wanted).collect();
        bail!("the packed package has too much or too little: {differing:?}");
    }
    Ok(tarball)
}

/// Names, without extension, of the package's sources.
fn sources() -> anyhow::Result<Vec<String>> {
    let mut stems = Vec::new();
    for entry in fs::read_dir(Path::new(PACKAGE).join("src"))? {
        let name = entry?.file_name().into_string().ok();
        let stem = name.as_deref().and_then(|name| name.strip_suffix(".ts"));
        stems.extend(stem.map(str::to_owned));
    }
    Ok(stems)
}

/// The sizes of the package, raw and with brotli; exceeding a limit is an error.
pub fn sizes(tarball: &Path) -> anyhow::Result<String> {
    let dist = tarball.with_file_name("package");
    let output = read(program("node").args(["-e", SIZES]).arg(dist))?;
    let numbers: Vec<u64> = output.split_whitespace().flat_map(str::parse).collect();
    let &[module, module_compressed, all, all_compressed] = numbers.as_slice() else {
        bail!("node did not compress the package: {output}");
    };
    ensure!(
        all <= INSTALLED_MAX && all_compressed <= COMPRESSED_MAX,
        "the package has {all} bytes, {all_compressed} with brotli: {INSTALLED_MAX} and \
         {COMPRESSED_MAX} are promised"
    );
    Ok(format!(
        "module: {module} bytes, {module_compressed} with brotli\n\
         package: {all} bytes, {all_compressed} with brotli"
    ))
}

/// Prints the sizes of the module and of all files, raw and with brotli.
const SIZES: &str = "
const { readdirSync, readFileSync, statSync } = require('fs');
const { brotliCompressSync } = require('zlib');
const root = process.argv[1];
const size = (name) => {
  const bytes = readFileSync(`${root}/${name}`);
  return [bytes.length, brotliCompressSync(bytes).length];
};
const all = readdirSync(root, { recursive: true })
  .filter((name) => statSync(`${root}/${name}`).isFile())
  .map(size);
const sum = (index) => all.reduce((total, one) => total + one[index], 0);
console.log(...size('dist/strongroom.wasm'), sum(0), sum(1));
";

//! `debian`: a Debian package, which is also the source of others.
//!
//! A package is built from a tree of files and a control file by Debian's own programs. It has no
//! scripts: the loader and systemd find the files in their standard folders.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::build::{self, C_COMPILER, DPKG};
use super::installed::{self, Installed};
use super::sandbox::{Sandbox, UNSHARE};
use super::{Context, Part, tree};
use crate::command::{program, read, run as run_command};
use crate::requirements::{Requirement, has};

pub const PART: Part = Part {
    name: "debian",
    needs: &[C_COMPILER, DPKG, DEBIAN_TOOLS, UNSHARE, DEBOOTSTRAP],
    make,
    check,
};

const DEBIAN_TOOLS: Requirement = Requirement {
    name: "dpkg-shlibdeps",
    present: || has("dpkg-shlibdeps"),
    packages: &["dpkg-dev"],
    remedy: "install dpkg-shlibdeps, which finds the libraries that a program needs",
};

/// Creates the system that packages are installed in.
pub const DEBOOTSTRAP: Requirement = Requirement {
    name: "debootstrap",
    present: || has("debootstrap") || Path::new("/usr/sbin/debootstrap").is_file(),
    packages: &["debootstrap"],
    remedy: "install debootstrap, which makes a small Debian to install packages in",
};

/// The loader's library folder on Debian.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

fn path(context: &Context) -> PathBuf {
    let name = format!("strongroom_{}-1_amd64.deb", context.version);
    context.artefacts.join(name)
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let built = build::dynamic()?;
    let root = context.empty_folder("debian-tree")?;
    tree::fill(&root, &built, LIBRARIES)?;
    fs::rename(
        root.join("usr/share/doc/strongroom/LICENSE-MIT"),
        root.join("usr/share/doc/strongroom/copyright"),
    )?;
    let needs = needs(context, &built)?;
    let size = read(
        program("du")
            .args(["--summarize", "--block-size=1024"])
            .arg(&root),
    )?;
    let size = size.split_whitespace().next().context("du said nothing")?;
    fs::create_dir(root.join("DEBIAN"))?;
    fs::write(
        root.join("DEBIAN/control"),
        control(&context.version, &needs, size),
    )?;
    let path = path(context);
    run_command(
        program("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([&root, &path]),
    )?;
    Ok(vec![path])
}

/// The packages with the libraries that program and own libraries need, in sufficient versions.
fn needs(context: &Context, built: &build::Dynamic) -> anyhow::Result<String> {
    let folder = context.empty_folder("debian-needs")?;
    fs::create_dir(folder.join("debian"))?;
    fs::write(
        folder.join("debian/control"),
        "Source: strongroom\n\nPackage: strongroom\nArchitecture: any\n",
    )?;
    let said = read(
        program("dpkg-shlibdeps")
            .arg("-O")
            .args([&built.program, &built.extension, &built.client])
            .current_dir(&folder),
    )?;
    let needs = said.trim().strip_prefix("shlibs:Depends=");
    Ok(needs
        .context("dpkg-shlibdeps found no libraries")?
        .to_owned())
}

fn control(version: &str, needs: &str, size: &str) -> String {
    format!(
        "Package: strongroom\n\
         Version: {version}-1\n\
         Architecture: amd64\n\
         Maintainer: The Strongroom contributors <strongroom@localhost>\n\
         Installed-Size: {size}\n\
         Depends: {needs}\n\
         Suggests: sqlite3, postgresql\n\
         Section: database\n\
         Priority: optional\n\
         Description: encrypted SQL databases, and what encryption costs\n\
         \x20Encrypts every page of SQLite databases on stock SQLite, keeps columns of\n\
         \x20PostgreSQL servers as ciphertext by a proxy, and measures what both cost.\n\
         \x20.\n\
         \x20The extension is loaded by any SQLite: .load libstrongroom\n"
    )
}

fn check(context: &Context) -> anyhow::Result<String> {
    let root = installed::small_debian(context)?;
    let sandbox = Sandbox::new(root.clone());
    fs::copy(path(context), root.join("strongroom.deb"))?;
    read(&mut sandbox.command(["dpkg", "--install", "/strongroom.deb"]))?;
    let installed = Installed {
        sandbox: &sandbox,
        root: &root,
        extension: "libstrongroom",
        client: "libstrongroom_client.so",
    };
    installed.is_used()?;
    read(&mut sandbox.command(["dpkg", "--verify", "strongroom"]))?;
    let exposure = installed::exposure(&sandbox)?;
    read(&mut sandbox.command(["dpkg", "--remove", "strongroom"]))?;
    ensure!(
        !root.join("usr/bin/strongroom").exists(),
        "dpkg --remove left the program"
    );
    Ok(format!(
        "installed by dpkg in a small Debian: the program encrypted a database and read it back, \
         Debian's sqlite3 read it by `.load libstrongroom`, the unit is sound ({exposure}), and \
         nothing is left once it is removed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_package_has_what_dpkg_asks_for() {
        let text = control("0.1.0", "libc6 (>= 2.34)", "9000");
        for line in [
            "Package: strongroom",
            "Version: 0.1.0-1",
            "Architecture: amd64",
            "Depends: libc6 (>= 2.34)",
            "Installed-Size: 9000",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}");
        }
        // A continuation line belongs to the field above.
        let fields = text.lines().filter(|line| !line.starts_with(' '));
        assert!(fields.into_iter().all(|line| line.contains(": ")));
        assert!(text.ends_with('\n'));
    }
}

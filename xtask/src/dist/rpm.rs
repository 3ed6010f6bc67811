//! `rpm`: a package for Fedora, openSUSE and similar systems, from the same tree of files.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, ensure};

use super::build::{self, C_COMPILER};
use super::debian::DEBOOTSTRAP;
use super::installed::{self, Installed};
use super::sandbox::{Sandbox, UNSHARE};
use super::{Context, Part, tree};
use crate::command::{program, read, run as run_command};
use crate::requirements::{Requirement, has};

pub const PART: Part = Part {
    name: "rpm",
    needs: &[C_COMPILER, RPM, UNSHARE, DEBOOTSTRAP],
    make,
    check,
};

const RPM: Requirement = Requirement {
    name: "rpm with rpmbuild",
    present: || has("rpm") && has("rpmbuild"),
    packages: &["rpm"],
    remedy: "install rpm and rpmbuild",
};

/// The loader's library folder on these systems.
const LIBRARIES: &str = "usr/lib64";

fn path(context: &Context) -> PathBuf {
    let name = format!("strongroom-{}-1.x86_64.rpm", context.version);
    context.artefacts.join(name)
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let built = build::dynamic()?;
    let folder = context.empty_folder("rpm")?;
    let root = folder.join("tree");
    fs::create_dir(&root)?;
    tree::fill(&root, &built, LIBRARIES)?;
    let file = folder.join("strongroom.spec");
    fs::write(&file, spec(&context.version, &root.to_string_lossy()))?;
    let defined = [
        format!("_topdir {}", folder.join("top").display()),
        format!("_rpmdir {}", folder.display()),
        "_rpmfilename strongroom.rpm".to_owned(),
    ];
    let mut command = program("rpmbuild");
    command.args(["-bb", "--quiet", "--target=x86_64-linux"]);
    for definition in defined {
        command.args(["--define", &definition]);
    }
    run_command(command.arg(&file))?;
    let path = path(context);
    fs::copy(folder.join("strongroom.rpm"), &path)?;
    Ok(vec![path])
}

/// rpmbuild finds the required libraries by itself. The files were already stripped.
fn spec(version: &str, tree: &str) -> String {
    format!(
        "%global debug_package %{{nil}}\n\
         %global __os_install_post %{{nil}}\n\
         %global _build_id_links none\n\
         %global _binary_payload w19.xzdio\n\
         Name: strongroom\n\
         Version: {version}\n\
         Release: 1\n\
         Summary: Encrypted SQL databases, and what encryption costs\n\
         License: MIT OR Apache-2.0\n\
         Suggests: sqlite\n\n\
         %description\n\
         Encrypts every page of SQLite databases on stock SQLite, keeps columns of\n\
         PostgreSQL servers as ciphertext by a proxy, and measures what both cost.\n\n\
         %install\n\
         mkdir -p %{{buildroot}}\n\
         cp -a '{tree}/.' %{{buildroot}}/\n\n\
         %files\n\
         %defattr(-,root,root)\n\
         %dir /etc/strongroom\n\
         /usr/bin/strongroom\n\
         /{LIBRARIES}/libstrongroom.so\n\
         /{LIBRARIES}/libstrongroom_client.so\n\
         /{header}\n\
         /{unit}\n\
         %doc /usr/share/doc/strongroom\n\
         %doc /usr/share/man/man1/*\n\
         /usr/share/bash-completion/completions/strongroom\n\
         /usr/share/zsh/vendor-completions/_strongroom\n\
         /usr/share/fish/vendor_completions.d/strongroom.fish\n",
        header = tree::HEADER,
        unit = tree::UNIT,
    )
}

fn check(context: &Context) -> anyhow::Result<String> {
    let empty = context.empty_folder("rpm-root")?;
    run_rpm(&empty, &["--install", "--nodeps"], Some(&path(context)))?;
    run_rpm(&empty, &["--verify", "--nodeps", "strongroom"], None)?;
    let needs = read(
        program("rpm")
            .args(["--query", "--requires", "--package"])
            .arg(path(context)),
    )?;
    let library = newest_c_library(&needs).context("the package does not ask for a C library")?;
    // The program needs a C library to run; that of a minimal Debian is used, since no other system
    // is at hand.
    let root = installed::small_debian(context)?;
    run_rpm(&root, &["--install", "--nodeps"], Some(&path(context)))?;
    let sandbox = Sandbox::new(root.clone());
    let installed = Installed {
        sandbox: &sandbox,
        root: &root,
        extension: "/usr/lib64/libstrongroom",
        client: "/usr/lib64/libstrongroom_client.so",
    };
    installed.is_used()?;
    let exposure = installed::exposure(&sandbox)?;
    run_rpm(&root, &["--erase", "strongroom"], None)?;
    ensure!(
        !root.join("usr/bin/strongroom").exists(),
        "rpm --erase left the program"
    );
    Ok(format!(
        "installed by rpm in an empty root and verified; in a small Debian the program encrypted a \
         database and read it back, sqlite3 read it by the extension, the unit is sound \
         ({exposure}); asks for {library}"
    ))
}

fn run_rpm(
    root: &std::path::Path,
    words: &[&str],
    package: Option<&std::path::Path>,
) -> anyhow::Result<()> {
    let mut command = program("rpm");
    command.arg("--root").arg(root).args(words).args(package);
    run_command(&mut command)
}

/// The newest version of the C library that the package requires.
fn newest_c_library(needs: &str) -> Option<String> {
    let number = |line: &str| -> Option<Vec<u32>> {
        let (_, rest) = line.split_once("(GLIBC_")?;
        let (version, _) = rest.split_once(')')?;
        version.split('.').map(|part| part.parse().ok()).collect()
    };
    let newest = needs.lines().filter_map(number).max()?;
    let newest: Vec<String> = newest.iter().map(u32::to_string).collect();
    Some(format!("glibc {}", newest.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_c_library_are_compared_as_numbers() {
        let needs = "libc.so.6(GLIBC_2.4)(64bit)\nlibm.so.6(GLIBC_2.29)(64bit)\n\
                     libc.so.6(GLIBC_2.34)(64bit)\nrtld(GNU_HASH)\n";
        assert_eq!(newest_c_library(needs).unwrap(), "glibc 2.34");
        assert_eq!(newest_c_library("rtld(GNU_HASH)\n"), None);
    }

    #[test]
    fn the_spec_lists_what_the_tree_has() {
        let text = spec("0.1.0", "/a b/tree");
        assert!(text.contains("\nVersion: 0.1.0\n"));
        assert!(text.contains("cp -a '/a b/tree/.' %{buildroot}/\n"));
        assert!(text.contains("\n/usr/lib64/libstrongroom.so\n"));
        assert!(text.contains("\n/usr/lib64/libstrongroom_client.so\n"));
        assert!(text.contains("\n/usr/lib/systemd/system/strongroom-proxy@.service\n"));
    }
}

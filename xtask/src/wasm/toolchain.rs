//! A compiler for WebAssembly, unpacked from Debian's packages below the target folder.
//!
//! rustup's toolchains have neither a standard library for this target, unless it is downloaded,
//! nor a C compiler. Debian's `rustc-web` and `clang` are only unpacked: this needs no root, and
//! does not change the machine's own toolchain. The standard library is compiled once, from
//! Debian's sources. The static programs of `dist` are compiled with it, too, since rustup's
//! toolchains have no library for them either.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::apt;
use crate::command::{cargo, program, read, run as run_command};
use crate::workspace;

/// What is compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

const HOST: &str = "x86_64-unknown-linux-gnu";

/// The version of LLVM that these compilers are built on.
const LLVM: &str = "22";

/// Debian's packages. The one with `1.96` in its name determines the version of Rust.
const PACKAGES: &[&str] = &[
    "rustc-web",
    "rust-web-src",
    "libstd-rust-web-dev",
    "libstd-rust-web-1.96",
    "libllvm22",
    "clang-22",
    "libclang-common-22-dev",
    "libclang-cpp22",
    "lld-22",
    "llvm-22",
    "llvm-22-linker-tools",
];

/// Names a file that records what a finished toolchain was made of.
const STAMP: &str = "made-of";

/// A compiler with a standard library.
pub struct Toolchain {
    root: PathBuf,
}

impl Toolchain {
    /// The packages' files below `/usr`.
    pub fn usr(&self) -> PathBuf {
        self.root.join("unpacked/usr")
    }

    fn llvm(&self) -> PathBuf {
        self.usr().join(format!("lib/llvm-{LLVM}"))
    }

    /// Cargo's configuration for a module whose messages contain short source paths, which saves 6
    /// KB. Cargo merges the list with that of `.cargo/config.toml`.
    pub fn flags_of_module(&self) -> anyhow::Result<String> {
        let flags = self.short_paths()?.into_iter();
        let flags = flags.map(|flag| toml::Value::String(flag).to_string());
        let flags = flags.collect::<Vec<_>>().join(", ");
        Ok(format!("target.{TARGET}.rustflags = [{flags}]"))
    }

    /// Compiler flags that remove this machine's folders from source paths.
    pub fn short_paths(&self) -> anyhow::Result<Vec<String>> {
        let library = self.usr().join("lib/rustlib/src/rust");
        // A symbolic link, whose target the compiler uses when it compiles the library itself.
        let mut prefixes = vec![library.canonicalize()?, library];
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let home = home.context("neither CARGO_HOME nor HOME is set")?;
        prefixes.extend(registries(&home.join("registry/src"))?);
        let flag = |prefix: PathBuf| format!("--remap-path-prefix={}=", prefix.display());
        Ok(prefixes.into_iter().map(flag).collect())
    }

    /// Makes a cargo command use it, and nothing else of the machine's.
    pub fn applied_to(&self, command: &mut Command) {
        let libraries = [
            self.usr().join("lib/x86_64-linux-gnu"),
            self.llvm().join("lib"),
        ];
        let programs = [self.usr().join("bin"), self.llvm().join("bin")];
        let search = std::env::var_os("PATH").unwrap_or_default();
        let programs = programs.into_iter().chain(std::env::split_paths(&search));
        // None of these paths contains a colon, so joining cannot fail.
        let joined = |paths: Vec<PathBuf>| std::env::join_paths(paths).unwrap_or_default();
        command
            .env("RUSTC", self.usr().join("bin/rustc"))
            .env("LD_LIBRARY_PATH", joined(libraries.to_vec()))
            .env("PATH", joined(programs.collect()))
            .env("CC_wasm32_unknown_unknown", format!("clang-{LLVM}"))
            .env("AR_wasm32_unknown_unknown", format!("llvm-ar-{LLVM}"))
            // Set by the toolchain that runs this program.
            .env_remove("RUSTUP_TOOLCHAIN")
            .env_remove("RUSTC_WRAPPER");
    }

    /// Compiles the standard library with bitcode, so that a program is optimised as a whole, and
    /// installs it in the compiler's folder.
    ///
    /// # Errors
    ///
    /// If it does not compile.
    pub fn add_standard_library(
        &self,
        target: &str,
        crates: &str,
        flags: &[String],
    ) -> anyhow::Result<()> {
        let project = self.root.join("library");
        fs::create_dir_all(project.join("src"))?;
        fs::write(project.join("src/lib.rs"), "")?;
        fs::write(
            project.join("Cargo.toml"),
            "[package]\nname = \"library\"\nedition = \"2024\"\n[workspace]\n",
        )?;
        let mut flags = [self.short_paths()?, flags.to_vec()].concat();
        flags.push("-Cembed-bitcode=yes".to_owned());
        let mut command = cargo();
        command
            .args(["build", "--quiet", "--release", "--target", target])
            .arg(format!("-Zbuild-std={crates}"))
            .current_dir(&project)
            .env("CARGO_TARGET_DIR", project.join("target"))
            // The option is unstable; these are the compiler's own sources.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        self.applied_to(&mut command);
        run_command(&mut command)?;
        let library = self.usr().join("lib/rustlib").join(target).join("lib");
        fs::create_dir_all(&library)?;
        let built = project.join("target").join(target).join("release/deps");
        let mut count = 0;
        for file in fs::read_dir(built)? {
            let path = file?.path();
            if is_of_library(&path)
                && let Some(name) = path.file_name()
            {
                fs::copy(&path, library.join(name))?;
                count += 1;
            }
        }
        if count == 0 {
            bail!("the standard library was compiled to nothing");
        }
        fs::remove_dir_all(project)?;
        Ok(())
    }
}

/// The folders of sources from registries, sorted. `cargo publish --dry-run` leaves another one,
/// whose registry has no host, so that its name begins with a hyphen: with it, the flags would
/// differ from those of the last build, and everything would be compiled again.
fn registries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut registries = Vec::new();
    for registry in fs::read_dir(folder)? {
        let registry = registry?;
        if !registry.file_name().to_string_lossy().starts_with('-') {
            registries.push(registry.path());
        }
    }
    registries.sort();
    Ok(registries)
}

/// The toolchain of the newest packages that apt knows, which is built if needed.
pub fn prepare() -> anyhow::Result<Toolchain> {
    let folder = workspace::target_folder()?.join("wasm");
    fs::create_dir_all(&folder)?;
    let toolchain = Toolchain {
        root: folder.join("toolchain"),
    };
    let has = fs::read_to_string(toolchain.root.join(STAMP)).ok();
    let wanted = match wanted() {
        Ok(wanted) => wanted,
        // Without a network, an existing toolchain is used.
        Err(_) if has.is_some() => return Ok(toolchain),
        Err(error) => return Err(error),
    };
    if has.as_ref() != Some(&wanted) {
        make(&toolchain, &wanted).context(
            "the compiler for WebAssembly cannot be had: it is unpacked from packages of Debian 12 \
             or newer (deb.debian.org, with security updates), for x86-64",
        )?;
    }
    Ok(toolchain)
}

/// Names and versions of the packages, and of the cargo that uses them.
fn wanted() -> anyhow::Result<String> {
    let list = || {
        let arguments = ["--quiet", "download", "--print-uris"];
        read(program("apt-get").args(arguments).args(PACKAGES))
    };
    let packages = match list() {
        Ok(packages) => packages,
        Err(_) => {
            apt::update_package_lists();
            list()?
        }
    };
    // A line is an address, a file name, a size and a hash.
    let files = packages.lines().filter_map(|line| line.split(' ').nth(1));
    let mut names: Vec<&str> = files.collect();
    names.sort_unstable();
    ensure!(
        names.len() == PACKAGES.len(),
        "apt knows {} of {} packages",
        names.len(),
        PACKAGES.len()
    );
    let cargo = read(cargo().arg("--version"))?;
    Ok(format!("{}\n{cargo}", names.join("\n")))
}

fn make(toolchain: &Toolchain, wanted: &str) -> anyhow::Result<()> {
    println!("making the compiler for WebAssembly: 170 MB are fetched, 1.3 GB unpacked");
    let root = &toolchain.root;
    if root.exists() {
        fs::remove_dir_all(root)?;
    }
    let packages = root.join("packages");
    fs::create_dir_all(&packages)?;
    let download = [
        "--quiet=2",
        "--option",
        "APT::Sandbox::User=root",
        "download",
    ];
    run_command(
        program("apt-get")
            .args(download)
            .args(PACKAGES)
            .current_dir(&packages),
    )?;
    let unpacked = root.join("unpacked");
    for package in fs::read_dir(&packages)? {
        run_command(
            program("dpkg-deb")
                .arg("--extract")
                .args([&package?.path(), &unpacked]),
        )?;
    }
    fs::remove_dir_all(&packages)?;
    link_linker(toolchain)?;
    toolchain.add_standard_library(TARGET, "std,panic_abort", &[])?;
    fs::write(root.join(STAMP), wanted)?;
    Ok(())
}

/// rustc expects a linker in its own folder, but Debian has it elsewhere.
fn link_linker(toolchain: &Toolchain) -> anyhow::Result<()> {
    let folder = toolchain.usr().join("lib/rustlib").join(HOST).join("bin");
    fs::create_dir_all(&folder)?;
    let linker = folder.join("rust-lld");
    if !linker.exists() {
        // Relative to `lib/rustlib/HOST/bin`, so that the tree can be moved.
        symlink(format!("../../../llvm-{LLVM}/bin/lld"), linker)?;
    }
    Ok(())
}

/// Everything that was compiled except the empty project itself.
fn is_of_library(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    name.ends_with(".rlib") && !name.starts_with("liblibrary-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_dry_run_of_publishing_leaves_changes_no_flags() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["host.example-1", "-2", "example.com-3"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let expected = ["example.com-3", "host.example-1"];
        let expected = expected.map(|name| folder.path().join(name));
        assert_eq!(registries(folder.path()).unwrap(), expected);
    }
}

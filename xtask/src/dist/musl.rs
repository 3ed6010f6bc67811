//! A compiler for static programs, with musl instead of the system's C library.
//!
//! Debian's packages of musl, of LLVM's unwinder and of the kernel's headers are unpacked below the
//! target folder, for this machine's processor or another one; GCC compiles C against them. Rust's
//! standard library comes from rustup if the target is installed there; otherwise it is compiled
//! once from Debian's sources.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use crate::command::{program, read, run as run_command, succeeds};
use crate::{wasm, workspace};

/// A target of static programs.
#[derive(Clone, Copy)]
pub struct Machine {
    /// The processor, as Rust and GCC name it.
    pub processor: &'static str,
    /// The same as Debian names it.
    pub debian: &'static str,
}

pub const X86_64: Machine = Machine {
    processor: "x86_64",
    debian: "amd64",
};

pub const ARM_64: Machine = Machine {
    processor: "aarch64",
    debian: "arm64",
};

const PACKAGES: &[&str] = &["musl-dev", "libunwind-22-dev", "linux-libc-dev"];

/// The unwinder was compiled against another C library, which has this checked function. It uses
/// the function to print messages when an environment variable requests them.
const CHECKED_PRINT: &str = "#include <stdarg.h>
#include <stdio.h>
int __fprintf_chk(FILE *stream, int flag, const char *format, ...) {
    va_list values;
    (void)flag;
    va_start(values, format);
    int count = vfprintf(stream, format, values);
    va_end(values);
    return count;
}
";

/// Names a file that records what a finished folder was made of.
const STAMP: &str = "made-of";

/// A C compiler, and settings to make cargo use it.
pub struct Musl {
    machine: Machine,
    folder: PathBuf,
    rust: Rust,
}

/// The origin of Rust's standard library.
enum Rust {
    Rustup,
    Debian(wasm::Toolchain),
}

impl Machine {
    /// The target of Rust.
    pub fn target(&self) -> String {
        format!("{}-unknown-linux-musl", self.processor)
    }

    fn gcc(&self) -> String {
        format!("{}-linux-gnu-gcc", self.processor)
    }

    fn is_native(&self) -> bool {
        self.processor == std::env::consts::ARCH
    }
}

impl Musl {
    /// Makes a cargo command compile for the machine.
    pub fn applied_to(&self, command: &mut Command) -> anyhow::Result<()> {
        let target = self.machine.target();
        let variable = target.replace('-', "_");
        let compiler = self.compiler();
        command.args(["--target", &target]);
        let mut flags = ["-Ctarget-feature=+crt-static", HELPERS]
            .map(str::to_owned)
            .to_vec();
        if let Rust::Debian(toolchain) = &self.rust {
            toolchain.applied_to(command);
            flags.push(NOT_SELF_CONTAINED.to_owned());
            flags.extend(toolchain.short_paths()?);
        }
        let upper = variable.to_uppercase();
        command
            .env(format!("CC_{variable}"), &compiler)
            .env(format!("AR_{variable}"), "ar")
            .env(format!("CARGO_TARGET_{upper}_LINKER"), &compiler)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
        Ok(())
    }

    fn compiler(&self) -> PathBuf {
        self.folder.join("cc")
    }
}

/// Functions that GCC calls where a processor lacks an instruction; Rust's own library does not
/// have all of them.
const HELPERS: &str = "-Clink-arg=-lgcc";

/// Startup objects and C library come from the compiler of C, not from Rust's folder.
const NOT_SELF_CONTAINED: &str = "-Clink-self-contained=no";

/// The compiler for a machine, which is built if needed.
pub fn prepare(machine: Machine) -> anyhow::Result<Musl> {
    let folder = workspace::target_folder()?
        .join("musl")
        .join(machine.debian);
    fs::create_dir_all(&folder)?;
    let folder = folder.canonicalize()?;
    if !folder.join(STAMP).exists() {
        make(machine, &folder).with_context(|| {
            format!(
                "the compiler for static programs cannot be had: it is made from packages of \
                 Debian 12 or newer, for {}",
                machine.debian
            )
        })?;
        fs::write(folder.join(STAMP), PACKAGES.join("\n"))?;
    }
    let rust = if rustup_has(&machine.target())? {
        Rust::Rustup
    } else {
        Rust::Debian(standard_library(machine, &folder)?)
    };
    Ok(Musl {
        machine,
        folder,
        rust,
    })
}

/// Whether rustup has the target for the toolchain that runs this program.
fn rustup_has(target: &str) -> anyhow::Result<bool> {
    let folder = read(program("rustc").args(["--print", "target-libdir", "--target", target]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

fn standard_library(machine: Machine, folder: &Path) -> anyhow::Result<wasm::Toolchain> {
    let toolchain = wasm::prepare_toolchain()?;
    let target = machine.target();
    let library = toolchain
        .usr()
        .join("lib/rustlib")
        .join(&target)
        .join("lib");
    if !library.join(STAMP).exists() {
        println!("compiling the standard library for {target}, once");
        let flags = [NOT_SELF_CONTAINED, "-Ctarget-feature=+crt-static"].map(str::to_owned);
        toolchain.add_standard_library(&target, "std,panic_unwind", &flags)?;
        fs::copy(folder.join("libunwind.a"), library.join("libunwind.a"))?;
        fs::write(library.join(STAMP), "")?;
    }
    Ok(toolchain)
}

fn make(machine: Machine, folder: &Path) -> anyhow::Result<()> {
    ensure!(
        succeeds(program(&machine.gcc()).arg("--version")),
        "{} is missing: install the package gcc-{}-linux-gnu",
        machine.gcc(),
        machine.processor.replace('_', "-")
    );
    let packages = folder.join("packages");
    let unpacked = folder.join("unpacked");
    for folder in [&packages, &unpacked] {
        fs::create_dir_all(folder)?;
    }
    download(machine, &packages)?;
    for package in fs::read_dir(&packages)? {
        let path = package?.path();
        if path.extension().is_some_and(|extension| extension == "deb") {
            run_command(
                program("dpkg-deb")
                    .arg("--extract")
                    .args([&path, &unpacked]),
            )?;
        }
    }
    fs::remove_dir_all(&packages)?;
    let specs = folder.join("specs");
    fs::write(&specs, self::specs(machine, &unpacked.join("usr")))?;
    let compiler = folder.join("cc");
    let text = format!(
        "#!/bin/sh\nexec {} \"$@\" -specs '{}'\n",
        machine.gcc(),
        specs.display()
    );
    fs::write(&compiler, text)?;
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755))?;
    add_unwinder(folder, &compiler)
}

/// For packages of another architecture, apt gets separate lists.
fn download(machine: Machine, folder: &Path) -> anyhow::Result<()> {
    let apt = || {
        let mut apt = program("apt-get");
        apt.args(["--quiet=2", "--option", "APT::Sandbox::User=root"]);
        if !machine.is_native() {
            let options = [
                format!("APT::Architecture={}", machine.debian),
                format!("APT::Architectures::={}", machine.debian),
                format!("Dir::State::Lists={}", folder.join("lists").display()),
                format!("Dir::Cache={}", folder.join("cache").display()),
            ];
            for option in options {
                apt.args(["--option", &option]);
            }
        }
        apt.current_dir(folder);
        apt
    };
    if !machine.is_native() {
        fs::create_dir_all(folder.join("lists/partial"))?;
        fs::create_dir_all(folder.join("cache/archives/partial"))?;
        run_command(apt().arg("update"))?;
    }
    run_command(apt().arg("download").args(PACKAGES))
}

/// LLVM's unwinder, and the one function it calls that musl lacks.
fn add_unwinder(folder: &Path, compiler: &Path) -> anyhow::Result<()> {
    let source = folder.join("checked-print.c");
    let object = folder.join("checked-print.o");
    let archive = folder.join("libunwind.a");
    fs::write(&source, CHECKED_PRINT)?;
    let compiler = compiler.to_string_lossy();
    run_command(
        program(&compiler)
            .args(["-O2", "-fPIC", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(&object),
    )?;
    fs::copy(
        folder.join("unpacked/usr/lib/llvm-22/lib/libunwind.a"),
        &archive,
    )?;
    run_command(program("ar").arg("r").arg(&archive).arg(&object))
}

/// The GCC specs that differ from those for the system's C library. Programs are static and
/// position-independent.
fn specs(machine: Machine, usr: &Path) -> String {
    let usr = usr.display();
    let processor = machine.processor;
    let library = format!("{usr}/lib/{processor}-linux-musl");
    let include = format!(
        "-nostdinc -isystem {usr}/include/{processor}-linux-musl -isystem include%s \
         -idirafter {usr}/include -idirafter {usr}/include/{processor}-linux-gnu"
    );
    format!(
        "%rename cpp_options old_cpp_options\n\n\
         *cpp_options:\n{include} %(old_cpp_options)\n\n\
         *cc1:\n%(cc1_cpu) {include}\n\n\
         *link_libgcc:\n-L{library} -L .%s\n\n\
         *libgcc:\nlibgcc.a%s\n\n\
         *startfile:\n%{{static-pie:{library}/rcrt1.o;:{library}/crt1.o}} {library}/crti.o \
         crtbeginS.o%s\n\n\
         *endfile:\ncrtendS.o%s {library}/crtn.o\n\n\
         *link:\n-nostdlib %{{static-pie:-static -pie --no-dynamic-linker -z text;:-static}}\n\n\
         *esp_link:\n\n\n*esp_options:\n\n\n*esp_cpp_options:\n\n\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_the_names_that_rust_gcc_and_debian_give_them() {
        assert_eq!(X86_64.target(), "x86_64-unknown-linux-musl");
        assert_eq!(ARM_64.target(), "aarch64-unknown-linux-musl");
        assert_eq!(ARM_64.gcc(), "aarch64-linux-gnu-gcc");
        assert_ne!(X86_64.is_native(), ARM_64.is_native());
    }

    #[test]
    fn no_header_and_no_object_of_the_systems_own_library_is_named() {
        let text = specs(ARM_64, Path::new("/made/usr"));
        assert!(text.contains("-isystem /made/usr/include/aarch64-linux-musl"));
        assert!(text.contains("/made/usr/lib/aarch64-linux-musl/rcrt1.o"));
        assert!(!text.contains(" /usr/"), "{text}");
    }
}

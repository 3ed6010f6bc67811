//! Build settings for sanitizing both Rust and C code with a stable toolchain.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::command::{cargo, program, read};

/// The host triple.
pub fn host() -> anyhow::Result<String> {
    let text = read(program("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// The toolchain's libraries and tools for the host.
pub fn library_folder() -> anyhow::Result<PathBuf> {
    let sysroot = read(program("rustc").args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(host()?))
}

/// Whether the toolchain includes the runtime of a sanitizer, such as `asan`.
pub fn has_runtime(name: &str) -> anyhow::Result<bool> {
    let end = format!("_rt.{name}.a");
    let entries = std::fs::read_dir(library_folder()?.join("lib"));
    Ok(entries.is_ok_and(|mut entries| {
        entries.any(|entry| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(&end))
        })
    }))
}

/// Flags for address sanitizer in Rust code. The option is unstable, but the runtime is included;
/// [`command`] enables unstable options.
pub const ADDRESS: &[&str] = &["-Zsanitizer=address", "-Cforce-frame-pointers=yes"];

/// Settings of the address sanitizer's runtime. GCC and LLVM differ in how they distinguish two
/// static variables with the same name, so the ODR check only finds this difference. A process that
/// reads a map beyond the end of its file must die of SIGBUS, as for users.
pub const ADDRESS_OPTIONS: &str =
    "detect_odr_violation=0:detect_stack_use_after_return=1:handle_sigbus=0";

/// Cargo with these flags for the host only, so that build scripts are built as usual; with
/// `sanitized`, C code gets the address sanitizer too.
pub fn command(flags: &[&str], sanitized: bool) -> anyhow::Result<Command> {
    let host = host()?;
    let variable = host.replace('-', "_");
    let mut command = cargo();
    command
        .env("RUSTFLAGS", flags.join(" "))
        .env("CARGO_BUILD_TARGET", &host)
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    if sanitized {
        command.env("RUSTC_BOOTSTRAP", "1").env(
            format!("CFLAGS_{variable}"),
            "-fsanitize=address -fno-omit-frame-pointer",
        );
    }
    Ok(command)
}

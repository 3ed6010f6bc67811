//! MariaDB, which the system provides.

use super::Installable;
use super::system::Packages;
use crate::mysql::Brand;
use crate::server::Product;

pub(super) const INSTALLABLE: Installable = Installable {
    name: "mariadb",
    description: "MariaDB, from the system's packages: mariadb, mariadb-nosync",
    find: |_| Some(crate::mysql::product(Brand::MariaDb).locate().ok()?.server),
    // Packages with only the programs: `mariadb-server` would also start a service.
    system: Some(&Packages {
        product: "MariaDB",
        names: &["mariadb-server-core", "mariadb-client-core"],
    }),
    requires: &[],
    make: None,
};

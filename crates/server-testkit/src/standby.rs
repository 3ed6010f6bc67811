//! Standbys of a server, by streaming replication.

use crate::{Postgres, command, folder_of_server};

impl Postgres {
    /// Starts a standby of this server, which must be running, with settings. It follows this
    /// server until it is promoted.
    ///
    /// # Panics
    ///
    /// If it does not start, since a test cannot go on.
    pub fn start_standby(&self, settings: &[(&str, &str)]) -> Self {
        let folder = folder_of_server();
        let made = command(&self.programs.join("pg_basebackup"))
            .args(["--host=127.0.0.1", "--username=postgres", "--no-sync"])
            .args([
                "--checkpoint=fast",
                "--wal-method=stream",
                "--write-recovery-conf",
            ])
            .arg(format!("--port={}", self.port))
            .arg("--pgdata")
            .arg(folder.path().join("data"))
            .output()
            .expect("pg_basebackup runs");
        let said = String::from_utf8_lossy(&made.stderr).into_owned();
        assert!(made.status.success(), "pg_basebackup: {said}");
        let locales = self.locales.clone();
        Self::start_in((folder, self.programs.clone()), settings, locales)
    }

    /// Makes a standby the primary, and waits until it is.
    ///
    /// # Panics
    ///
    /// If it is not.
    pub fn promote(&self) {
        let row = self.connect().query_one("SELECT pg_promote(true, 60)", &[]);
        assert!(
            row.expect("the superuser may").get::<_, bool>(0),
            "not within a minute"
        );
    }
}

//! A cluster of MariaDB: nodes that replicate by Galera.

use std::path::Path;

use crate::free_port;
use crate::mysql::{Brand, MySql};

const PROVIDER: &str = "/usr/lib/galera/libgalera_smm.so";

/// Nodes that replicate to each other. The first one began the cluster.
pub struct Galera {
    /// All of them; a node that was killed is started by [`Self::start_again`].
    pub nodes: Vec<MySql>,
    ports: Vec<[u16; 3]>,
}

impl Galera {
    /// Whether MariaDB and Galera are installed.
    pub fn is_installed() -> bool {
        Brand::MariaDb.is_installed() && Path::new(PROVIDER).is_file()
    }

    /// Starts so many nodes. The first one runs `sql` first, a statement a line.
    ///
    /// # Panics
    ///
    /// If one does not start, since a test cannot go on.
    pub fn start(count: usize, sql: &str) -> Self {
        let ports: Vec<_> = (0..count).map(|_| [(); 3].map(|()| free_port())).collect();
        let mut galera = Self {
            nodes: Vec::new(),
            ports,
        };
        for index in 0..count {
            let mut arguments = galera.arguments(index);
            if index == 0 {
                arguments.push("--wsrep-new-cluster".to_owned());
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // The others get everything from the first.
            let sql = if index == 0 { sql } else { "" };
            let node = MySql::start(Brand::MariaDb, &arguments, &[], sql);
            galera.nodes.push(node);
        }
        galera
    }

    /// Starts a node after its crash; it joins the others.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self, index: usize) {
        let arguments = self.arguments(index);
        self.nodes[index].start_again_with(arguments);
    }

    fn arguments(&self, index: usize) -> Vec<String> {
        let members = self
            .ports
            .iter()
            .map(|[own, ..]| format!("127.0.0.1:{own}"));
        let members = members.collect::<Vec<_>>().join(",");
        let [own, incremental, whole] = self.ports[index];
        vec![
            "--wsrep-on=ON".to_owned(),
            format!("--wsrep-provider={PROVIDER}"),
            "--wsrep-cluster-name=strongroom".to_owned(),
            format!("--wsrep-cluster-address=gcomm://{members}"),
            format!("--wsrep-node-name=n{index}"),
            format!("--wsrep-node-address=127.0.0.1:{own}"),
            "--wsrep-sst-method=rsync".to_owned(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{whole}"),
            // A node that is gone is noticed within two seconds.
            format!(
                "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:{own};\
                 ist.recv_addr=127.0.0.1:{incremental};gcache.size=32M;\
                 evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;\
                 evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S"
            ),
            "--binlog-format=ROW".to_owned(),
            "--innodb-autoinc-lock-mode=2".to_owned(),
            "--innodb-buffer-pool-size=64M".to_owned(),
            "--innodb-flush-log-at-trx-commit=1".to_owned(),
        ]
    }
}

//! A MariaDB server of its own for the suites of protected columns, and rules for its tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::bail;

use super::servers::{Upstream, as_server, await_that, free_port, give_to_server};
use crate::command::{program, read, succeeds};

/// What is asked of the catalogues: columns, with whether the server has a value for them; what it
/// computes and tests; columns of keys; what refers to what.
const QUERIES: &str = "\
    SELECT 'column', c.table_name, column_name, column_type, \
      extra = '' AND COALESCE(column_default, 'NULL') = 'NULL' FROM information_schema.columns c \
      JOIN information_schema.tables t USING (table_schema, table_name) \
      WHERE c.table_schema = 'DATABASE' AND table_type = 'BASE TABLE'; \
    SELECT 'uses', table_name, generation_expression FROM information_schema.columns \
      WHERE table_schema = 'DATABASE' AND generation_expression IS NOT NULL; \
    SELECT 'uses', table_name, check_clause FROM information_schema.check_constraints \
      WHERE constraint_schema = 'DATABASE'; \
    SELECT 'key', table_name, column_name FROM information_schema.statistics \
      WHERE table_schema = 'DATABASE'; \
    SELECT 'refers', table_name, column_name, referenced_table_name, referenced_column_name \
      FROM information_schema.key_column_usage \
      WHERE table_schema = 'DATABASE' AND referenced_table_name IS NOT NULL";

/// A server, which ends with this value. Its user `root` has no password.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts one with its data below `folder`, which then belongs to the user of the server.
    pub fn start(programs: &Path, folder: &Path) -> anyhow::Result<Self> {
        let data = folder.join("data");
        give_to_server(folder)?;
        let at = |option: &str, path: PathBuf| format!("--{option}={}", path.display());
        let small = "--innodb-log-file-size=8M";
        let mut install = program("mariadb-install-db");
        install
            .current_dir(folder)
            .args(["--no-defaults", "--skip-test-db", small])
            .arg("--auth-root-authentication-method=normal")
            .arg(at("datadir", data.clone()));
        read(as_server(&mut install))?;
        let port = free_port()?;
        let log = fs::File::create(folder.join("log"))?;
        let mut command = Command::new(programs.join("mariadbd"));
        as_server(command.current_dir(folder))
            .args(["--no-defaults", "--bind-address=127.0.0.1", small])
            .arg(format!("--port={port}"))
            .arg(at("datadir", data))
            // A server removes the temporary tables that it finds, also those of another one.
            .arg(at("tmpdir", folder.to_owned()))
            .arg(at("socket", folder.join("socket")))
            .arg(at("pid-file", folder.join("pid")))
            // Nobody needs these tables after a power cut.
            .args(["--innodb-flush-log-at-trx-commit=0", "--sync-frm=0"])
            .arg("--innodb-flush-method=nosync")
            .args([
                "--character-set-server=utf8mb4",
                "--default-time-zone=+00:00",
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn()?;
        let server = Self { child, port };
        await_that(|| succeeds(&mut server.client("DO 0")))?;
        Ok(server)
    }

    /// Has the server execute a text.
    pub fn sql(&self, text: &str) -> anyhow::Result<()> {
        read(&mut self.client(text)).map(drop)
    }

    /// What a proxy needs to know of it.
    pub fn upstream(&self) -> Upstream {
        Upstream {
            port: self.port,
            protocol: "mysql",
            engine: "mariadb",
        }
    }

    /// Rules for the tables of a database, which is in clear, under the names of `databases`: for
    /// every column that can have one.
    ///
    /// Numbers and times in keys get mode `equality`, and all columns that refer to each other one
    /// domain. Texts in keys get no rule: the server compares them by a collation.
    pub fn rules(&self, database: &str, databases: &[&str]) -> anyhow::Result<String> {
        let columns = self.columns(database)?;
        let mut rules = String::new();
        for name in databases {
            let mut last = None;
            for (column, rule) in &columns {
                if last != Some(&column.table) {
                    writeln!(rules, "[columns.\"{name}.{}\"]", column.table)?;
                    last = Some(&column.table);
                }
                let domain = match &rule.domain {
                    Some(domain) => format!(", domain = \"{name}-{domain}\""),
                    None => String::new(),
                };
                writeln!(rules, "{} = {{ {}{domain} }}", column.name, rule.text)?;
            }
        }
        Ok(rules)
    }

    /// The columns that can have rules.
    fn columns(&self, database: &str) -> anyhow::Result<BTreeMap<Column, Rule>> {
        let asked = QUERIES.replace("DATABASE", database);
        let answer = read(&mut self.client(&asked))?;
        let mut columns: BTreeMap<Column, Found> = BTreeMap::new();
        for line in answer.lines() {
            match *line.split('\t').collect::<Vec<&str>>() {
                ["column", table, name, declared, is_bare] => {
                    let found = Found {
                        logical: logical(declared).filter(|_| is_bare == "1"),
                        ..Found::default()
                    };
                    columns.insert(Column::new(table, name), found);
                }
                ["uses", table, text] => {
                    let is_used = |own: &Column| {
                        own.table == table && text.contains(&format!("`{}`", own.name))
                    };
                    let used = columns.iter_mut().filter(|(own, _)| is_used(own));
                    used.for_each(|(_, found)| found.logical = None);
                }
                ["key", table, name] => {
                    if let Some(found) = columns.get_mut(&Column::new(table, name)) {
                        found.is_in_key = true;
                    }
                }
                ["refers", table, name, parent, referred] => {
                    if let Some(found) = columns.get_mut(&Column::new(table, name)) {
                        found.parents.push(Column::new(parent, referred));
                    }
                }
                _ => bail!("an answer has another form: {line}"),
            }
        }
        let is_small = |name: &str| !name.bytes().any(|byte| byte.is_ascii_uppercase());
        let unknown: Vec<String> = columns
            .keys()
            .filter(|own| !is_small(&own.name))
            .map(|own| own.table.clone())
            .collect();
        // Names with capitals have no rules yet.
        for (own, found) in &mut columns {
            if unknown.contains(&own.table) || !is_small(&own.table) {
                found.logical = None;
            }
        }
        Ok(rules_of(&columns))
    }

    fn client(&self, text: &str) -> Command {
        let mut command = program("mariadb");
        let port = format!("--port={}", self.port);
        command.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", &port]);
        command.args(["--user=root", "--batch", "--raw", "--skip-column-names"]);
        command.args(["--default-character-set=utf8mb4", "--execute", text]);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A column, by its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Column {
    table: String,
    name: String,
}

impl Column {
    fn new(table: &str, name: &str) -> Self {
        Self {
            table: table.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// What the catalogues say of a column.
#[derive(Default)]
struct Found {
    /// The type for its rule, if it can have one.
    logical: Option<String>,
    is_in_key: bool,
    /// What it refers to.
    parents: Vec<Column>,
}

/// A rule without its domain, and the domain.
#[derive(Debug, PartialEq)]
struct Rule {
    text: String,
    domain: Option<String>,
}

/// The type that a rule has for a declared one; None: there is none.
fn logical(declared: &str) -> Option<String> {
    let (name, size) = declared.split_once('(').unwrap_or((declared, ""));
    let size = size.strip_suffix(')').unwrap_or(size);
    Some(match name {
        "smallint" if !declared.ends_with("unsigned") => "smallint".to_owned(),
        "int" if !declared.ends_with("unsigned") => "integer".to_owned(),
        "bigint" if !declared.ends_with("unsigned") => "bigint".to_owned(),
        "decimal" if size.split(',').next()?.parse::<u32>().ok()? <= 38 => {
            format!("numeric({size})")
        }
        "double" => "double precision".to_owned(),
        "char" | "varchar" => format!("{name}({size})"),
        "text" | "longtext" => "text".to_owned(),
        "blob" | "longblob" => "bytea".to_owned(),
        "date" => "date".to_owned(),
        "datetime" if size.is_empty() => "timestamp(0)".to_owned(),
        "datetime" => format!("timestamp({size})"),
        _ => return None,
    })
}

/// Whether equal values of a type can have equal ciphertexts whatever the collation.
fn has_equality(logical: &str) -> bool {
    !["char", "text", "bytea", "double", "varchar"]
        .iter()
        .any(|name| logical.starts_with(name))
}

/// The column that stands for all that refer to each other.
fn root<'a>(roots: &BTreeMap<&'a Column, &'a Column>, mut column: &'a Column) -> &'a Column {
    while let Some(&next) = roots.get(column) {
        column = next;
    }
    column
}

/// Rules for columns: those that refer to each other get one domain, or none of them a rule.
fn rules_of(columns: &BTreeMap<Column, Found>) -> BTreeMap<Column, Rule> {
    let mut roots: BTreeMap<&Column, &Column> = BTreeMap::new();
    for (column, found) in columns {
        for parent in &found.parents {
            let (own, other) = (root(&roots, column), root(&roots, parent));
            if own != other {
                roots.insert(own, other);
            }
        }
    }
    let mut groups: BTreeMap<&Column, Vec<(&Column, &Found)>> = BTreeMap::new();
    for (column, found) in columns {
        let own = root(&roots, column);
        groups.entry(own).or_default().push((column, found));
    }
    let mut rules = BTreeMap::new();
    for (own, members) in groups {
        let is_tied = members.len() > 1;
        let text = |found: &Found| {
            let logical = found.logical.as_deref()?;
            match found.is_in_key || is_tied {
                false => Some(format!("type = \"{logical}\"")),
                true if !has_equality(logical) => None,
                true => Some(format!(
                    "type = \"{logical}\", mode = \"equality\", accept_leakage = true"
                )),
            }
        };
        let texts: Option<Vec<String>> = members.iter().map(|(_, found)| text(found)).collect();
        let domain = is_tied.then(|| format!("{}-{}", own.table, own.name));
        for ((column, _), text) in members.iter().zip(texts.into_iter().flatten()) {
            let domain = domain.clone();
            rules.insert((*column).clone(), Rule { text, domain });
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_refer_to_each_other_have_one_domain_or_no_rule() {
        let found = |declared: &str, parents: &[(&str, &str)]| Found {
            logical: logical(declared),
            is_in_key: declared.starts_with("int"),
            parents: parents
                .iter()
                .map(|(table, name)| Column::new(table, name))
                .collect(),
        };
        let columns = [
            (Column::new("a", "id"), found("int(11)", &[])),
            (Column::new("b", "a_id"), found("int(11)", &[("a", "id")])),
            (Column::new("b", "note"), found("longtext", &[])),
            (Column::new("c", "id"), found("int(10) unsigned", &[])),
            (Column::new("d", "c_id"), found("int(11)", &[("c", "id")])),
        ];
        let rules = rules_of(&columns.into_iter().collect());
        let rules: Vec<_> = rules
            .iter()
            .map(|(column, rule)| {
                let domain = rule.domain.as_deref().unwrap_or_default();
                format!("{}.{} {} {domain}", column.table, column.name, rule.text)
            })
            .collect();
        let number = "type = \"integer\", mode = \"equality\", accept_leakage = true a-id";
        let wanted = [
            format!("a.id {number}"),
            format!("b.a_id {number}"),
            "b.note type = \"text\" ".to_owned(),
        ];
        assert_eq!(rules, wanted);
    }
}

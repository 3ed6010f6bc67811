//! Extensions of PostgreSQL's own in the databases of a server: those that the client's server has,
//! where they are the same.
//!
//! The client's server tells names, schemas and versions. Of these names only those that are listed
//! here are taken, and what is executed comes from the files of this machine.

use column_value::ExtensionType;
use session_postgres::finisher::FinisherKind;
use sql_rewrite::{EXTENSIONS, Extension};

use crate::connection::{Connection, Failure, TextRow};
use crate::error::FinisherError;
use crate::lacking::Lacking;
use crate::moment_casts;
use crate::type_numbers;
use crate::walls::{self, literal, quoted};

/// Extensions whose functions compute, and whose other functions nobody may call.
const KNOWN: [&str; 6] = [
    "citext",
    "fuzzystrmatch",
    "hstore",
    "pg_trgm",
    "pgcrypto",
    "unaccent",
];

/// What of them is volatile because it is by chance, and nothing else.
const OF_CHANCE: &str = "'gen_random_bytes', 'gen_salt', 'pgp_pub_encrypt', \
                         'pgp_pub_encrypt_bytea', 'pgp_sym_encrypt', 'pgp_sym_encrypt_bytea'";

/// Creates the extensions of a kind that are here as the client's server has them, on a connection
/// of the superuser to the database. One that is not is left out, and the log says so.
pub(crate) async fn create(
    owner: &mut Connection,
    database: &str,
    kind: &FinisherKind,
) -> Result<Lacking, FinisherError> {
    let mut lacking = Lacking::default();
    let known = |own: &&Extension| {
        KNOWN.contains(&own.name.as_str())
            && !own.schema.starts_with("pg_")
            && own.schema != "information_schema"
    };
    for extension in kind.extensions.iter().filter(known) {
        let has_type = ExtensionType::of_name(&extension.name).is_some();
        let created = match has_type && kind.major < type_numbers::SINCE {
            true => Ok(false),
            false => create_one(owner, extension).await,
        };
        if !matches!(created, Ok(true)) {
            let (name, version) = (&extension.name, &extension.version);
            lacking.0.push(format!("{name} {version}"));
        }
        match created {
            Ok(true) => {}
            Ok(false) => tracing::warn!(
                extension = extension.name,
                version = extension.version,
                "the server has this extension otherwise than this machine: the finisher does \
                 without it"
            ),
            Err(Failure::Query(error)) => tracing::warn!(
                extension = extension.name,
                version = extension.version,
                %error,
                "the server has an extension that this machine has not: the finisher does without \
                 it"
            ),
            Err(failure) => return Err(walls::refused(failure)),
        }
    }
    type_numbers::take(owner, kind).await?;
    if !kind.extensions.is_empty() || !kind.named_types.is_empty() {
        let own = kind.search_path.iter().map(|name| quoted(name));
        let path: Vec<String> = std::iter::once("pg_catalog".to_owned())
            .chain(own)
            .collect();
        let sql = format!(
            "ALTER DATABASE {database} SET search_path TO {}",
            path.join(", ")
        );
        owner.simple(&sql).await.map_err(walls::refused)?;
    }
    Ok(lacking)
}

/// False: what is created here differs from what the client's server has.
async fn create_one(owner: &mut Connection, extension: &Extension) -> Result<bool, Failure> {
    let (name, schema) = (quoted(&extension.name), quoted(&extension.schema));
    let version = literal(&extension.version);
    let sql = format!(
        "CREATE SCHEMA IF NOT EXISTS {schema}; \
         CREATE EXTENSION {name} SCHEMA {schema} VERSION {version}"
    );
    owner.simple(&sql).await?;
    // Types are printed as where the client's server was asked.
    let asked = format!("SET search_path TO pg_catalog, pg_temp; {EXTENSIONS}");
    let rows = owner.simple(&asked).await?;
    let is_own = |row: &&TextRow| row.get(1).and_then(Option::as_ref) == Some(&extension.name);
    let digest = rows.iter().find(is_own).and_then(|row| row.get(4));
    if digest.and_then(Option::as_ref) != Some(&extension.digest) {
        owner.simple(&format!("DROP EXTENSION {name}")).await?;
        return Ok(false);
    }
    let volatile = owner.simple(&volatile_functions(&extension.name)).await?;
    let volatile: Vec<String> = volatile.into_iter().flatten().flatten().collect();
    let mut sql = format!("GRANT USAGE ON SCHEMA {schema} TO {};", walls::QUERIES);
    if !volatile.is_empty() {
        let functions = volatile.join(", ");
        sql.push_str(&format!(
            "REVOKE EXECUTE ON ROUTINE {functions} FROM PUBLIC;"
        ));
    }
    owner.simple(&sql).await?;
    if extension.name == "citext" {
        let [own, output] = ["citext", "citextout"].map(|own| format!("{schema}.{own}"));
        moment_casts::create_of(owner, &own, &output).await?;
    }
    Ok(true)
}

fn volatile_functions(extension: &str) -> String {
    format!(
        "SELECT p.oid::regprocedure FROM pg_proc p \
         JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid \
         JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid \
         WHERE d.deptype = 'e' AND e.extname = {} AND p.provolatile = 'v' \
         AND p.proname NOT IN ({OF_CHANCE})",
        literal(extension)
    )
}

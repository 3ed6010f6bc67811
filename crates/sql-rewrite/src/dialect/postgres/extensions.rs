//! Functions and operators of PostgreSQL's own extensions ("Additional Supplied Modules") that the
//! finisher evaluates as the client's server does.
//!
//! The server has an extension in some schema and version, and the finisher makes its own the same.
//! What of it depends on its arguments alone is listed here, whatever the server says.

use crate::Schema;
use crate::schema::cells::text;
use crate::schema::{Answer, Extension, Extensions};

/// An extension as PostgreSQL supplies it.
struct Supplied {
    name: &'static str,
    /// Functions that depend on their arguments, and on settings that the finisher shares with the
    /// session.
    pure: &'static str,
    /// Functions that add something drawn by chance: nobody can tell who evaluated them.
    of_chance: &'static str,
    operators: &'static str,
}

const SUPPLIED: [Supplied; 6] = [
    Supplied {
        name: "citext",
        pure: "citext max min regexp_match regexp_matches regexp_replace regexp_split_to_array \
               regexp_split_to_table replace split_part strpos translate",
        of_chance: "",
        operators: "!~ !~* !~~ !~~* < <= <> = > >= ~ ~* ~<=~ ~<~ ~>=~ ~>~ ~~ ~~*",
    },
    Supplied {
        name: "fuzzystrmatch",
        pure: "daitch_mokotoff difference dmetaphone dmetaphone_alt levenshtein \
               levenshtein_less_equal metaphone soundex text_soundex",
        of_chance: "",
        operators: "",
    },
    Supplied {
        name: "hstore",
        pure: "akeys avals defined delete each exist exists_all exists_any fetchval hs_concat \
               hs_contained hs_contains hstore hstore_to_array hstore_to_json \
               hstore_to_json_loose hstore_to_jsonb hstore_to_jsonb_loose hstore_to_matrix \
               isdefined isexists skeys slice slice_array svals tconvert",
        of_chance: "",
        operators: "#<# #<=# #= #># #>=# %# %% - -> <> <@ = ? ?& ?| @> ||",
    },
    Supplied {
        name: "pg_trgm",
        pure: "show_trgm similarity strict_word_similarity word_similarity",
        of_chance: "",
        operators: "% %> <% %>> <<% <-> <->> <<-> <->>> <<<->",
    },
    Supplied {
        name: "pgcrypto",
        pure: "armor crypt dearmor decrypt decrypt_iv digest encrypt encrypt_iv hmac pgp_key_id \
               pgp_pub_decrypt pgp_pub_decrypt_bytea pgp_sym_decrypt pgp_sym_decrypt_bytea",
        of_chance: "gen_random_bytes gen_salt pgp_pub_encrypt pgp_pub_encrypt_bytea \
                    pgp_sym_encrypt pgp_sym_encrypt_bytea",
        operators: "",
    },
    Supplied {
        name: "unaccent",
        pure: "unaccent",
        of_chance: "",
        operators: "",
    },
];

/// The function that takes a dictionary, which can be another one, before the text.
const OF_DICTIONARY: &str = "unaccent";

fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|own| own == name)
}

/// Whether a function of this name in any schema may give something drawn by chance.
pub(super) fn may_be_of_chance(name: &str) -> bool {
    SUPPLIED.iter().any(|own| has(own.of_chance, name))
}

/// Whether a name of a function means one of an extension that the finisher has too, called with so
/// many arguments.
pub(super) fn has_function(
    schema: &Schema,
    (own_schema, name): (Option<&str>, &str),
    arguments: usize,
) -> bool {
    let is_listed = |own: &Supplied| has(own.pure, name) || has(own.of_chance, name);
    is_meant(schema, own_schema, name, is_listed) && (name != OF_DICTIONARY || arguments == 1)
}

/// Whether an operator of a named schema is one of an extension that the finisher has too.
pub(super) fn has_operator(schema: &Schema, own_schema: &str, name: &str) -> bool {
    is_meant(schema, Some(own_schema), name, |own| {
        has(own.operators, name)
    })
}

/// Whether the finisher may take an operator of no schema for one of an extension, where the server
/// may take it for another.
pub(super) fn may_confuse_operator(schema: &Schema, name: &str) -> bool {
    let extensions = &schema.catalogue.finisher.extensions;
    extensions.clashes.contains(name) && SUPPLIED.iter().any(|own| has(own.operators, name))
}

fn is_meant(
    schema: &Schema,
    own_schema: Option<&str>,
    name: &str,
    is_listed: impl Fn(&Supplied) -> bool,
) -> bool {
    let extensions = &schema.catalogue.finisher.extensions;
    let is_found = |extension: &Extension| match own_schema {
        Some(own) => own == extension.schema,
        None => schema.search_path.contains(&extension.schema),
    };
    let mut all = extensions.all.iter();
    let found = all.find(|extension| {
        let supplied = SUPPLIED.iter().find(|own| own.name == extension.name);
        supplied.is_some_and(&is_listed) && is_found(extension)
    });
    found.is_some() && !extensions.clashes.contains(name)
}

/// Reads the catalogue's answer.
pub(crate) fn read(answer: &Answer) -> Extensions {
    let mut extensions = Extensions::default();
    for row in answer {
        let text = |index: usize| text(row, index);
        match text(0).as_str() {
            // Nobody makes schemas of these names: the server's own functions are there.
            "extension" if text(2).starts_with("pg_") || text(2) == "information_schema" => {}
            "extension" => extensions.all.push(Extension {
                name: text(1),
                schema: text(2),
                version: text(3),
                digest: text(4),
            }),
            "method" => drop(extensions.byte_methods.insert(text(1))),
            _ => drop(extensions.clashes.insert(text(1))),
        }
    }
    extensions
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A query of the catalogue over an extension's own functions or operators.
    fn names(client: &mut postgres::Client, extension: &str, query: &str) -> Vec<String> {
        let rows = client.query(query, &[&extension]).expect("names");
        rows.iter().map(|row| row.get(0)).collect()
    }

    const FUNCTIONS: &str = "
        SELECT DISTINCT p.proname::text FROM pg_proc p
        JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        JOIN pg_extension e ON d.deptype = 'e' AND e.oid = d.refobjid
        WHERE e.extname = $1 AND p.provolatile";

    const OPERATORS: &str = "
        SELECT DISTINCT o.oprname::text FROM pg_operator o
        JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid
        JOIN pg_extension e ON d.deptype = 'e' AND e.oid = d.refobjid
        JOIN pg_proc p ON p.oid = o.oprcode
        WHERE e.extname = $1 AND p.provolatile <> 'v'";

    #[test]
    fn functions_and_operators_are_listed_as_the_extensions_have_them() {
        let Some((_server, mut client)) = server_testkit::connected() else {
            return;
        };
        for own in &SUPPLIED {
            let create = format!("CREATE EXTENSION {}", own.name);
            client.batch_execute(&create).expect(&create);
            let mut functions =
                |condition: &str| names(&mut client, own.name, &format!("{FUNCTIONS} {condition}"));
            let (immutable, volatile) = (functions("= 'i'"), functions("= 'v'"));
            let stable = functions("= 's'");
            // The first comes with version 16.
            let mut pure = own.pure.split_whitespace();
            let wrong = pure.find(|name| {
                let is_pure = immutable.iter().any(|own| own == name)
                    || (*name == "unaccent" && stable.iter().any(|own| own == name));
                !is_pure && *name != "daitch_mokotoff"
            });
            assert_eq!(wrong, None, "{}", own.name);
            let mut of_chance = own.of_chance.split_whitespace();
            let wrong = of_chance.find(|name| !volatile.iter().any(|own| own == name));
            assert_eq!(wrong, None, "{}", own.name);
            let operators = names(&mut client, own.name, OPERATORS);
            let mut listed: Vec<&str> = own.operators.split_whitespace().collect();
            listed.sort_unstable();
            let mut operators: Vec<&str> = operators.iter().map(String::as_str).collect();
            operators.sort_unstable();
            assert_eq!(operators, listed, "{}", own.name);
        }
    }
}

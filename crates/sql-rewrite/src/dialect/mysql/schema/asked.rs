//! What is asked of a server's `information_schema`.

/// The user's databases: those of the server itself have no tables that can be protected.
macro_rules! of_users {
    ($column:literal) => {
        concat!(
            $column,
            " NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
        )
    };
}

/// The rows of a table of privileges that are those of the account itself.
macro_rules! own_grants {
    () => {
        "grantee = CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - \
         CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1), '''@''', \
         SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')"
    };
}

/// What is asked of the server, one after the other. Texts are the same in every SQL mode.
pub const ASKED: [&str; 9] = [
    concat!(
        "SELECT table_schema, table_name, table_type, engine, table_collation FROM \
         information_schema.tables WHERE ",
        of_users!("table_schema"),
        " ORDER BY table_schema, table_name"
    ),
    concat!(
        "SELECT table_schema, table_name, column_name, column_type, is_nullable = 'YES', \
         column_default IS NOT NULL AND (column_default <> 'NULL' OR VERSION() NOT LIKE \
         '%MariaDB%'), extra, collation_name, privileges, column_default FROM \
         information_schema.columns WHERE ",
        of_users!("table_schema"),
        " ORDER BY table_schema, table_name, ordinal_position"
    ),
    concat!(
        "SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE ",
        of_users!("table_schema"),
        " ORDER BY table_schema, table_name"
    ),
    // Also those of the server: some run a text as SQL.
    "SELECT routine_name, routine_definition FROM information_schema.routines \
     ORDER BY routine_schema, routine_name",
    concat!(
        "SELECT event_object_schema, event_object_table, action_statement FROM \
         information_schema.triggers WHERE ",
        of_users!("trigger_schema"),
        " ORDER BY trigger_schema, trigger_name"
    ),
    // Where this account sees triggers. That of a role is left out: the account may give it up.
    concat!(
        "SELECT '%', '%' FROM information_schema.user_privileges WHERE privilege_type = \
         'TRIGGER' AND ",
        own_grants!(),
        " UNION ALL SELECT table_schema, '%' FROM information_schema.schema_privileges WHERE \
         privilege_type = 'TRIGGER' AND ",
        own_grants!(),
        " UNION ALL SELECT table_schema, table_name FROM information_schema.table_privileges WHERE \
         privilege_type = 'TRIGGER' AND ",
        own_grants!()
    ),
    // With it a privilege on all databases need not hold for each.
    "SHOW GLOBAL VARIABLES LIKE 'partial_revokes'",
    // Keys, unique ones or not.
    concat!(
        "SELECT table_schema, table_name, index_name, column_name, sub_part IS NULL, non_unique, \
         sub_part FROM information_schema.statistics WHERE ",
        of_users!("table_schema"),
        " ORDER BY table_schema, table_name, index_name = 'PRIMARY' DESC, index_name, seq_in_index"
    ),
    // Columns of type JSON are those with this check; MySQL has a type of its own. Then guards, by
    // their names, which begin like this.
    concat!(
        "SELECT '', '', '', '' FROM DUAL WHERE 0 = 1 /*M!100600 UNION ALL SELECT \
         constraint_schema, table_name, constraint_name, '' FROM \
         information_schema.check_constraints WHERE level = 'Column' AND check_clause = \
         CONCAT('json_valid(`', constraint_name, '`)') AND ",
        of_users!("constraint_schema"),
        " UNION ALL SELECT constraint_schema, table_name, constraint_name, check_clause FROM \
         information_schema.check_constraints WHERE level = 'Table' AND LEFT(constraint_name, 11) \
         = 'strongroom_' AND ",
        of_users!("constraint_schema"),
        " */ /*!80016 UNION ALL SELECT constraint_schema, SUBSTRING(constraint_name, 12), \
         constraint_name, check_clause FROM information_schema.check_constraints WHERE \
         LEFT(constraint_name, 11) = 'strongroom_' AND ",
        of_users!("constraint_schema"),
        " */"
    ),
];

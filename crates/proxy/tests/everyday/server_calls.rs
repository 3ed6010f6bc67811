//! Calls that only the server can make, in what the finisher evaluates: they are refused where they
//! are evaluated, and nowhere else.

pub const STATEMENTS: &[&str] = &[
    "SELECT CASE WHEN upper(note) = 'ABSENT' THEN pg_backend_pid() + pg_size_bytes(note) + \
     pg_notification_queue_usage() ELSE 0 END FROM account",
    "SELECT id, CASE WHEN upper(note) = 'ABSENT' THEN pg_try_advisory_lock(1) END AS done, CASE \
     WHEN false THEN pg_get_userbyid(id::oid) ELSE reverse(name) END FROM account",
    "SELECT id, CASE WHEN upper(note) LIKE 'CANARY%' THEN pg_try_advisory_lock(1) END FROM \
     account ## refused: function pg_try_advisory_lock over protected columns",
    "SELECT pg_catalog.pg_try_advisory_lock(1), upper(note) FROM account WHERE note ~ 'absent'",
    "SELECT pg_try_advisory_lock(1), upper(note) FROM account WHERE note ~ 'first' ## refused: \
     function pg_try_advisory_lock",
    "SELECT upper(note) FROM account WHERE note ~ 'absent' AND pg_try_advisory_lock(1)",
    "SELECT upper(note) FROM account WHERE plain > 1 AND pg_try_advisory_lock(1) AND note ~ 'x' \
     ## refused: function pg_try_advisory_lock",
    "SELECT x.*, x.lastval + 1 FROM (SELECT lastval(), pg_get_userbyid(10)::text, reverse(note) \
     FROM account WHERE note ~ 'absent') x",
    "SELECT lastval(), current_schemas(true), reverse(note) FROM account WHERE length(note) > 99 \
     GROUP BY 1, 2, 3",
    "SELECT pg_get_userbyid(max(id)::oid) FROM account WHERE note ~ 'first' HAVING count(*) > 9",
    "SELECT pg_get_userbyid(count(*)::integer::oid) FROM account WHERE note ~ 'absent' ## \
     refused: function pg_get_userbyid",
    "SELECT CASE WHEN length(note) > 99 THEN name::regclass END, NULL::regclass, coalesce(note, \
     (plain::oid::regtype)::text) FROM account WHERE note > ''",
    "SELECT reverse(note), plain::oid::regtype FROM account ## refused: function regtype",
    "SELECT reverse(note), 'account'::regclass FROM account WHERE note ~ 'absent' ## refused: \
     type regclass",
    "SELECT reverse(note) FROM account WHERE note ~ 'absent' AND nextval('tag_code') > 1 ## \
     refused: a call over protected columns that only the server can make",
    "SELECT reverse(note) FROM account WHERE note ~ 'absent' AND unknown_to_all(id) ## refused: \
     function unknown_to_all",
    "SELECT (pg_control_init()).blocks_per_segment, reverse(note) FROM account ## refused: \
     function pg_control_init",
    "SELECT pg_control_init(), reverse(note) FROM account LIMIT 0",
    "SELECT reverse(note) FROM account WHERE id IN (SELECT pg_backend_pid() + \
     txid_current()::int + pg_relation_size(code::oid) FROM tag WHERE title = \
     reverse('absent'))",
    "UPDATE account SET note = CASE WHEN note ~ 'absent' THEN pg_get_userbyid(10)::text ELSE \
     upper(note) END",
    "UPDATE account SET note = pg_get_userbyid(10)::text || note WHERE note ~ 'first' ## \
     refused: function pg_get_userbyid",
    "DELETE FROM entry WHERE memo ~ 'x' AND CASE WHEN value < 0 THEN pg_try_advisory_lock(1) \
     ELSE true END",
    "DELETE FROM entry WHERE memo ~ 'x' AND pg_try_advisory_lock(1) ## refused: function \
     pg_try_advisory_lock",
    "INSERT INTO archive (id, name) SELECT id + 100, CASE WHEN note ~ 'absent' THEN \
     pg_get_userbyid(10)::text ELSE left(upper(name), 12) END FROM account",
    "INSERT INTO archive (id, name) SELECT id + 100, pg_get_userbyid(10)::text || name FROM \
     account WHERE note > '' ## refused: function pg_get_userbyid",
    "MERGE INTO archive r USING (SELECT id, upper(note) AS n FROM account) a ON a.id = r.id WHEN \
     MATCHED THEN UPDATE SET note = CASE WHEN n = 'absent' THEN pg_get_userbyid(10)::text ELSE n \
     END",
    "INSERT INTO archive (id, name) SELECT id + 100, upper(name) FROM account WHERE note ~ 'i' \
     AND pg_try_advisory_lock(1) ## refused: function pg_try_advisory_lock",
];

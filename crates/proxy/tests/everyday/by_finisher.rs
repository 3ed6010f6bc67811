//! Statements that the finisher answers. None is refused but those that say so.

pub const STATEMENTS: &[&str] = &[
    // Names in RETURNING beside other relations by which rows are found.
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING a.*",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING label, \
     a.plain + 1, a.note",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING * \
     ## refused: * in RETURNING",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING id \
     ## refused: id in RETURNING",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING r.at \
     ## refused: r.at in RETURNING",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING r.* \
     ## refused: in RETURNING",
    "DELETE FROM archive r USING account a WHERE a.id = r.id AND reverse(a.note) > '' RETURNING at",
    "DELETE FROM archive r USING account a WHERE a.id = r.id AND reverse(a.note) > '' RETURNING * \
     ## refused: * in RETURNING",
    "DELETE FROM archive r USING account a WHERE a.id = r.id AND reverse(a.note) > '' RETURNING \
     name ## refused: name in RETURNING",
    "WITH w AS (DELETE FROM archive r USING account a WHERE a.id = r.id AND reverse(a.note) > '' \
     RETURNING *) SELECT count(*) FROM w ## refused: * in RETURNING",
    // Constants that are the moment at which they are read.
    "SELECT id, 'now'::timestamptz < now(), upper(note) FROM account ## refused: 'now'",
    "SELECT id FROM account WHERE day < 'Today' AND score + 1 > 2",
    "SELECT upper(note), date 'tomorrow' FROM account ## refused: 'tomorrow'",
    "SELECT upper(note), '{now,2001-01-01}'::timestamp[] FROM account ## refused: 'now'",
    "SELECT upper(note), 'today'::text::date FROM account ## refused: 'now'",
    "SELECT upper(note), ('n' || 'ow')::timestamptz < now() FROM account ## refused: 'now'",
    "SELECT upper(note), E'\\x6eow'::timestamptz < now() FROM account ## refused: 'now'",
    "SELECT upper(note), array_agg('NOW'::varchar)::timestamp[] FROM account GROUP BY 1 ## \
     refused: 'now'",
    "SELECT upper(note), ('[' || 'toda' || 'y,)')::daterange FROM account ## refused: 'now'",
    "SELECT upper(note), x.d FROM account, json_to_recordset('[{\"d\": \"now\"}]') AS x(d \
     timestamptz) ## refused: 'now'",
    "SELECT id, x.d, x.n, x.r, x.t FROM account, json_to_record(json_build_object('d', day, 'n', \
     score, 'r', '[' || day || ',)', 't', day)) AS x(d date, n int, r daterange, t timestamp(0)) \
     WHERE upper(note) <> 'x' ORDER BY id",
    "SELECT a.id, x FROM account a LEFT JOIN LATERAL jsonb_to_recordset(jsonb_build_array( \
     jsonb_build_object('t', a.day, 'n', a.note))) x(t timestamptz, n text) ON upper(a.note) = x.n \
     ORDER BY a.id",
    "SELECT id, x.d < now() FROM account, json_to_record(json_build_object('d', left('now' || \
     note, 3))) AS x(d timestamptz) WHERE upper(note) <> 'x' ## refused: 'now'",
    "SELECT id, x.d FROM account, json_to_record(json_build_object('d', ARRAY[day])) AS x(d \
     date[]) WHERE upper(note) <> 'x' ## refused: an array of dates or times",
    // Times that take the offset of the moment.
    "SELECT id, '10:00'::timetz, '{10:00+01,11:00}'::timetz[] FROM account WHERE upper(note) > '' \
     ORDER BY id",
    "SELECT id, '10:00+02'::timetz, NULL::timetz, day::time::timetz, '11:00'::text::timetz FROM \
     account WHERE upper(note) > '' ORDER BY id",
    // Operators and functions that hardly anybody writes.
    "SELECT id, note ~>=~ 'CANARY G', note OPERATOR(pg_catalog.~<~) 'CANARY G', ROW(score, note) = \
     ROW(5, 'CANARY first') FROM account ORDER BY plain, id",
    "SELECT id, x *= y, x *<>y, x OPERATOR(pg_catalog.*<) y FROM (SELECT id, ROW(score, label) AS \
     x, ROW(plain, label) AS y FROM account) s ORDER BY id",
    "SELECT id, x FROM (SELECT id, ROW(score, label) AS x FROM account) s WHERE x *>= (SELECT \
     ROW(5, 'b'::text)) ORDER BY id",
    "SELECT id, pg_catalog.current_user() = CURRENT_USER, pg_catalog.substr(note, 2, 3), \
     pg_catalog.substring(note, 2), pg_catalog.ceil(amount), pg_catalog.overlay(note, 'x', 2, 1) \
     FROM account ORDER BY plain, id",
    "SELECT id, uuid_in('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), textin(int8out(score::bigint)), \
     btint4cmp(score, 3), interval_in('1 day', 0, -1), date_lt_timestamptz(day, now()), \
     numeric_in('1.5', 0, -1) + amount FROM account ORDER BY plain, id",
    // A join within an operand of a join.
    "SELECT a.id, r.id, b.note FROM account a LEFT JOIN archive r JOIN account b ON r.id = b.id ON \
     r.id = a.id AND upper(b.name) > '' ORDER BY a.id",
    "SELECT a.id, e.number FROM account a JOIN entry e CROSS JOIN archive r ON a.id = e.account_id \
     AND upper(a.name) <> r.name ORDER BY a.id, e.number, r.id",
    "SELECT id, day::text::date, substr(day::text, 1, 10)::timestamp, day::varchar::date FROM \
     account WHERE upper(note) <> 'x' ORDER BY id",
    "SELECT id, ('[' || day || ',)')::daterange, ARRAY[day::text, NULL]::date[], \
     '{2001-01-02}'::text::date[] FROM account WHERE upper(note) <> 'x' ORDER BY id",
    "SELECT id, (id || ':10')::char(9)::time, '2001-02-03 04:05:06.789'::text::timestamp(1) FROM \
     account WHERE upper(note) <> 'x' AND id < 10 ORDER BY id",
    "SELECT id FROM account WHERE (note || 'x')::date > '2001-01-01'",
    "SELECT upper(note) FROM account WHERE '[yesterday,]'::daterange @> day \
     ## refused: 'yesterday'",
    "SELECT id FROM account WHERE day + 0 < $1::date ## today",
    "SELECT id FROM account WHERE upper(note) = 'NOW' OR label = 'today' OR day + 0 > '2001-01-01'",
    // Dates and times.
    "SELECT extract(year FROM day) AS year, count(*) FROM account GROUP BY 1 ORDER BY 1",
    "SELECT date_trunc('month', day) AS month, sum(amount) FROM account GROUP BY month ORDER BY \
     month",
    "SELECT id, to_char(day, 'DD.MM.YYYY') FROM account ORDER BY plain, id",
    "SELECT id FROM account WHERE extract(year FROM day) = 2001 ORDER BY id",
    "SELECT id FROM account WHERE day < now() ORDER BY id",
    "SELECT id FROM account WHERE day > CURRENT_DATE - 36500 AND day < CURRENT_DATE ORDER BY id",
    "SELECT id FROM account WHERE day + interval '1 year' < '2001-12-31' ORDER BY id",
    "SELECT id, age('2024-02-29'::date, day) FROM account ORDER BY plain, id",
    "SELECT id, age(day) AS old, age(day) = age(CURRENT_DATE, day) FROM account ORDER BY plain, id",
    "SELECT id, day - '2000-01-01'::date FROM account ORDER BY plain, id",
    "SELECT count(*) = 5, now() = statement_timestamp() FROM account WHERE score + 1 > -100 OR \
     score IS NULL",
    "SELECT count(*), CURRENT_TIMESTAMP(2) = now()::timestamptz(2), localtimestamp(0) = \
     LOCALTIMESTAMP::timestamp(0), CURRENT_TIME(3) = CURRENT_TIME::timetz(3) FROM account WHERE \
     score + 1 > -100",
    "SELECT count(*), pg_is_in_recovery(), pg_last_wal_receive_lsn(), pg_current_wal_lsn() > \
     '0/0', getpgusername() = CURRENT_USER, pg_current_snapshot() IS NULL, \
     pg_stat_get_buf_alloc() >= 0, pg_last_xact_replay_timestamp(), \
     txid_current_if_assigned() IS NULL, length(timeofday()) > 9 FROM account WHERE score + 1 > \
     -100",
    "SELECT CURRENT_TIME(6) = CURRENT_TIME, LOCALTIME(1) = LOCALTIME::time(1) FROM account WHERE \
     score + 1 > 2 GROUP BY ()",
    "SELECT id FROM account WHERE day < clock_timestamp() AND score + 1 > 2 AND clock_timestamp() \
     >= now() ORDER BY id",
    "SELECT id FROM account WHERE day < CURRENT_TIMESTAMP(3) AND score + 1 > 2 ORDER BY id",
    "SELECT date_part('dow', day), count(*) FROM account GROUP BY 1 ORDER BY 1",
    "SELECT id FROM account WHERE day BETWEEN $1::date - 400 AND $1 ORDER BY id ## 2001-02-03",
    "SELECT id FROM account WHERE day < '2001-02-03 12:00'::timestamp ORDER BY id",
    "SELECT a.id FROM account a WHERE (SELECT max(day) FROM account) >= now() ORDER BY id",
    "SELECT a.id FROM account a WHERE (SELECT max(day) FROM account) = a.day::timestamp ORDER \
     BY id",
    // What the server says of itself, and chance.
    "SELECT id, version(), pg_trigger_depth(), inet_server_port() > 0 FROM account WHERE score + 1 \
     > 2 ORDER BY id",
    "SELECT count(*) FROM account WHERE score + 1 > 2 AND random() >= 0",
    "SELECT count(*) FROM (SELECT id FROM account WHERE score + 1 > 2 ORDER BY random() LIMIT 1) s",
    "SELECT count(DISTINCT gen_random_uuid()) = count(*) FROM account WHERE score + 1 > -100",
    "SELECT id FROM account TABLESAMPLE BERNOULLI (100) WHERE score + 1 > 2 ORDER BY id",
    "SELECT a.id FROM account AS a TABLESAMPLE SYSTEM (100) REPEATABLE (1), account b TABLESAMPLE \
     SYSTEM (0) WHERE b.score + 1 > 2",
    "SELECT id FROM account TABLESAMPLE SYSTEM (100) WHERE id > 0 ORDER BY plain, id",
    "SELECT int4mul(score, 2), texteq(note, 'CANARY'), point(score, 1) <-> point(0, 0) FROM \
     account ORDER BY plain, id",
    // Texts.
    "SELECT id FROM account WHERE note ~ '^CANARY [fS]' ORDER BY id",
    "SELECT id FROM account WHERE note ~* 'second' ORDER BY id",
    "SELECT id FROM account WHERE note SIMILAR TO 'CANARY%' ORDER BY id",
    "SELECT id, regexp_replace(note, 'CANARY ', '') FROM account ORDER BY plain, id",
    "SELECT id, substring(note FROM 2 FOR 3), position('A' IN note) FROM account ORDER BY plain, \
     id",
    "SELECT id, upper(left(note, 3)), reverse(note), md5(note) FROM account ORDER BY plain, id",
    "SELECT id FROM account WHERE replace(note, ' ', '') LIKE 'CANARYf%' ORDER BY id",
    "SELECT id FROM account WHERE note LIKE $1 || '%' ORDER BY id ## CANARY f",
    "SELECT id FROM account WHERE note::text LIKE '%' || $1 || '%' ORDER BY id ## first",
    "SELECT id FROM account WHERE starts_with(note, $1) ORDER BY id ## CANARY",
    "SELECT id FROM account WHERE note LIKE $1 ESCAPE '' ORDER BY id ## CANARY\\%",
    "SELECT id FROM account WHERE note NOT LIKE 'CANARY f%' ESCAPE '' ORDER BY id",
    "SELECT id, split_part(note, ' ', 2) AS word FROM account WHERE note <> '' ORDER BY word, id",
    "SELECT id FROM account WHERE to_tsvector('simple', note) @@ plainto_tsquery('simple', \
     'second')",
    "SELECT string_agg(note, '; ' ORDER BY note) FROM account WHERE note > ''",
    "SELECT id, format('%s (%s)', note, score) FROM account ORDER BY plain, id",
    "SELECT id, concat_ws('/', note, score, plain) FROM account ORDER BY plain, id",
    "SELECT initcap(note), length(trim(note)) FROM account ORDER BY plain, id",
    // Pages by the last row of the one before.
    "SELECT id, note FROM account WHERE (place, id) > ($1, $2) ORDER BY place, id LIMIT 2 ## 10 ## \
     1",
    "SELECT id FROM account WHERE (note, score) < ('CANARY first', 6) ORDER BY id",
    // Numbers.
    "SELECT id, round(amount), trunc(amount, 1), amount % 3, abs(amount) FROM account ORDER BY \
     plain, id",
    "SELECT id, greatest(score, plain, 4), least(score, plain) FROM account ORDER BY plain, id",
    "SELECT stddev(amount), variance(score), stddev_pop(amount) FROM account",
    "SELECT corr(score, plain), covar_pop(score, plain) FROM account",
    "SELECT corr(plain, id % 3), regr_count(plain, plain), bit_xor(plain), jsonb_object_agg(plain, \
     label) FROM account WHERE note LIKE 'CANARY%' AND plain IS NOT NULL",
    "SELECT id, score & 3, score | 8, score # 1, score << 2 FROM account ORDER BY plain, id",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM account",
    "SELECT mode() WITHIN GROUP (ORDER BY score) FROM account",
    "SELECT width_bucket(amount, 0, 30, 3), count(*) FROM account GROUP BY 1 ORDER BY 1",
    "SELECT avg(score) FILTER (WHERE amount > 1), bool_or(score > 6), every(score < 100) FROM \
     account",
    "SELECT 10 / (score - 5) FROM account",
    "SELECT sqrt(amount) FROM account",
    "SELECT id FROM account WHERE amount * $1 > 30 ORDER BY id ## 3",
    "SELECT id, score * $1::numeric + $2 FROM account ORDER BY plain, id ## 1.5 ## 2",
    "SELECT pg_size_pretty(sum(amount)::bigint), pg_size_bytes('2 kB'), hashtext(min(note)) FROM \
     account",
    "SELECT a.id, j.n FROM account a, jsonb_to_recordset('[{\"n\":5},{\"n\":7}]') AS j(n integer) \
     WHERE j.n = a.score + 0 ORDER BY a.id",
    "SELECT a.id, j.n FROM account a, json_to_record($1) AS j(n integer, t text) WHERE a.score + 0 \
     = j.n OR a.note = j.t ORDER BY a.id ## {\"n\":5,\"t\":\"CANARY second\"}",
    "SELECT a.id FROM account a WHERE ((SELECT e.value FROM entry e WHERE e.account_id = a.id AND \
     e.memo LIKE '%x' ORDER BY 1 LIMIT 1) UNION (SELECT 3 WHERE a.id = 3) ORDER BY 1 LIMIT 1) > 0 \
     ORDER BY a.id",
    "SELECT id FROM account WHERE score + 0 IN ((SELECT id + 4 FROM open) EXCEPT (SELECT 6)) ORDER \
     BY id",
    // Windows.
    "SELECT id FROM account WHERE score > 0 ORDER BY count(*) OVER (PARTITION BY label), id LIMIT \
     1",
    "SELECT id FROM account WHERE note LIKE '%first' ORDER BY (rank() OVER (ORDER BY plain \
     DESC))::int, id LIMIT 1",
    "SELECT id, row_number() OVER (ORDER BY amount, id) FROM account ORDER BY id",
    "SELECT id, rank() OVER (PARTITION BY score ORDER BY amount DESC NULLS LAST) FROM account \
     ORDER BY id",
    "SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM \
     account ORDER BY id",
    "SELECT id, lag(note) OVER w, lead(note, 1, 'none') OVER w FROM account WINDOW w AS (ORDER BY \
     id) ORDER BY id",
    "SELECT id, ntile(2) OVER (ORDER BY score, id), first_value(note) OVER (ORDER BY score, id) \
     FROM account ORDER BY id",
    "SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE \
     CURRENT ROW) FROM account ORDER BY id",
    "SELECT id, count(*) OVER w, sum(score) OVER (ORDER BY score GROUPS BETWEEN UNBOUNDED \
     PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP) FROM account WINDOW w AS (ORDER BY score \
     RANGE UNBOUNDED PRECEDING EXCLUDE TIES) ORDER BY id",
    "SELECT id, sum(amount) OVER (ORDER BY score RANGE BETWEEN CURRENT ROW AND $1 + 1 FOLLOWING \
     EXCLUDE NO OTHERS), count(*) OVER (ORDER BY day, id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW \
     EXCLUDE CURRENT ROW) FROM account ORDER BY id ## 1",
    "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY day ORDER BY amount, id) AS n FROM \
     account) t WHERE n = 1 ORDER BY id",
    "SELECT DISTINCT ON (score) score, id FROM account ORDER BY score, amount DESC, id",
    // Groups.
    "SELECT score, day, count(*) FROM account GROUP BY GROUPING SETS ((score), (day), ()) ORDER \
     BY score, day, count",
    "SELECT score, day, sum(amount), grouping(score, day) FROM account GROUP BY ROLLUP (score, \
     day) ORDER BY 1, 2, 3, 4",
    // A primary key in GROUP BY determines the other columns.
    "SELECT a.id, round(a.amount), a.note, count(e.number) FROM account a LEFT JOIN entry e ON \
     e.account_id = a.id GROUP BY a.id ORDER BY 1",
    "SELECT id, plain, upper(note), label FROM account GROUP BY 1 ORDER BY 1",
    "SELECT account.id, extract(year FROM day) FROM account GROUP BY account.id, score HAVING \
     reverse(account.note) <> '' ORDER BY 1",
    "SELECT account_id, number, reverse(memo), count(*) FROM entry GROUP BY account_id, number \
     ORDER BY 1, 2",
    "SELECT id, (SELECT reverse(a.note) FROM entry WHERE account_id = a.id LIMIT 1), count(*) \
     FROM account a GROUP BY id ORDER BY 1",
    "SELECT score, reverse(note) FROM account GROUP BY score",
    "SELECT account_id, reverse(memo) FROM entry GROUP BY account_id",
    "SELECT a.id, reverse(a.note), a.plain, max(t.note) FROM account a JOIN (SELECT plain AS id, \
     word AS note FROM open JOIN account ON score = open.id + 4) t ON t.id = a.plain GROUP BY a.id \
     ORDER BY 1",
    "SELECT reverse(a.note), count(*) FROM account a JOIN (SELECT id + 4 AS score, word FROM open) \
     t ON t.score = a.score GROUP BY word, note ORDER BY 1",
    // A unique key determines nothing.
    "SELECT code, title, max(upper(note)) FROM tag JOIN account ON plain = code GROUP BY code",
    "SELECT array_agg(score ORDER BY id) FROM account",
    "SELECT ARRAY(SELECT score FROM account ORDER BY id), array(SELECT 1)",
    "SELECT id, ARRAY(SELECT memo FROM entry WHERE account_id = a.id ORDER BY number) FROM account \
     a WHERE reverse(note) <> '' ORDER BY id",
    "SELECT id FROM account WHERE score = ANY (ARRAY(SELECT a.score + 0 FROM account a)) ORDER BY \
     id",
    "SELECT id FROM account WHERE to_tsvector('english'::regconfig, note) @@ to_tsquery($1, \
     'second') ORDER BY id ## english",
    "SELECT json_agg(note ORDER BY id), json_object_agg(id, amount) FROM account",
    "SELECT json_build_object('id', id, 'note', note, 'day', day) FROM account ORDER BY plain, id",
    "SELECT row_to_json(t) FROM (SELECT id, note, amount FROM account) t ORDER BY id",
    "SELECT count(*) FROM (SELECT DISTINCT note, score FROM account) t",
    "SELECT score / 2 AS half, count(*) FROM account GROUP BY half HAVING sum(amount) > 0 ORDER \
     BY half",
    // Subqueries.
    "SELECT id, (SELECT * FROM (SELECT e.memo AS label FROM entry e WHERE e.account_id = a.id AND \
     e.number = 1) z) FROM account a ORDER BY label, id",
    "SELECT id FROM account WHERE amount = (SELECT max(amount) FROM account) ORDER BY id",
    "SELECT id FROM account WHERE amount > (SELECT avg(amount) FROM account) ORDER BY id",
    "SELECT id FROM account a WHERE EXISTS (SELECT 1 FROM entry e WHERE e.account_id = a.id AND \
     e.value > 100) ORDER BY id",
    "SELECT id FROM account a WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.account_id = a.id \
     AND e.value IS NOT NULL) ORDER BY id",
    "SELECT id FROM account WHERE note NOT IN (SELECT memo FROM entry WHERE memo IS NOT NULL) \
     ORDER BY id",
    "SELECT id, (SELECT sum(value) FROM entry WHERE account_id = a.id AND memo LIKE 'CANARY%') \
     FROM account a ORDER BY id",
    "SELECT id FROM account WHERE (note, amount) = (SELECT note, amount FROM account WHERE id = \
     1) ORDER BY id",
    "SELECT id FROM account WHERE (amount, id) > (10.50, 1) ORDER BY amount, id",
    "SELECT id FROM account WHERE (score, id) < ($1, $2) ORDER BY score DESC, id DESC LIMIT 2 ## \
     7 ## 3",
    // Joins.
    "SELECT a.label, r.at FROM (account a NATURAL JOIN archive r)",
    "SELECT a.plain, r.at FROM (account a NATURAL LEFT JOIN archive r) ORDER BY a.plain",
    "SELECT e.number, a.plain FROM entry e CROSS JOIN (account a NATURAL JOIN open o) WHERE \
     upper(e.memo) > '' ORDER BY 1, 2",
    "SELECT row_to_json(label) FROM open label WHERE EXISTS (SELECT 1 FROM account WHERE \
     upper(note) > '' AND plain = label.id) ORDER BY label.id",
    "SELECT a.id, b.id FROM account a JOIN account b ON a.note = b.note AND a.id < b.id ORDER BY \
     1, 2",
    "SELECT a.id, e.value FROM account a LEFT JOIN entry e ON e.account_id = a.id AND e.value > \
     a.score ORDER BY 1, 2",
    "SELECT a.id, count(e.value) FROM account a LEFT JOIN entry e ON e.account_id = a.id WHERE \
     a.amount > 1 GROUP BY a.id ORDER BY 1",
    "SELECT a.id, o.word FROM account a JOIN open o ON o.id = a.score - 4 ORDER BY 1",
    "SELECT a.id, e.number, x.note FROM account a JOIN entry e ON e.account_id = a.id FULL JOIN \
     archive x ON x.note = a.note ORDER BY 1, 2, 3",
    "SELECT a.id, t.value FROM account a CROSS JOIN LATERAL (SELECT value FROM entry e WHERE \
     e.account_id = a.id ORDER BY value DESC NULLS LAST LIMIT 1) t ORDER BY 1",
    "SELECT a.id, s.n FROM account a JOIN generate_series(5, 7) AS s(n) ON s.n = a.score ORDER BY \
     1",
    "SELECT count(*) FROM account a, entry e WHERE a.amount * 10 > e.value",
    "SELECT u.id, a.note FROM unnest($1::int[]) AS u(id) JOIN account a ON a.score = u.id ORDER \
     BY 1, 2 ## {5,7}",
    // Joins whose rows the server limits by the other tables.
    "SELECT a.id, e.number, upper(e.memo) FROM account a JOIN entry e ON e.account_id = a.id WHERE \
     a.name = $1 ORDER BY 1, 2 ## CANARYann",
    "SELECT a.id, upper(e.memo) FROM account a LEFT JOIN entry e ON e.account_id = a.id AND \
     e.number = 1 WHERE a.plain < 4 ORDER BY 1",
    "SELECT a.id, upper(e.memo) FROM account a LEFT JOIN entry e ON e.account_id = a.id AND \
     a.plain = 1 WHERE e.number IS NULL ORDER BY 1",
    "SELECT a.id, upper(e.memo), x.note FROM account a JOIN entry e ON e.account_id = a.id LEFT \
     JOIN archive x ON x.id = e.account_id AND x.at > 1 WHERE e.number = 1 ORDER BY 1",
    "SELECT a.id, upper(e.memo), x.at FROM account a LEFT JOIN entry e ON e.account_id = a.id JOIN \
     archive x ON x.id = e.account_id WHERE a.plain > 0 ORDER BY 1",
    "SELECT upper(a.note) FROM entry e RIGHT JOIN account a ON e.account_id = a.id WHERE a.id = 3",
    "SELECT a.id, (SELECT sum(round(e.value)) FROM entry e WHERE e.account_id = a.id) FROM account \
     a WHERE a.name = $1 ORDER BY a.id ## CANARYbob",
    "SELECT a.id, (SELECT max(upper(memo)) FROM entry WHERE account_id = a.id AND number < 3) FROM \
     account a WHERE a.plain IN (1, 2, 3) ORDER BY a.id",
    "SELECT a.id, t.n FROM account a LEFT JOIN LATERAL (SELECT count(*) AS n FROM entry e WHERE \
     e.account_id = a.id AND e.memo LIKE 'CANARY%') t ON true WHERE a.plain < 3 ORDER BY 1",
    "SELECT upper(note) FROM account a WHERE a.id IN (SELECT account_id FROM entry WHERE number = \
     1) ORDER BY 1",
    "SELECT upper(note) FROM account a WHERE EXISTS (SELECT 1 FROM entry WHERE entry.account_id = \
     a.id AND number = 2) ORDER BY 1",
    "SELECT upper(a.note) FROM account a, open o WHERE EXISTS (SELECT 1 FROM entry e WHERE \
     e.account_id = a.id AND e.number = o.id) ORDER BY 1",
    "SELECT upper(a.note) FROM account a WHERE 1 < (SELECT count(*) FROM entry WHERE account_id = \
     a.id) ORDER BY 1",
    "SELECT a.id FROM account a WHERE NOT EXISTS (SELECT 1 FROM archive a WHERE a.id = 2 AND \
     upper(a.note) = 'X') AND a.plain = 1",
    // Locks of several tables.
    "SELECT a.id, upper(e.memo) FROM account a JOIN entry e ON e.account_id = a.id WHERE e.number \
     = 1 ORDER BY 1 FOR UPDATE",
    "SELECT a.id, upper(e.memo) FROM account a JOIN entry e ON e.account_id = a.id ORDER BY 1, 2 \
     FOR NO KEY UPDATE OF a, e NOWAIT",
    "SELECT a.id, upper(e.memo) FROM account a LEFT JOIN entry e ON e.account_id = a.id ORDER BY \
     1, 2 FOR UPDATE OF a SKIP LOCKED",
    "SELECT a.id, upper(e.memo) FROM account a LEFT JOIN entry e ON e.account_id = a.id FOR UPDATE",
    "SELECT count(*), max(upper(note)) FROM account FOR UPDATE",
    "SELECT upper(a.note), t.n FROM account a JOIN (SELECT account_id, count(*) AS n FROM entry \
     GROUP BY 1) t ON t.account_id = a.id ORDER BY 1 FOR UPDATE OF a",
    "SELECT upper(note) FROM account a FOR UPDATE OF b",
    // Rows that no other has locked.
    "SELECT id, note FROM account WHERE score = 5 ORDER BY amount LIMIT 1 FOR UPDATE SKIP LOCKED",
    "SELECT * FROM account WHERE note LIKE 'CANARY%' ORDER BY amount DESC, id LIMIT $1 OFFSET $2 \
     FOR NO KEY UPDATE SKIP LOCKED ## 1 ## 1",
    "SELECT a.*, a.plain + 1 AS more FROM account AS a WHERE a.amount > $1 ORDER BY 4 DESC, id \
     LIMIT $2 FOR UPDATE OF a SKIP LOCKED ## 1 ## 2",
    "SELECT id AS score, plain FROM account ORDER BY score DESC FETCH FIRST 2 ROWS ONLY FOR SHARE \
     SKIP LOCKED",
    "SELECT (SELECT count(*) FROM open), a.day FROM account a WHERE EXISTS (SELECT 1 FROM entry e \
     WHERE e.account_id = a.id AND e.memo LIKE '%x') AND a.plain < $1 ORDER BY a.day, a.id LIMIT 1 \
     FOR KEY SHARE SKIP LOCKED ## 9",
    "WITH rich AS (SELECT id FROM account WHERE amount > 5) SELECT id FROM account WHERE id IN \
     (SELECT id FROM rich) ORDER BY day LIMIT 1 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account ORDER BY score, id LIMIT 0 FOR UPDATE SKIP LOCKED",
    "SELECT plain, label FROM account ORDER BY score LIMIT 1 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account ORDER BY score FETCH FIRST 2 ROWS WITH TIES FOR UPDATE SKIP LOCKED",
    "SELECT DISTINCT id FROM account ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account WHERE score = 'x' LIMIT 2 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account ORDER BY score, 3 LIMIT 2 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account ORDER BY score LIMIT -1 FOR UPDATE SKIP LOCKED",
    "UPDATE account SET plain = 7, name = $1 WHERE id IN (SELECT id FROM account WHERE score > 4 \
     ORDER BY amount DESC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, name, note ## CANARYnew",
    "UPDATE account SET plain = 7 WHERE id IN (SELECT id FROM account WHERE note LIKE '%first' FOR \
     UPDATE SKIP LOCKED) RETURNING *",
    "DELETE FROM account WHERE id = (SELECT id FROM account WHERE score = 7 LIMIT 1 FOR UPDATE \
     SKIP LOCKED) RETURNING *",
    "WITH next AS (SELECT id FROM account WHERE score = 5 ORDER BY amount DESC LIMIT 1 FOR UPDATE \
     SKIP LOCKED) UPDATE account a SET plain = plain + 1, label = $1 FROM next WHERE a.id = \
     next.id RETURNING a.id, a.note, a.plain ## x",
    "WITH next AS MATERIALIZED (SELECT id, note FROM account WHERE score = 5 ORDER BY amount DESC \
     LIMIT 1 FOR UPDATE SKIP LOCKED) SELECT note, id FROM next",
    "SELECT upper(note) FROM account ORDER BY score LIMIT 1 FOR UPDATE SKIP LOCKED ## refused: the \
     server cannot do",
    "SELECT a.id FROM account a, entry e WHERE a.score > e.value LIMIT 1 FOR UPDATE SKIP LOCKED ## \
     refused: what is no single table",
    "WITH x AS (SELECT 1 AS i), next AS (SELECT id FROM account WHERE score IN (SELECT i FROM x) \
     FOR UPDATE SKIP LOCKED) SELECT * FROM next ## refused: another query of WITH",
    "UPDATE account SET score = score + 1 WHERE id = (SELECT id FROM account WHERE score = 7 LIMIT \
     1 FOR UPDATE SKIP LOCKED) ## refused: the server cannot do",
    "SELECT id FROM account a WHERE (SELECT count(*) FROM (SELECT 1 FROM entry e WHERE \
     e.account_id = a.id AND e.memo LIKE '%x' FOR UPDATE SKIP LOCKED) t) > 0 ## refused: a of \
     another query",
    "SELECT id FROM account a WHERE a::text LIKE '(1,%' LIMIT 1 FOR UPDATE SKIP LOCKED ## refused: \
     as a whole row",
    "DELETE FROM entry e WHERE e::text LIKE '(1,%' ## refused: as a whole row",
    "DELETE FROM entry WHERE md5(row_to_json(entry)::text) LIKE 'a%' ## refused: as a whole row",
    // WITH that writes rows which only the finisher finds.
    "WITH moved AS (DELETE FROM archive WHERE note LIKE '%kept' RETURNING *) INSERT INTO archive \
     SELECT id + 0, name, note, at + 5 FROM moved ## refused: the \
     server cannot do",
    "WITH moved AS (DELETE FROM archive WHERE note LIKE '%kept' RETURNING *) INSERT INTO archive \
     (id, name, note, at) SELECT id, name, note, at + 5 FROM moved RETURNING *",
    "WITH moved AS (DELETE FROM entry WHERE memo LIKE $1 RETURNING *), i AS (INSERT INTO entry \
     SELECT account_id, number + 7, value, memo FROM moved RETURNING number) SELECT count(*), \
     min(number) FROM i ## %x",
    "WITH changed AS (UPDATE account SET plain = plain + $1::integer, note = upper(note) WHERE \
     score > 4 RETURNING id, plain, note) SELECT * FROM changed ## 10",
    "WITH changed AS (UPDATE account a SET amount = a.amount + e.value, label = $1 FROM entry e \
     WHERE e.account_id = a.id AND e.number = 1 AND e.value < 1000 AND a.note LIKE '%first' \
     RETURNING a.*) SELECT id, amount, label FROM changed c ## new",
    "WITH gone AS (DELETE FROM entry USING account a WHERE a.id = entry.account_id AND a.score > 4 \
     RETURNING entry.*) SELECT count(*), sum(number) FROM gone",
    "WITH gone AS (DELETE FROM entry WHERE memo = 'CANARYz' RETURNING *) SELECT * FROM gone",
    "WITH changed AS (UPDATE account SET note = lower(note) WHERE score = 5) SELECT 1",
    "WITH changed AS (UPDATE account SET amount = 1 / (amount - 10.5) WHERE score = 5 RETURNING \
     id) SELECT * FROM changed",
    "WITH changed AS (UPDATE account SET plain = score WHERE score = 5 RETURNING id) SELECT * FROM \
     changed ## refused: stored in a column that is not protected",
    "WITH gone AS (DELETE FROM entry WHERE memo LIKE '%x' RETURNING account_id) UPDATE account SET \
     plain = 0 FROM gone WHERE id = gone.account_id ## refused: beside a WITH that writes",
    "WITH gone AS (DELETE FROM entry WHERE memo LIKE '%x' RETURNING *) SELECT count(*) FROM gone, \
     open ## refused: beside a WITH that writes",
    // Set operations and WITH.
    "SELECT note FROM account UNION SELECT memo FROM entry ORDER BY 1",
    "SELECT note FROM account EXCEPT SELECT note FROM archive ORDER BY 1",
    "SELECT note FROM account INTERSECT SELECT note FROM account WHERE amount > 1 ORDER BY 1",
    "WITH rich AS (SELECT * FROM account WHERE amount > 5) SELECT r.id, lower(r.note) FROM rich r \
     ORDER BY r.id",
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT n.i, \
     a.note FROM n JOIN account a ON a.score = n.i + 4 ORDER BY 1, 2",
    "WITH t AS (SELECT score, sum(amount) AS s FROM account GROUP BY score) SELECT * FROM t WHERE \
     s > (SELECT avg(s) FROM t) ORDER BY score",
    // Conditions of all kinds.
    "SELECT id FROM account WHERE score IS DISTINCT FROM 5 ORDER BY id",
    "SELECT id FROM account WHERE CASE WHEN amount > 10 THEN score ELSE plain END = 5 ORDER BY id",
    "SELECT id FROM account WHERE coalesce(note, 'x') || coalesce(day::text, 'y') LIKE '%2001%' \
     ORDER BY id",
    "SELECT id FROM account WHERE score::text = '5' ORDER BY id",
    "SELECT id FROM account WHERE score = ANY (ARRAY[5, 7]) AND amount::integer IN (0, 10, 11) \
     ORDER BY id",
    "SELECT id FROM account WHERE nullif(note, '') IS NULL AND plain > 0 ORDER BY id",
    "SELECT id FROM account WHERE (plain > 2) = (score > 4) ORDER BY id",
    // Names and columns.
    "SELECT *, amount + 1 AS more FROM account ORDER BY amount, id",
    "SELECT a.*, e.* FROM account a JOIN entry e ON e.value > a.amount * 5 ORDER BY a.id, \
     e.account_id, e.number",
    "SELECT public.account.id, public.account.note || '!' FROM public.account ORDER BY \
     round(amount), id",
    "SELECT \"a\".\"id\" AS \"Id\", \"a\".\"amount\" ^ 2 AS \"Ämount\" FROM \
     \"public\".\"account\" \"a\" ORDER BY 2, 1",
    "SELECT count(a) , count(*) FROM account a WHERE sign(amount) = 1",
    "SELECT o.tags, a.note FROM open o JOIN account a ON a.score = o.id + 4 ORDER BY a.id",
    "SELECT x.a, x.c FROM account AS x (a, b, c, d, e, f, g, h, i) WHERE x.d > 1 ORDER BY \
     round(x.d), 1",
    // Errors as of the server.
    "SELECT no_such_column FROM account WHERE round(amount) = 1",
    "SELECT note + 1 FROM account",
    "SELECT round(note) FROM account",
    "SELECT amount FROM account WHERE round(amount) = $1 ## x",
    "SELECT cast(note AS integer) + round(amount) FROM account",
    "SELECT id, count(*) FROM account WHERE round(amount) > 1",
    // Limits, offsets, parameters.
    "SELECT id FROM account ORDER BY round(amount) DESC NULLS LAST, id LIMIT $1 OFFSET $2 ## 2 ## \
     1",
    "SELECT id, $1::int + score FROM account WHERE round(amount) > $2 ORDER BY id ## 1 ## 5",
    "SELECT id FROM account WHERE $1::text IS NULL OR lower(note) = lower($1) ORDER BY id ## \
     CANARY FIRST",
    "SELECT id FROM account WHERE id = $1 AND round(amount) = 20 ## 2",
    "SELECT id FROM account WHERE name = $1 AND round(amount) = 20 ## CANARYbob",
    "SELECT id FROM account WHERE plain = $1 AND round(amount) = $1 + 9 ## 1",
    "SELECT id FROM account WHERE place > $1 AND trunc(amount) > 1 ORDER BY id ## 15",
    // Writes by any condition, and of any value.
    "UPDATE account SET note = 'CANARYn' WHERE round(amount) = 10",
    "UPDATE account SET note = NULL WHERE note = $1 ## CANARY first",
    "UPDATE account SET note = $1 WHERE score > $2 ## CANARYz ## 4",
    "UPDATE account SET note = $1, plain = $2, label = 'x' WHERE upper(note) = $3 ## \
     CANARYz ## 7 ## CANARY FIRST",
    "UPDATE account SET note = upper(note), score = score * 2 WHERE note LIKE 'CANARY%'",
    "UPDATE account SET amount = round(amount) + $1 WHERE id = $2 ## 1.25 ## 2",
    "UPDATE account SET day = date_trunc('year', day) WHERE extract(month FROM day) = 2",
    "UPDATE account SET day = day + 1 WHERE amount > (SELECT avg(amount) FROM account)",
    "UPDATE account a SET score = s.n FROM (SELECT account_id, sum(value) AS n FROM entry \
     GROUP BY account_id) s WHERE s.account_id = a.id AND s.n < 1000",
    "UPDATE account SET score = score + e.number FROM entry e WHERE e.account_id = account.id \
     AND e.value = 100",
    "UPDATE account SET score = 1 WHERE note = 'nobody'",
    "UPDATE account SET score = substring(note, 1, 1) WHERE round(amount) = 20",
    "UPDATE account SET name = repeat('x', 13) || note WHERE round(amount) = 20",
    "UPDATE account SET amount = amount * 1e9 WHERE round(amount) = 20",
    "UPDATE account SET score = 10 / (score - 5) WHERE round(amount) = 10",
    "UPDATE account SET name = NULL WHERE round(amount) = 20",
    "UPDATE account SET note = 'CANARYr' WHERE score = 5 RETURNING id, note, score",
    "UPDATE account SET id = id + 100 WHERE round(amount) = 0",
    "DELETE FROM account WHERE score > 6",
    "DELETE FROM entry WHERE memo LIKE '%x'",
    "DELETE FROM entry WHERE memo = $1 ## CANARYx",
    "DELETE FROM entry e USING account a WHERE a.id = e.account_id AND a.note LIKE '%first'",
    "DELETE FROM entry WHERE value > (SELECT avg(value) FROM entry) RETURNING account_id, memo",
    "DELETE FROM archive WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.note = archive.note)",
    "DELETE FROM account WHERE round(amount) = 10",
    // Rows of a plain table, found by protected columns.
    "DELETE FROM open WHERE id IN (SELECT score - 6 FROM account WHERE note IS NULL)",
    "DELETE FROM open o USING account a WHERE a.score = o.id + 4 AND reverse(a.note) <> '' \
     RETURNING o.id",
    "UPDATE open SET word = $1 WHERE id < (SELECT max(score) - 5 FROM account) ## three",
    "UPDATE open o SET word = 'x' || o.word FROM account a WHERE a.score = o.id + 4 RETURNING \
     o.word",
    // Queries in RETURNING see the rows as they were before the statement.
    "UPDATE account SET score = length(name), plain = 99 WHERE id = 1 AND note LIKE '%first' \
     RETURNING plain, score, (SELECT count(*) FROM account a WHERE a.plain = 99)",
    "DELETE FROM archive WHERE id = $1 AND note LIKE '%kept' RETURNING at, (SELECT count(*) FROM \
     archive) ## 9",
    "UPDATE archive SET note = upper(note) WHERE 9 = archive.id RETURNING id, (SELECT max(code) \
     FROM tag WHERE code > archive.at), note",
    "DELETE FROM entry WHERE memo LIKE '%x' RETURNING number, (SELECT number + 1), (SELECT max(n) \
     FROM unnest(ARRAY[number, 7]) n)",
    "DELETE FROM entry WHERE memo LIKE '%x' RETURNING (SELECT count(*) FROM entry) ## refused: a \
     query of tables in RETURNING",
    "DELETE FROM entry WHERE account_id = 1 AND memo LIKE '%x' RETURNING (SELECT count(*) FROM \
     entry) ## refused: a query of tables in RETURNING",
    "UPDATE archive SET note = (SELECT max(memo) FROM entry) WHERE id = 9 RETURNING (SELECT \
     count(*) FROM entry) ## refused: a query of tables in RETURNING",
];

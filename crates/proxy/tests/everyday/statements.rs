//! Statements, their parameters, and what the proxy refuses of them: parts are set apart by ` ## `.

pub const STATEMENTS: &[&str] = &[
    // Arrays of keys, as drivers send them in place of IN.
    "SELECT id, name FROM account WHERE id = ANY($1) ## {1,3,77}",
    "SELECT id FROM account WHERE id = ANY($1) ## {}",
    "SELECT id FROM account WHERE id = ANY($1) ## {1,NULL}",
    "SELECT id FROM account WHERE id = ANY($1) ## NULL",
    "SELECT id FROM account WHERE id <> ALL($1) ## {1,3}",
    "SELECT id FROM account WHERE id <> ALL($1) ## {}",
    "SELECT id FROM account WHERE id <> ALL($1) ## {1,NULL}",
    "SELECT id FROM account WHERE NOT (id = ANY($1)) ## {1,NULL}",
    "SELECT id FROM account WHERE id = ANY($1::integer[]) ## {1,2}",
    "SELECT id FROM account WHERE name = ANY($1::varchar[]) ## {CANARYbob,x}",
    "SELECT id FROM account WHERE name = ANY($1::text[]) ## {CANARYbob,\"CANARYEve\"}",
    "SELECT id FROM account WHERE name = ANY($1) ## {CANARYbob}",
    "SELECT id FROM account WHERE place = ANY($1) ## {10,70000,-1}",
    "SELECT id FROM account WHERE score = ANY($1) ## {5,NULL}",
    "SELECT id FROM account WHERE score <> ALL($1) ## {5}",
    "SELECT id FROM account WHERE note = ANY($1) ## {CANARY first,x}",
    "SELECT id FROM account WHERE note = ANY($1) ## {}",
    "SELECT id FROM account WHERE id = ANY($1) AND score = ANY($2) ## {1,2,5} ## {5,-1}",
    "SELECT sum(score) FROM account WHERE id = ANY($1) ## {1,2,5}",
    "SELECT id FROM account WHERE id = ANY(ARRAY[1, 3])",
    "SELECT id FROM account WHERE id = ANY('{1,3}')",
    "SELECT id FROM account WHERE id = ANY('{1,3}'::int[])",
    "SELECT id FROM account WHERE id = ANY('{}')",
    "SELECT id FROM account WHERE id = ANY('{1,x}')",
    "SELECT id FROM account WHERE score = ANY('{5,7}')",
    "SELECT id FROM account WHERE score = ANY(ARRAY[5, 7])",
    "SELECT id FROM account WHERE id = ANY($1) OR $1 IS NULL ## {1}",
    "UPDATE account SET note = 'CANARYn' WHERE id = ANY($1) ## {1,3}",
    "DELETE FROM entry WHERE account_id = ANY($1) ## {1,3}",
    "UPDATE account SET score = score + 1 WHERE id = ANY($1) ## {1,3}",
    "SELECT id FROM account WHERE plain = ANY($1) ## {1,3}",
    "SELECT id FROM account WHERE id = ANY(SELECT account_id FROM entry)",
    "SELECT id FROM account WHERE id IN (SELECT account_id FROM entry WHERE number = $1) ## 1",
    "SELECT id FROM account WHERE id IN ($1, $2, $3) ## 1 ## 2 ## 99",
    // What mappers insert and update.
    "INSERT INTO account (id, name, note) VALUES ($1, $2, $3) RETURNING id ## 11 ## CANARYnew ## x",
    "INSERT INTO account (id, name, score) VALUES ($1, $2, 1), ($3, $2, NULL) RETURNING * \
     ## 11 ## CANARYnew ## 12",
    "INSERT INTO account (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING ## 1 ## CANARYz",
    "INSERT INTO account (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET \
     name = EXCLUDED.name RETURNING id, name ## 1 ## CANARYz",
    "INSERT INTO account (id, name, score) VALUES ($1, $2, 3) ON CONFLICT (id) DO UPDATE SET \
     score = EXCLUDED.score, plain = account.plain + 1 ## 1 ## CANARYz",
    "INSERT INTO account (id, name, score) VALUES ($1, $2, 3) ON CONFLICT (id) DO UPDATE SET \
     score = account.score + EXCLUDED.score ## 1 ## CANARYz ## refused: account.score",
    "INSERT INTO archive (id, name, at) SELECT id, name, plain FROM account WHERE id = $1 ## 1",
    "INSERT INTO archive (id, name) SELECT id, name FROM account WHERE name = $1 \
     ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name ## CANARYbob",
    "INSERT INTO archive SELECT id, name, note, plain FROM account ## refused: account.note",
    "INSERT INTO archive (id, name, note) SELECT id, name, $2 FROM account WHERE id = $1 \
     ## 1 ## CANARYn",
    "INSERT INTO archive (id, name) SELECT $1, $2 WHERE NOT EXISTS \
     (SELECT 1 FROM archive WHERE id = $1) ## 1 ## CANARYz",
    "INSERT INTO archive SELECT id, name FROM account WHERE plain = 1 \
     UNION ALL SELECT id, name FROM account WHERE plain = 5",
    "INSERT INTO archive (SELECT id, name FROM account WHERE plain = 1)",
    "INSERT INTO archive (SELECT id FROM account WHERE plain = 1) ON CONFLICT DO NOTHING",
    "UPDATE account SET name = $1, note = $2, plain = $3 WHERE id = $4 \
     ## CANARYz ## CANARYn ## 8 ## 2",
    "UPDATE account SET (name, note) = ($1, $2) WHERE id = 1 ## CANARYz ## CANARYn",
    "UPDATE account SET note = NULL WHERE note = $1 ## CANARY first ## refused: account.note",
    "UPDATE account SET plain = e.number FROM entry e WHERE e.account_id = account.id AND \
     e.number = 1",
    "UPDATE account a SET name = r.name FROM archive r WHERE r.id = a.id",
    "UPDATE account SET note = $1 FROM entry e WHERE e.account_id = account.id AND \
     account.id = $2 AND e.number = 1 RETURNING account.id, e.memo, account.note ## CANARYn ## 1",
    "UPDATE account SET name = (SELECT name FROM archive r WHERE r.id = account.id) WHERE id = 2",
    "DELETE FROM entry USING account a WHERE a.id = entry.account_id AND a.name = $1 ## CANARYbob",
    "DELETE FROM entry WHERE account_id IN (SELECT id FROM account WHERE name = $1) \
     RETURNING number, memo ## CANARYbob",
    "DELETE FROM account WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.account_id = account.id)",
    "DELETE FROM account WHERE score > 6 ## refused: account.score",
    // Increments.
    "UPDATE account SET score = score + 1 WHERE id = $1 ## 1",
    "UPDATE account SET score = score + $2 WHERE id = $1 ## 1 ## 5",
    "UPDATE account SET score = score + 1 WHERE id = $1 RETURNING score, id ## 1",
    "UPDATE account SET score = score + plain WHERE id = $1 ## 1",
    "UPDATE account SET score = score + account.plain * 2 WHERE plain < 4",
    "UPDATE account SET plain = plain + 1, score = score * 2 WHERE id = $1 ## 1",
    "UPDATE account SET plain = plain + 1, score = score * 2 + plain",
    "UPDATE account SET amount = amount + score WHERE id = $1 RETURNING amount ## 1",
    "UPDATE account SET amount = amount + score, score = 0 WHERE id = $1 ## 1",
    "UPDATE account SET score = place + 1, place = place + score WHERE id = $1 ## 1",
    "UPDATE account SET score = COALESCE(score, 0) + 1 WHERE name = $1 ## CANARYbob",
    "UPDATE account SET score = plain WHERE id = $1 ## 1",
    "UPDATE account SET score = plain + 1 WHERE id = $1 ## 1",
    "UPDATE account SET note = label || 'x' WHERE id = $1 ## 1",
    "UPDATE account SET plain = score WHERE id = $1 ## 1 ## refused: account.score",
    "UPDATE account SET note = note || $2 WHERE id = $1 ## 1 ## CANARYmore",
    "UPDATE account SET score = CASE WHEN score > 5 THEN 0 ELSE score + 1 END",
    "UPDATE account SET score = 3 / plain, plain = 0 WHERE id = 1",
    "UPDATE account a SET score = a.score - 1 WHERE a.id = $1 AND a.plain > 0 ## 1",
    "UPDATE account SET score = score + e.number FROM entry e WHERE e.account_id = account.id \
     AND e.number = 1 ## refused: FROM",
    // Conditions.
    "SELECT id FROM account WHERE name = $1 AND plain > 1 ## CANARYbob",
    "SELECT id FROM account WHERE id BETWEEN 1 AND 3",
    "SELECT id FROM account WHERE place BETWEEN $1 AND $2 ## 10 ## 20",
    "SELECT id FROM account WHERE name IS DISTINCT FROM $1 ## CANARYbob",
    "SELECT id FROM account WHERE note IS DISTINCT FROM $1 ## CANARY first",
    "SELECT id FROM account WHERE note IS NOT DISTINCT FROM $1 ## NULL",
    "SELECT id FROM account WHERE score IS DISTINCT FROM plain",
    "SELECT id FROM account WHERE (id, name) = ($1, $2) ## 1 ## CANARYann",
    "SELECT id FROM account WHERE (id, plain) IN (($1, 1), ($2, 2)) ## 1 ## 2",
    "SELECT id FROM account WHERE (id, score) IN ((1, 5), (3, 7))",
    "SELECT id FROM account WHERE (id, score) = ($1, $2) ## 1 ## 5",
    "SELECT account_id FROM entry WHERE (account_id, number) IN (SELECT id, 1 FROM account)",
    "SELECT id FROM account WHERE (place, plain) > (10, 1) ## refused: account.place",
    "SELECT id FROM account WHERE (plain, id) > (1, 1) ## refused: account.id",
    "SELECT id FROM account WHERE lower(name) = lower($1) ## canaryEVE",
    "SELECT id FROM account WHERE upper(name) = $1 ## CANARYEVE",
    "SELECT id FROM account WHERE name ILIKE $1 ## canarye%",
    "SELECT id FROM account WHERE name LIKE $1 ## CANARYb%",
    "SELECT id FROM account WHERE note LIKE '%' || $1 || '%' ## first",
    "SELECT id FROM account WHERE note LIKE $1 ESCAPE '!' ## CANARY%",
    "SELECT id FROM account WHERE note ILIKE $1 OR name ILIKE $1 ## %EVE%",
    "SELECT id FROM account WHERE UPPER(note::text) LIKE UPPER($1) ## %first%",
    "SELECT id FROM account WHERE name::text LIKE $1 ## CANARYb%",
    "SELECT id FROM account WHERE length(note) > 5",
    "SELECT id FROM account WHERE note <> ''",
    "SELECT id FROM account WHERE COALESCE(note, '') = ''",
    "SELECT id FROM account WHERE amount > $1 ## 10",
    "SELECT id FROM account WHERE amount + 1 > 11.5 AND score IS NOT NULL",
    "SELECT id FROM account WHERE score > plain",
    "SELECT id FROM account WHERE day >= '2001-01-01' AND day < '2002-01-01'",
    "SELECT id FROM account WHERE EXTRACT(year FROM day) = 2001 ## refused: EXTRACT",
    "SELECT id FROM account WHERE score = 5 OR plain = 2",
    "SELECT id FROM account WHERE NOT (score = 5)",
    "SELECT id FROM account WHERE (score = 5) IS TRUE",
    "SELECT id FROM account WHERE (score = 5) IS NOT TRUE",
    "SELECT id FROM account WHERE score IN (5, 7, NULL)",
    "SELECT id FROM account WHERE score NOT IN ($1, $2) ## 5 ## 7",
    "SELECT id FROM account WHERE $1::text IS NULL OR name = $1 ## CANARYbob",
    "SELECT id FROM account WHERE ($1::int IS NULL OR score = $1) AND ($2::int IS NULL OR id = $2) \
     ## 5 ## NULL",
    "SELECT id FROM account WHERE (length($1) = 0 OR note = $1) ## CANARY first ## refused: clear",
    "SELECT id FROM account WHERE ($1::text IS NULL OR note = $1) ## CANARY first",
    "SELECT id FROM account WHERE EXISTS (SELECT 1 FROM entry e WHERE e.account_id = account.id)",
    "SELECT id FROM account a WHERE EXISTS (SELECT 1 FROM entry e WHERE e.account_id = a.id \
     AND e.number = $1) AND a.score = 5 ## 1",
    "SELECT id FROM account a WHERE EXISTS (SELECT 1 FROM entry e WHERE e.account_id = a.id \
     AND e.value > 100) ## refused: entry.value",
    "SELECT id FROM account WHERE id = (SELECT max(account_id) FROM entry) ## refused: max",
    "SELECT id FROM account WHERE id = (SELECT account_id FROM entry WHERE memo IS NULL)",
    "SELECT id FROM account WHERE score > (SELECT avg(score) FROM account) ## refused: a subquery",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM account WHERE name = $1) ## CANARYbob",
    "SELECT EXISTS (SELECT 1 FROM account WHERE id = $1) ## 1",
    "SELECT EXISTS (SELECT 1 FROM account WHERE note = $1) ## x ## refused: account.note",
    "SELECT 1 AS one FROM account WHERE note = $1 LIMIT 1 ## CANARY first",
    // What is selected.
    "SELECT * FROM account WHERE id = $1 LIMIT 1 ## 1",
    "SELECT a.* FROM account a WHERE a.id = $1 ## 1",
    "SELECT a.id AS a0, a.name AS a1, e.memo AS a2 FROM account a LEFT OUTER JOIN entry e \
     ON a.id = e.account_id WHERE a.id = $1 ORDER BY e.number ## 1",
    "SELECT a.name, e.number FROM account a JOIN entry e ON e.account_id = a.id AND e.value = $1 \
     ## 100",
    "SELECT a.name, e.value FROM account a JOIN entry e ON e.account_id = a.id \
     WHERE e.value > $1 ## 100",
    "SELECT a.name, e.value FROM account a LEFT JOIN entry e ON e.account_id = a.id \
     AND e.value > 100 ## refused: entry.value",
    "SELECT CASE WHEN name = 'CANARYbob' THEN 'b' ELSE 'other' END FROM account",
    "SELECT id, CASE WHEN score = 5 THEN 'five' WHEN score IS NULL THEN 'none' END FROM account",
    "SELECT id, CASE name WHEN 'CANARYbob' THEN 1 ELSE 0 END AS is_bob FROM account",
    "SELECT id, CASE $1 WHEN name THEN 'own' WHEN 'all' THEN 'all' ELSE 'none' END FROM account \
     ## CANARYbob",
    "SELECT id, CASE $1 WHEN name THEN 'own' WHEN 'all' THEN 'all' ELSE 'none' END FROM account \
     ## all",
    "SELECT id, CASE $1 WHEN 'all' THEN 'all' WHEN name THEN 'own' END FROM account ## CANARYbob",
    "SELECT id, (-score) ^ 2, -(score ^ 2), 2 ^ (-score) FROM account WHERE (-score) ^ 2 > 1",
    "SELECT id FROM account WHERE -score ^ 2 > 10 ## refused: sign",
    "SELECT COALESCE(note, '') FROM account",
    "SELECT COALESCE(name, '') AS name FROM account",
    "SELECT COALESCE(name, note) FROM account",
    "SELECT COALESCE(name, note, 'x') AS y FROM account",
    "SELECT COALESCE(note, label) FROM account",
    "SELECT COALESCE(score, 0) FROM account",
    "SELECT COALESCE(amount, 0) FROM account",
    "SELECT COALESCE(plain, 0), COALESCE(label, 'x'), id FROM account",
    "SELECT lower(name), upper(note), length(note) FROM account",
    "SELECT id, abs(score), abs(amount) FROM account",
    "SELECT id, round(amount), round(amount, 1) FROM account ## refused: round",
    "SELECT id, name || ' ' || note FROM account",
    "SELECT concat(name, ' ', note) FROM account",
    "SELECT trim(note), btrim(name) FROM account",
    "SELECT substring(note, 1, 6), left(name, 3) FROM account ## refused: SUBSTRING",
    "SELECT id::text, score::bigint, amount::float8, day::text FROM account",
    "SELECT id, score + plain, amount * 2 FROM account",
    "SELECT id, score > 5, note LIKE '%first%' FROM account",
    "SELECT NULLIF(note, '') FROM account",
    "SELECT GREATEST(score, plain), LEAST(score, 3) FROM account ## refused: GREATEST",
    "SELECT id, date_trunc('month', day) FROM account ## refused: date_trunc",
    // Groups and aggregates.
    "SELECT count(*) FROM account WHERE name = $1 ## CANARYbob",
    "SELECT count(*) AS count FROM account WHERE note = $1 ## CANARY first",
    "SELECT COUNT(*) FROM (SELECT id FROM account WHERE name = $1) subquery ## CANARYbob",
    "SELECT COUNT(*) FROM (SELECT id FROM account WHERE score > $1) subquery ## 5 \
     ## refused: account.score",
    "SELECT count(DISTINCT name), count(DISTINCT note), count(score) FROM account",
    "SELECT name, count(*) FROM account GROUP BY name HAVING count(*) > 1",
    "SELECT name, count(*) AS n FROM account GROUP BY name ORDER BY n DESC, name LIMIT 2",
    "SELECT note, count(*) FROM account GROUP BY note HAVING count(*) > $1 ## 1",
    "SELECT name, sum(score), avg(amount), max(day) FROM account GROUP BY name",
    "SELECT name, sum(score) FROM account GROUP BY name HAVING sum(score) > 5",
    "SELECT name, COALESCE(sum(score), 0) AS total FROM account GROUP BY name",
    "SELECT COALESCE(sum(score), 0) FROM account WHERE id = 99",
    "SELECT sum(score * 2), sum(amount) / count(*) FROM account",
    "SELECT sum(CASE WHEN score > 5 THEN 1 ELSE 0 END) FROM account",
    "SELECT count(CASE WHEN name = 'CANARYbob' THEN 1 END) FROM account",
    "SELECT count(*) FILTER (WHERE score > 5), count(*) FILTER (WHERE plain > 2) FROM account",
    "SELECT a.name, sum(e.value) FROM account a JOIN entry e ON e.account_id = a.id GROUP BY a.id",
    "SELECT a.id, a.name, count(e.number) FROM account a LEFT JOIN entry e \
     ON e.account_id = a.id GROUP BY a.id, a.name",
    "SELECT label, sum(score) FROM account GROUP BY label ORDER BY label \
     ## refused: not protected",
    "SELECT plain, sum(score) FROM account GROUP BY plain ORDER BY plain",
    "SELECT plain + 1, sum(score) FROM account GROUP BY plain + 1",
    "SELECT max(score) - min(score) FROM account",
    "SELECT max(place), min(place) FROM account",
    "SELECT max(id), min(name) FROM account",
    "SELECT bool_or(score > 5), string_agg(name, ',') FROM account ## refused: bool_or",
    "SELECT array_agg(name) FROM account ## refused: array_agg",
    "SELECT DISTINCT name FROM account",
    "SELECT DISTINCT note, score FROM account",
    "SELECT DISTINCT ON (name) name, plain FROM account ORDER BY name, plain ## refused: name",
    // Order and pages.
    "SELECT id, name FROM account ORDER BY name, id LIMIT $1 OFFSET $2 ## 2 ## 1",
    "SELECT id FROM account ORDER BY score DESC NULLS LAST, id LIMIT 3",
    "SELECT id FROM account ORDER BY score DESC, id FETCH FIRST 2 ROWS ONLY",
    "SELECT id FROM account ORDER BY note OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY",
    "SELECT id, name FROM account ORDER BY 2, 1",
    "SELECT id, name FROM account ORDER BY (2), ((1))",
    "SELECT note, id FROM account ORDER BY (1), id",
    "SELECT id, score AS plain FROM account ORDER BY (plain), id",
    "SELECT name, count(*) FROM account GROUP BY (1)",
    "SELECT name, plain, count(*) FROM account GROUP BY (1, 2)",
    "SELECT note, count(*) FROM account GROUP BY (1)",
    "SELECT note, plain, count(*) FROM account GROUP BY (1, 2) ## refused: note",
    "SELECT DISTINCT ON ((1)) note, plain FROM account ORDER BY (1) ## refused: note",
    "SELECT note, id FROM account ORDER BY -(-1), id ## refused: sign",
    "SELECT note, count(*) FROM account GROUP BY -(-1) ## refused: sign",
    "SELECT note, id FROM account ORDER BY 1 = 1, id",
    "SELECT id FROM account ORDER BY lower(name), id",
    "SELECT id FROM account ORDER BY place, plain",
    "SELECT id FROM account ORDER BY plain NULLS FIRST LIMIT 2",
    "SELECT id FROM account ORDER BY score IS NULL, score, id",
    "SELECT id FROM account ORDER BY CASE WHEN score > 5 THEN 0 ELSE 1 END, id",
    "SELECT id, score + 1 AS more FROM account ORDER BY more, id",
    "SELECT id FROM account ORDER BY random() LIMIT 0",
    // A column that is called as the first one of `*`.
    "SELECT id, (SELECT * FROM (SELECT e.memo AS label FROM entry e WHERE e.account_id = a.id AND \
     e.number = 1) z) FROM account a ORDER BY label, id ## refused: a subquery with *",
    "SELECT a.id, s.x FROM account a CROSS JOIN LATERAL (SELECT label AS x FROM (SELECT (SELECT * \
     FROM (SELECT 'x' AS label) z)) y) s",
    "SELECT s.name, s.plain FROM (SELECT (SELECT z.* FROM (SELECT name FROM archive WHERE id = 2) \
     z), plain FROM account) s WHERE s.name = $1 ## CANARYbob",
    // Locks.
    "SELECT id, score FROM account WHERE id = $1 FOR UPDATE ## 1",
    "SELECT id FROM account WHERE name = $1 FOR UPDATE SKIP LOCKED ## CANARYbob",
    "SELECT id FROM account WHERE score = 5 FOR UPDATE SKIP LOCKED",
    "SELECT a.id, e.number FROM account a JOIN entry e ON e.account_id = a.id WHERE a.id = $1 FOR \
     UPDATE OF a, e ## 2",
    "SELECT a.id FROM account a JOIN entry e ON e.account_id = a.id WHERE a.id = $1 FOR NO KEY \
     UPDATE OF a, e NOWAIT ## 2",
    "SELECT id FROM account ORDER BY plain LIMIT 1 FOR UPDATE SKIP LOCKED",
    "SELECT id FROM account WHERE name = $1 FOR NO KEY UPDATE NOWAIT ## CANARYbob",
    "SELECT id FROM account ORDER BY score LIMIT 1 FOR UPDATE SKIP LOCKED ## refused: LOCKED",
    // A plain type that the proxy does not compute with.
    "SELECT a.score, o.tags FROM account a, open o WHERE a.score = 7 ORDER BY a.score, o.id",
    "SELECT DISTINCT a.score, o.tags FROM account a, open o ## refused: of this type",
    "SELECT max(o.tags), sum(a.score) FROM account a, open o ## refused: not protected",
    // Columns of joins in their order.
    "SELECT * FROM archive NATURAL JOIN (SELECT name, id, label FROM account) a",
    "SELECT * FROM (SELECT label, name, id FROM account) a NATURAL JOIN archive",
    "SELECT * FROM archive JOIN (SELECT id, label FROM account) a USING (id) \
     JOIN (SELECT 'b' AS label, 7 AS seven) s USING (label)",
    "SELECT * FROM open o, archive JOIN (SELECT id, label FROM account) a USING (id) \
     ## refused: merges",
    "SELECT * FROM (SELECT word FROM open) o, archive JOIN (SELECT id, label FROM account) a \
     USING (id)",
    "SELECT * FROM open o LEFT JOIN (archive JOIN (SELECT id AS at, word AS own FROM open) w \
     USING (at)) ON o.id = at",
    "INSERT INTO archive (at, id, name) SELECT * FROM (SELECT id, name, plain FROM account) a \
     JOIN (SELECT DISTINCT account_id AS id FROM entry) e USING (id) \
     JOIN (SELECT 5 AS plain) p USING (plain)",
    // Columns of one domain with other limits.
    "SELECT at, word FROM brief UNION ALL SELECT at, word FROM lengthy",
    "SELECT word FROM brief FULL JOIN lengthy USING (word)",
    "INSERT INTO brief (at) SELECT at FROM brief UNION ALL SELECT at FROM lengthy ## refused: with \
     other limits",
    "INSERT INTO brief (word) SELECT s.word FROM (SELECT word FROM brief UNION SELECT word FROM \
     lengthy) s ## refused: with other limits",
    "INSERT INTO brief (at) SELECT at FROM brief FULL JOIN lengthy USING (at) ## refused: with \
     other limits",
    "UPDATE brief SET word = (SELECT max(s.word) FROM (SELECT word FROM brief UNION ALL SELECT \
     word FROM lengthy) s) ## refused: word",
    "SELECT s.word::varchar(5) FROM (SELECT word FROM brief UNION ALL SELECT word FROM lengthy) s",
    "SELECT s.at::timestamp(0) FROM (SELECT at FROM brief UNION ALL SELECT at FROM lengthy) s",
    "SELECT word::varchar(5) FROM brief FULL JOIN lengthy USING (word)",
    // Queries in queries.
    "SELECT id FROM account UNION SELECT id FROM archive",
    "SELECT name FROM account UNION ALL SELECT name FROM archive",
    "SELECT id FROM account INTERSECT SELECT id FROM archive",
    "SELECT id FROM account EXCEPT SELECT account_id FROM entry",
    "SELECT id, name FROM account WHERE id = 1 UNION ALL SELECT id, name FROM account \
     WHERE id = 2",
    "SELECT note FROM account UNION ALL SELECT note FROM archive ## refused: account.note",
    "SELECT note FROM account WHERE id = 1 UNION ALL SELECT note FROM account WHERE id = 2",
    "SELECT note FROM account UNION SELECT note FROM account ## refused: account.note",
    "WITH x AS (SELECT id, name FROM account WHERE plain > 1) SELECT * FROM x WHERE name = $1 \
     ## CANARYbob",
    "WITH x AS (SELECT id, score FROM account) SELECT sum(score) FROM x",
    "WITH x AS (DELETE FROM entry WHERE account_id = $1 RETURNING *) SELECT memo FROM x ## 1",
    "WITH x AS (INSERT INTO archive (id, name) VALUES ($1, $2) RETURNING id) SELECT * FROM x \
     ## 77 ## CANARYz",
    "SELECT x.name FROM (SELECT id, name, score FROM account WHERE plain > 0) x WHERE x.score > 5",
    "SELECT (SELECT name FROM account a WHERE a.id = e.account_id), number FROM entry e",
    "SELECT a.id, (SELECT count(*) FROM entry e WHERE e.account_id = a.id) FROM account a",
    "SELECT a.id, (SELECT sum(e.value) FROM entry e WHERE e.account_id = a.id) FROM account a \
     ## refused: entry.value",
    "SELECT a.id, x.number FROM account a CROSS JOIN LATERAL (SELECT number FROM entry e \
     WHERE e.account_id = a.id ORDER BY number LIMIT 1) x",
    "SELECT o.word, a.name FROM open o JOIN account a ON a.plain = o.id",
    "SELECT o.word, a.name FROM open o JOIN account a ON a.id = o.id",
    "SELECT id FROM account a JOIN unnest($1::int[]) AS k(v) ON k.v = a.plain ## {1,3}",
    "SELECT id FROM account a JOIN unnest($1::int[]) AS k(v) ON k.v = a.id ## {1,3} \
     ## refused: account.id",
    "SELECT a.id FROM account a JOIN (VALUES (1), (3)) AS k(v) ON k.v = a.id \
     ## refused: account.id",
    // Windows.
    "SELECT id, name, row_number() OVER (ORDER BY plain) FROM account",
    "SELECT id, note, row_number() OVER (PARTITION BY name ORDER BY plain) AS n FROM account",
    "SELECT id, score, count(*) OVER () AS full_count FROM account LIMIT 2",
    "SELECT name, rank() OVER (ORDER BY place) FROM account",
    "SELECT id, name, count(*) OVER (ORDER BY plain ROWS BETWEEN $1 PRECEDING AND UNBOUNDED \
     FOLLOWING EXCLUDE CURRENT ROW) FROM account ## 1",
    "SELECT id, sum(score) OVER (PARTITION BY name) FROM account ## refused: account.score",
    "SELECT id, row_number() OVER (ORDER BY score) FROM account ## refused: account.score",
    "SELECT id FROM account WHERE score > 0 ORDER BY count(*) OVER (PARTITION BY label), id LIMIT \
     1 ## refused: window function count",
    "SELECT id FROM account WHERE score > 0 ORDER BY (count(*) OVER (PARTITION BY label))::int, \
     id LIMIT 1 ## refused: window function count",
    "SELECT x.id FROM (SELECT id, row_number() OVER (ORDER BY plain) AS n FROM account) x \
     WHERE x.n <= $1 ## 2",
];

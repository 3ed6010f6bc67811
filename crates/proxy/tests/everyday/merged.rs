//! `MERGE` on tables with protected columns.

pub const STATEMENTS: &[&str] = &[
    // Rows that are written out.
    "MERGE INTO archive AS t USING (VALUES (2, 'CANARYk', 'CANARYl'), (11, 'CANARYm', 'CANARYn')) \
     AS s (id, name, note) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name, note = \
     s.note WHEN NOT MATCHED THEN INSERT (id, name, note) VALUES (s.id, s.name, s.note)",
    "MERGE INTO archive t USING (VALUES ($1::int, $2::text, $3::int)) AS s (id, name, at) ON t.id \
     = s.id WHEN MATCHED THEN UPDATE SET name = s.name, at = s.at WHEN NOT MATCHED THEN INSERT \
     (id, name, at) VALUES (s.id, s.name, s.at) ## 9 ## CANARYp ## 77",
    "MERGE INTO archive t USING (VALUES ($1::int, $2::text, $3::int)) AS s (id, name, at) ON t.id \
     = s.id WHEN MATCHED THEN UPDATE SET name = s.name, at = s.at WHEN NOT MATCHED THEN INSERT \
     (id, name, at) VALUES (s.id, s.name, s.at) ## 12 ## CANARYp ## NULL",
    "MERGE INTO archive t USING (SELECT 9 AS id, 'CANARYq' AS name) s ON t.id = s.id WHEN MATCHED \
     THEN UPDATE SET name = reverse(s.name), note = concat(t.note, '!'), at = t.at + 1",
    "MERGE INTO archive USING (SELECT 1) AS s (one) ON archive.id = $1 WHEN MATCHED THEN UPDATE \
     SET note = $2 WHEN NOT MATCHED THEN INSERT (id, note) VALUES ($1, $2) ## 9 ## CANARYr",
    "MERGE INTO archive USING (SELECT 1) AS s (one) ON archive.id = $1 WHEN MATCHED THEN UPDATE \
     SET note = $2 WHEN NOT MATCHED THEN INSERT (id, note) VALUES ($1, $2) ## 19 ## CANARYr",
    "MERGE INTO archive t USING (SELECT 1) s ON t.id = 9 WHEN MATCHED THEN UPDATE SET at = $1, \
     name = $2 ## 8 ## CANARYs",
    // Rows of arrays and of functions.
    "MERGE INTO account t USING unnest($1::int[], $2::text[]) AS s (id, name) ON t.id = s.id WHEN \
     MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, \
     s.name) ## {1,5,30} ## {CANARYk,CANARYl,CANARYm}",
    "MERGE INTO account t USING generate_series(4, 7) AS s (n) ON t.id = s.n WHEN MATCHED THEN \
     UPDATE SET score = t.score * 2 WHEN NOT MATCHED THEN INSERT (id, name, plain) VALUES (s.n, \
     'CANARY' || s.n, s.n + 1)",
    "MERGE INTO account t USING generate_series(1, 3) n ON t.id = n + 2 AND n < 3 WHEN MATCHED \
     THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name) VALUES (n + 50, 'CANARY' || n)",
    // Rows of tables.
    "MERGE INTO archive t USING account s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = \
     upper(s.name), note = s.note WHEN NOT MATCHED THEN INSERT (id, name, note, at) VALUES (s.id, \
     s.name, s.note, s.plain)",
    "MERGE INTO archive t USING account s ON t.id = s.id AND s.score > 0 WHEN NOT MATCHED THEN \
     INSERT VALUES (s.id + 100, left(s.name, 12), s.note || '?', s.plain + 1)",
    "MERGE INTO archive USING account ON archive.name = account.name WHEN MATCHED AND account.id = \
     2 THEN UPDATE SET at = archive.at + account.plain",
    "MERGE INTO archive t USING (SELECT id, max(memo) AS memo FROM account JOIN entry ON \
     account_id = id GROUP BY id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET note = s.memo WHEN \
     NOT MATCHED THEN INSERT (id, note) VALUES (s.id, s.memo)",
    "MERGE INTO archive t USING account a JOIN entry e ON a.id = e.account_id AND e.number = 1 ON \
     t.id = a.id WHEN MATCHED THEN UPDATE SET note = e.memo WHEN NOT MATCHED THEN INSERT (id, \
     note) VALUES (a.id, a.note)",
    "MERGE INTO archive t USING (account a NATURAL JOIN open o) ON t.at = a.plain WHEN MATCHED \
     THEN UPDATE SET note = o.word || t.at",
    "MERGE INTO open t USING account s ON t.id = s.plain AND upper(s.name) > '' WHEN MATCHED THEN \
     UPDATE SET tags = ARRAY[t.word] ## refused: an array or a row for a column",
    "MERGE INTO open t USING account s ON t.id = s.plain AND upper(s.name) > '' WHEN NOT MATCHED \
     AND s.plain > 2 THEN INSERT (id, word, tags) VALUES (s.plain + 20, 'x', ARRAY['a', 'b']) ## \
     refused: an array or a row for a column",
    "MERGE INTO account t USING account s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET note = \
     s.note, score = s.score + t.score",
    "MERGE INTO public.account USING public.tag ON account.id = tag.code WHEN MATCHED THEN UPDATE \
     SET label = tag.title, plain = public.account.plain + 1 WHEN NOT MATCHED THEN DO NOTHING",
    "MERGE INTO account t USING tag s ON t.id = s.code WHEN MATCHED THEN UPDATE SET (label, note) \
     = (s.title, s.title || t.note)",
    // Several clauses, of which the first that applies is taken.
    "MERGE INTO account t USING (VALUES (1, 3), (2, 4), (3, 5), (21, 6), (22, 7)) AS s (id, n) ON \
     t.id = s.id WHEN MATCHED AND t.note IS NULL THEN DELETE WHEN MATCHED AND t.score IS NULL THEN \
     UPDATE SET score = s.n WHEN MATCHED THEN UPDATE SET note = 'CANARYt', plain = s.n WHEN NOT \
     MATCHED AND s.n > 6 THEN DO NOTHING WHEN NOT MATCHED THEN INSERT (id, name, score) VALUES \
     (s.id, 'CANARYu', s.n)",
    "MERGE INTO account t USING entry s ON t.id = s.account_id AND s.number = 1 WHEN MATCHED AND \
     s.value > 1000 THEN UPDATE SET amount = s.value / 100000 WHEN MATCHED AND s.value IS NULL \
     THEN DO NOTHING WHEN MATCHED THEN UPDATE SET amount = s.value * 1.5, day = t.day + 1",
    "MERGE INTO account t USING (VALUES (1), (40)) AS s (id) ON t.id = s.id WHEN NOT MATCHED AND \
     s.id > 50 THEN INSERT (id, name) VALUES (s.id, 'CANARYx') WHEN NOT MATCHED THEN INSERT (id, \
     name, note) VALUES (s.id, 'CANARYy', 'CANARYz')",
    "MERGE INTO account t USING (VALUES (1), (2)) AS s (id) ON t.id = s.id WHEN MATCHED AND EXISTS \
     (SELECT 1 FROM entry e WHERE e.account_id = t.id AND e.value > 150) THEN UPDATE SET score = \
     (SELECT max(number) FROM entry WHERE account_id = t.id)",
    "MERGE INTO entry t USING account s ON t.account_id = s.id WHEN MATCHED AND s.name LIKE '%ann' \
     THEN DELETE",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN DO NOTHING",
    // Values of another clause are not evaluated.
    "MERGE INTO account t USING (VALUES (1, 0), (2, 1)) AS s (id, n) ON t.id = s.id WHEN MATCHED \
     AND s.n = 0 THEN UPDATE SET score = 7 WHEN MATCHED THEN UPDATE SET score = 8 / s.n",
    // Defaults, names without a relation, NULL.
    "MERGE INTO account t USING (VALUES (2, 'CANARYk'), (41, 'CANARYl')) AS s (id, name) ON t.id = \
     s.id WHEN MATCHED THEN UPDATE SET plain = DEFAULT, score = DEFAULT, note = NULL WHEN NOT \
     MATCHED THEN INSERT (id, name, plain, note) VALUES (id, name, DEFAULT, NULL)",
    "MERGE INTO archive t USING (VALUES (NULL::int, 'CANARYk')) AS s (id, name) ON t.id = s.id \
     WHEN MATCHED THEN DELETE",
    "MERGE INTO archive t USING (SELECT id FROM account WHERE false) s ON t.id = s.id WHEN MATCHED \
     THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    // Plain tables, of protected ones.
    "MERGE INTO open t USING account s ON t.id = s.plain WHEN MATCHED AND s.note LIKE '%first' \
     THEN UPDATE SET word = s.label WHEN NOT MATCHED AND s.plain > 2 THEN INSERT (id, word) VALUES \
     (s.plain + 10, 'x')",
    "MERGE INTO open t USING archive s ON t.id = s.at WHEN MATCHED AND s.note IS NOT NULL THEN \
     DELETE",
    // Errors.
    "MERGE INTO archive t USING (VALUES (9, 'CANARYa'), (9, 'CANARYb')) AS s (id, name) ON t.id = \
     s.id WHEN MATCHED THEN UPDATE SET name = s.name",
    "MERGE INTO archive t USING (VALUES (9), (9)) AS s (id) ON t.id = s.id WHEN MATCHED THEN \
     DELETE",
    "MERGE INTO archive t USING (VALUES (9, 1), (9, 2)) AS s (id, n) ON t.id = s.id WHEN MATCHED \
     AND s.n = 1 THEN UPDATE SET note = 'CANARYc' WHEN MATCHED THEN DO NOTHING",
    "MERGE INTO archive t USING (VALUES (30), (30)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN \
     INSERT (id) VALUES (s.id)",
    "MERGE INTO archive t USING account s ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
    "MERGE INTO account t USING (VALUES (30)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN \
     INSERT (id, note) VALUES (s.id, 'CANARYd')",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     name = repeat(t.name, 3)",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     score = upper(t.name)",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     plain = t.label",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     score = t.score / (s.id - 1)",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     score = 1, score = 2",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     nothing = 1",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN DELETE \
     WHEN MATCHED THEN DO NOTHING",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     score = row_number() OVER ()",
    "MERGE INTO account t USING (VALUES (50)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN \
     INSERT (id, name) VALUES (s.id, t.name)",
    "MERGE INTO account t USING (VALUES (50)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN \
     INSERT (id, name) VALUES (s.id)",
    "MERGE INTO entry t USING (VALUES (77)) AS s (id) ON t.account_id = s.id WHEN NOT MATCHED THEN \
     INSERT (account_id, number) VALUES (s.id, 1)",
    // Queries for rows without a partner.
    "MERGE INTO archive t USING account s ON t.id = s.id AND s.plain > 9 WHEN NOT MATCHED AND \
     EXISTS (SELECT FROM entry e WHERE e.account_id = s.id AND e.memo ~ 'x') THEN INSERT (id, \
     name) VALUES (s.id + 100, left(upper(s.name), 12)) WHEN NOT MATCHED AND s.id = (SELECT \
     max(a.account_id) FROM entry a) THEN INSERT (id, note) VALUES (s.id + 200, (SELECT \
     string_agg(e.memo, ',' ORDER BY e.number) FROM entry e WHERE e.account_id <> s.id))",
    "MERGE INTO archive t USING (VALUES (60), (9), (2)) AS s (n) ON t.id = s.n WHEN MATCHED THEN \
     UPDATE SET note = (SELECT max(a.note) FROM account a WHERE a.id <> t.id) WHEN NOT MATCHED \
     THEN INSERT (id, note) VALUES (n, (SELECT x.* FROM (SELECT min(memo) FROM entry WHERE \
     number < n) x))",
    "MERGE INTO account t USING (VALUES (50)) AS s (id) ON t.id = s.id WHEN NOT MATCHED THEN \
     INSERT (id, name) VALUES (s.id, (SELECT max(memo) FROM entry))",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(name) FROM account WHERE id IN (SELECT e.number + 1 FROM \
     entry e)))",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(name) FROM account, (SELECT max(name) FROM entry) x)) ## \
     refused: name in a query in WHEN NOT MATCHED",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (WITH account AS (SELECT 1 AS one) SELECT max(name) FROM account)) ## \
     refused: name in a query in WHEN NOT MATCHED",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(t.name) FROM account t)) ## refused: t.name in a query in \
     WHEN NOT MATCHED",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(a.note) FROM account a, LATERAL (SELECT t.*) x)) ## \
     refused: t.* in a query in WHEN NOT MATCHED",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(a.note) FROM account a WHERE t IS NULL)) ## refused: t in a \
     query in WHEN NOT MATCHED",
    "MERGE INTO archive t USING (VALUES (60)) AS s (n) ON t.id = s.n WHEN NOT MATCHED THEN INSERT \
     (id, note) VALUES (n, (SELECT max(a.note) FROM account a WHERE archive.id = 1))",
    "MERGE INTO open t USING account s ON t.id = s.plain WHEN NOT MATCHED THEN INSERT (id, word) \
     VALUES (s.plain + 10, (SELECT max(e.memo) FROM entry e)) ## refused: not protected",
    // What would give values of protected columns to the server.
    "MERGE INTO open t USING account s ON t.id = s.plain WHEN MATCHED THEN UPDATE SET word = \
     s.note ## refused: not protected",
    "MERGE INTO open t USING account s ON t.id = s.plain WHEN NOT MATCHED THEN INSERT (id, word) \
     VALUES (s.plain + 10, upper(s.note)) ## refused: not protected",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     label = t.note ## refused: not protected",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     label = note ## refused: not protected",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     label = t::text ## refused: not protected",
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     label = (SELECT max(memo) FROM entry) ## refused: not protected",
    "MERGE INTO account t USING (SELECT id, note FROM account) s ON t.id = s.id WHEN MATCHED THEN \
     UPDATE SET label = s.note ## refused: not protected",
    "MERGE INTO account t USING (VALUES ((SELECT max(score) FROM account))) AS s (n) ON t.id = 1 \
     WHEN MATCHED THEN UPDATE SET plain = s.n ## refused: not protected",
    // What is not supported.
    "MERGE INTO account t USING (VALUES (1)) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET \
     (name, note) = (SELECT memo, memo FROM entry) ## refused: a row that is assigned",
];

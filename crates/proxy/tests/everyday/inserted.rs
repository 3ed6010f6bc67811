//! `INSERT` of rows that the finisher computes.

pub const STATEMENTS: &[&str] = &[
    // Columns of one domain with other limits.
    "INSERT INTO brief (at) SELECT at FROM brief UNION ALL SELECT at FROM lengthy",
    "INSERT INTO brief (word) SELECT word FROM brief UNION ALL SELECT word FROM lengthy",
    "INSERT INTO brief (at, word) SELECT at, lengthy.word::varchar(5) FROM brief FULL JOIN lengthy \
     USING (at)",
    // Rows of arrays, as Django and SQLAlchemy send them.
    "INSERT INTO account (id, name, note) SELECT * FROM UNNEST($1::int[], $2::varchar[], \
     $3::text[]) RETURNING id, name ## {11,12} ## {CANARYu,CANARYv} ## {CANARYx,NULL}",
    "INSERT INTO account (id, name, note) SELECT * FROM UNNEST(($1)::int[], ($2)::text[], \
     ($3)::text[]) ## {11,12} ## {CANARYu,CANARYv} ## {CANARYx,NULL}",
    "INSERT INTO archive SELECT * FROM UNNEST($1::int[], $2::text[]) RETURNING * ## {11,12} ## \
     {CANARYu,NULL}",
    "INSERT INTO archive (id, name, at) SELECT u.a, u.b, 7 FROM unnest($1::int[], $2::text[]) AS \
     u (a, b) RETURNING at, name ## {11,12} ## {CANARYu,CANARYv}",
    "INSERT INTO archive (at, id) SELECT * FROM UNNEST($1::int[], $2::int[]) ## {11,12} ## {13,14}",
    "INSERT INTO archive (id, name) SELECT * FROM UNNEST($1::int[], $2::text[]) ## {} ## {}",
    "INSERT INTO archive (id, name) SELECT * FROM UNNEST($1::int[]) ## {11}",
    "INSERT INTO archive (id) SELECT * FROM UNNEST($1::int[], $2::text[]) ## {11} ## {x}",
    // Conflicts.
    "INSERT INTO archive (id, name) SELECT * FROM UNNEST($1::int[], $2::text[]) ON CONFLICT DO \
     NOTHING RETURNING id ## {2,11} ## {CANARYu,CANARYv}",
    "INSERT INTO archive (id, name) SELECT * FROM UNNEST($1::int[], $2::text[]) ON CONFLICT (id) \
     DO UPDATE SET name = EXCLUDED.name RETURNING id, name, at ## {2,11} ## {CANARYu,CANARYv}",
    "INSERT INTO archive (id, name) SELECT id, upper(left(name, 12)) FROM account ON CONFLICT \
     (id) DO UPDATE SET name = EXCLUDED.name, at = archive.at + 1",
    "INSERT INTO archive (id, name) SELECT id, reverse(name) FROM account ON CONFLICT (id) DO \
     UPDATE SET at = $1, note = $2 WHERE archive.at > 0 RETURNING at ## 77 ## CANARYs",
    "INSERT INTO archive (id, name) SELECT 11, reverse(name) FROM account ON CONFLICT (id) DO \
     UPDATE SET name = EXCLUDED.name",
    "INSERT INTO archive (id, name) SELECT id, reverse(name) FROM account",
    // Rows of other tables.
    "INSERT INTO archive (id, name, note, at) SELECT id + 100, name, note, plain FROM account",
    "INSERT INTO archive SELECT id + 100, upper(name), note || '!', plain FROM account WHERE note \
     LIKE 'CANARY%' RETURNING *",
    "INSERT INTO archive SELECT id + 100, name, note FROM account WHERE note ~ 'first' ORDER BY \
     score",
    "INSERT INTO archive (id, note, at) SELECT id + 100, round(amount), plain + 1 FROM account",
    "INSERT INTO archive (id, note) SELECT id + 100, amount::text FROM account WHERE amount > $1 \
     ## 5",
    "INSERT INTO archive (id, name) SELECT id + 100, $1 FROM account WHERE note LIKE $2 ## CANARYp \
     ## CANARY%",
    "INSERT INTO archive (id, name, at) SELECT id + 100, name, $1 FROM account WHERE note LIKE $2 \
     ## 8 ## CANARY%",
    "INSERT INTO archive (id, at) SELECT e.account_id + 100, sum(e.number) FROM entry e GROUP BY \
     e.account_id ## refused: not protected",
    "INSERT INTO archive (id, note) SELECT a.id + 100, string_agg(e.memo, ',' ORDER BY e.number) \
     FROM account a JOIN entry e ON e.account_id = a.id GROUP BY a.id",
    "INSERT INTO account (id, name, place, amount) SELECT id + 200, name, place + 1, -amount FROM \
     account",
    "INSERT INTO account SELECT a.id + 200, name, note, amount, day + 1, place, score * 2, plain, \
     label FROM account a WHERE extract(year FROM day) = 2001",
    "INSERT INTO archive (id, name) WITH x AS (SELECT id + 100 AS i, name FROM account WHERE score \
     > 0) SELECT i, name FROM x",
    "INSERT INTO archive (id, name) SELECT id + 100, name FROM account UNION ALL SELECT id + 200, \
     lower(name) FROM account",
    "INSERT INTO account (id, name) SELECT g, 'CANARY' || g FROM generate_series(100, 110) g",
    "INSERT INTO open SELECT plain + 10, label FROM account WHERE note ~ 'first'",
    "INSERT INTO open (id, word) SELECT plain + 10, 'word'::text FROM account WHERE note ~ \
     'first' RETURNING id, word",
    "INSERT INTO archive (id, note) SELECT id + 300, (SELECT max(memo) FROM entry WHERE account_id \
     = a.id) FROM account a",
    "WITH x AS (SELECT id + 100 AS i, upper(name) AS n FROM account WHERE id = $1) INSERT INTO \
     archive (id, name) SELECT i, n FROM x RETURNING id, name ## 1",
    // Values.
    "INSERT INTO account (id, name, note, day) VALUES ($1, upper($2), concat($2, 'x'), \
     CURRENT_DATE - 1) ## 11 ## CANARYlow",
    "INSERT INTO account (id, name, amount, plain, label) VALUES (11, 'CANARYk', round(1.234, 2), \
     4, 'x'), (12, 'CANARYl', 1 + 1, 5, 'y') RETURNING amount, plain",
    "INSERT INTO account (id, name, plain, label) VALUES (11, lower('CANARYk'), DEFAULT, $1), \
     (12, 'CANARYl', DEFAULT, $2) RETURNING id, label ## a ## b",
    "INSERT INTO archive (id, note) VALUES (11, (SELECT max(memo) FROM entry))",
    "INSERT INTO archive (id, note, at) VALUES ($1, repeat($2, 3), $1::int + 1) ## 11 ## CANARYr",
    "INSERT INTO account (id, name, day) VALUES (11, 'CANARYd', '2020-01-31'::date + interval '1 \
     month')",
    "INSERT INTO open (id, word, tags) SELECT plain + 10, label, ARRAY['a', 'b'] FROM account \
     WHERE note ~ 'Sec'",
    "INSERT INTO archive (id, name, at) VALUES ((SELECT max(id) + 50 FROM account), 'CANARYm', 3)",
    // Errors.
    "INSERT INTO account (id, name) SELECT id, upper(name) FROM account",
    "INSERT INTO account (id, note) SELECT id + 100, upper(note) FROM account",
    "INSERT INTO account (id, name) SELECT id + 100, repeat(name, 3) FROM account",
    "INSERT INTO account (id, name, amount) SELECT id + 100, name, amount * 1000000000 FROM \
     account",
    "INSERT INTO account (id, name, amount) SELECT id + 100, name, upper(note) FROM account",
    "INSERT INTO account (id, name, score) SELECT id + 100, name, 1 / (score - 5) FROM account",
    "INSERT INTO entry (account_id, number, memo) SELECT id + 100, 1, upper(note) FROM account",
    "INSERT INTO archive (id, nothing) SELECT id + 100, upper(name) FROM account",
    "INSERT INTO archive (id, name) SELECT id + 100, upper(name), 1 FROM account",
    "INSERT INTO archive (id, name, at) SELECT id + 100, upper(name) FROM account",
    "INSERT INTO archive (id, at) SELECT id + 100, upper(label) FROM account",
    "INSERT INTO archive (id, name) SELECT id + 100, upper(name), 1 FROM account RETURNING id",
    "INSERT INTO archive (id, name, at) SELECT id + 100, upper(name) FROM account RETURNING id",
    "INSERT INTO archive (id, name, at) VALUES ($1, upper($2)) RETURNING name ## 11 ## CANARYr",
    "INSERT INTO open (id, tags) SELECT plain + 10, ARRAY[label] FROM account WHERE note ~ 'Sec' \
     RETURNING id ## refused: an array or a row for a column",
    // What would give values of protected columns to the server.
    "INSERT INTO open (id, word) SELECT plain, note FROM account ## refused: not protected",
    "INSERT INTO open (id, word) SELECT plain, upper(note) FROM account ## refused: not protected",
    "INSERT INTO open SELECT score, label FROM account WHERE note > '' ## refused: not protected",
    "INSERT INTO open (id, word) SELECT count(*), 'n' FROM account WHERE upper(note) = 'X' ## \
     refused: not protected",
    "INSERT INTO open (id, word) SELECT d.x, 'n' FROM (SELECT score AS x FROM account WHERE \
     upper(note) > '') d ## refused: not protected",
    "INSERT INTO open (id, word) SELECT row_number() OVER (ORDER BY note), 'n' FROM account ## \
     refused: not protected",
    "INSERT INTO archive (id, at) SELECT id + 100, CASE WHEN upper(note) = 'X' THEN 1 END FROM \
     account ## refused: not protected",
    "INSERT INTO open (id, word) VALUES (20, (SELECT upper(note) FROM account WHERE id = 1)) ## \
     refused: not protected",
];

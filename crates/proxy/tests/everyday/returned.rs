//! `RETURNING` that computes from protected columns.

pub const STATEMENTS: &[&str] = &[
    "INSERT INTO account (id, name, note) VALUES ($1, $2, $3) RETURNING upper(note), id, id + \
     1 AS next ## 11 ## CANARYnew ## x",
    "INSERT INTO account (id, name, note, plain) VALUES ($1, $2, $3, $4) RETURNING \
     length(note), plain * 2 ## 11 ## CANARYnew ## x ## 4",
    "INSERT INTO account AS a (id, name, score) VALUES ($1, $2, 1), ($3, $2, NULL) RETURNING \
     a.*, coalesce(a.score, 0) ## 11 ## CANARYnew ## 12",
    "INSERT INTO account (id, name) VALUES (11, 'CANARYk') RETURNING *, lower(name) IS NULL",
    "INSERT INTO archive (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING \
     reverse(name) ## 2 ## CANARYu",
    "INSERT INTO archive (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = \
     EXCLUDED.name RETURNING reverse(name), at ## 2 ## CANARYu",
    "INSERT INTO visit (id, seen) VALUES ($1, '2001-02-03 04:05:06.35Z') RETURNING \
     date_trunc('day', at), seen AT TIME ZONE 'UTC', id ## 9",
    "UPDATE account SET note = $2 WHERE id = $1 RETURNING note || '!', length(note) ## 1 ## \
     CANARYn",
    "UPDATE account SET note = NULL WHERE id = $1 RETURNING note || '!', note IS NULL ## 1",
    "UPDATE account SET plain = plain + $2 WHERE id = $1 RETURNING plain, amount * plain ## 1 \
     ## 3",
    "UPDATE account SET plain = plain + 1 RETURNING amount + score, amount::text, upper(label)",
    "UPDATE account SET plain = 0 WHERE plain > $1 RETURNING CASE WHEN note LIKE 'CANARY%' \
     THEN 1 ELSE 2 END AS kind ## 1",
    "UPDATE account SET plain = 0 WHERE name = $1 RETURNING extract(year FROM day), day + 1 ## \
     CANARYann",
    "UPDATE account a SET plain = 0 WHERE name = $1 RETURNING a.day + 1, a.name > a.note ## \
     CANARYann",
    "UPDATE public.account SET plain = 0 WHERE id = 1 RETURNING account.day + 1",
    "UPDATE account SET plain = 0 WHERE id = 1 RETURNING public.account.day + 1, \
     reverse(account.note)",
    "DELETE FROM public.entry WHERE number = 2 RETURNING upper(public.entry.memo), \
     public.entry.number",
    "UPDATE account SET plain = 0 WHERE id = 1 RETURNING other.account.day + 1",
    "UPDATE account SET plain = 0 WHERE id = $1 RETURNING upper(note) ## 99",
    "UPDATE account SET note = 'CANARYn' WHERE plain = 1 RETURNING note = 'CANARYn'",
    "UPDATE account SET plain = 0 WHERE id = 1 RETURNING ROW(id, note)::text, num_nulls(note, \
     day)",
    "UPDATE account a SET plain = 0 FROM archive r WHERE r.id = a.id RETURNING a.day + 1",
    "UPDATE account a SET plain = 0 FROM archive r WHERE r.id = a.id RETURNING day + 1",
    "UPDATE account a SET plain = 0 FROM tag WHERE code = plain RETURNING upper(title), \
     upper(note) ## refused: in RETURNING",
    "DELETE FROM entry WHERE account_id = $1 RETURNING value + 1, upper(memo) ## 1",
    "DELETE FROM entry RETURNING value + 1, number",
    "DELETE FROM account a USING tag WHERE code = a.plain AND code > 1 RETURNING upper(a.note)",
    // The finisher also finds the rows, or computes values.
    "UPDATE account SET score = score + 1 WHERE id = $1 RETURNING score * 2, id ## 1",
    "UPDATE account SET score = score + $1::int RETURNING score * 2 AS twice, plain + 1 ## 3",
    "UPDATE account SET note = upper(note) WHERE note LIKE $1 RETURNING lower(note), plain + 1 \
     ## CANARY%",
    "UPDATE account SET note = reverse(note) RETURNING *, length(note)",
    "UPDATE account SET note = reverse(note) WHERE note ~ 'absent' RETURNING length(note)",
    "UPDATE account a SET note = upper(a.note) FROM archive r WHERE r.id = a.id RETURNING \
     lower(a.note)",
    "UPDATE account SET plain = $2 WHERE note ~ $1 RETURNING plain, reverse(note) ## first ## \
     70",
    "DELETE FROM entry WHERE memo ~ 'x' RETURNING upper(memo), value + 1",
    "DELETE FROM archive r USING account a WHERE a.id = r.id AND reverse(a.note) > '' \
     RETURNING upper(r.name), r.at",
    "INSERT INTO archive (id, name) SELECT id + 100, upper(left(name, 12)) FROM account \
     RETURNING lower(name), id + 1",
    "INSERT INTO archive (id, name) VALUES ($1, upper($2)) RETURNING lower(name), id + 1, at \
     ## 11 ## CANARYq",
    "INSERT INTO account (id, name, note) SELECT * FROM UNNEST($1::int[], $2::varchar[], \
     $3::text[]) RETURNING id, length(name) ## {11,12} ## {CANARYu,CANARYv} ## {CANARYx,NULL}",
    "INSERT INTO archive (id, name) SELECT id, upper(name) FROM account WHERE id = 2 ON \
     CONFLICT (id) DO UPDATE SET name = EXCLUDED.name RETURNING reverse(name)",
    "INSERT INTO archive (id, name) VALUES (2, 'CANARYz') ON CONFLICT (id) DO UPDATE SET name \
     = upper(archive.name) RETURNING reverse(name) ## refused: of a statement of this form",
    "UPDATE account SET note = upper(note) RETURNING 1 / (id - id)",
    "UPDATE account SET note = upper(note) RETURNING count(note || '') ## refused: count in",
    // A query over what a statement returns.
    "WITH x AS (UPDATE account SET plain = 0 WHERE id = $1 RETURNING note, id) SELECT \
     upper(note), id + 1 FROM x ## 1",
    "WITH x AS (DELETE FROM entry RETURNING *) SELECT upper(memo), count(*), sum(value) FROM x \
     GROUP BY 1",
    "WITH x AS (INSERT INTO archive (id, name) VALUES ($1, 'CANARYk'), (12, $2) RETURNING id, \
     reverse(name) AS n) SELECT n || '!', max(id) OVER () FROM x WHERE length(n) > 2 ## 11 ## \
     CANARYq",
    "WITH x AS (DELETE FROM entry RETURNING *), y AS (SELECT upper(memo) AS m FROM x) SELECT * \
     FROM y UNION ALL SELECT 'n' || count(*) FROM x",
    "WITH x (a, b) AS (DELETE FROM entry e RETURNING e.memo, number) SELECT upper(a), b FROM x \
     ORDER BY b, 1 LIMIT 2",
    "WITH x AS (UPDATE account SET plain = 0 RETURNING note) SELECT 1",
    "WITH x AS (DELETE FROM entry RETURNING *) INSERT INTO archive (id, name) SELECT number + \
     100, upper(memo) FROM x WHERE account_id = 1 ## refused: an operation on",
    "WITH x AS (UPDATE account SET plain = 0 RETURNING note) SELECT count(*) FROM x WHERE note \
     ~ 'f'",
    "WITH x AS (UPDATE account SET plain = 7 RETURNING *) SELECT upper(x.note), a.plain FROM x \
     JOIN account a ON a.id = x.id ## refused: in a statement",
    // The server says what is wrong with the statement itself, the finisher what is with the list.
    "UPDATE account SET plain = 0 RETURNING 1 / (id - id)",
    "UPDATE account SET plain = 0 RETURNING upper(note, 1)",
    "UPDATE account SET plain = 0 RETURNING upper(missing), upper(note)",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') RETURNING upper(name)",
    "UPDATE account SET plain = 0 WHERE missing RETURNING upper(name)",
    "UPDATE account SET plain = 0 RETURNING old.note || 'x'",
    // What is of several rows, the server evaluates nowhere in RETURNING.
    "UPDATE account SET plain = 0 RETURNING count(*), upper(name) ## refused: count in \
     RETURNING",
    "UPDATE account SET plain = 0 RETURNING max(name || '') ## refused: max in RETURNING",
    "UPDATE account SET plain = 0 RETURNING generate_series(1, id) ## refused: generate_series",
    "UPDATE account SET plain = 0 RETURNING row_number() OVER (), upper(name) ## refused: \
     row_number in RETURNING",
    // Queries see the rows as they were before.
    "UPDATE account SET plain = 0 RETURNING upper(note), (SELECT 1)",
    "UPDATE account SET plain = plain + 1, note = $2 WHERE id = $1 RETURNING note || '!', \
     (SELECT max(upper(note)) FROM account), (SELECT sum(plain) FROM account) ## 1 ## CANARYz",
    "UPDATE account SET plain = 7 RETURNING id, plain, (SELECT a.plain + length(a.note) FROM \
     account a WHERE a.id = account.id)",
    "UPDATE account a SET plain = 8 WHERE id = $1 RETURNING (SELECT upper(r.name) FROM archive \
     r WHERE r.id = a.id), a.plain ## 2",
    "UPDATE account SET plain = 9 RETURNING id, EXISTS (SELECT 1 FROM entry WHERE account_id = \
     account.id AND memo LIKE '%x')",
    "UPDATE account SET plain = 9 RETURNING id IN (SELECT account_id FROM entry WHERE \
     upper(memo) > 'A'), ARRAY(SELECT number FROM entry WHERE account_id = id ORDER BY number)",
    "DELETE FROM entry WHERE number = 2 RETURNING upper(memo), (SELECT count(*) FROM entry), \
     (SELECT sum(value) FROM entry e WHERE e.account_id = entry.account_id)",
    "DELETE FROM entry RETURNING number, (SELECT string_agg(upper(e.memo), ',' ORDER BY \
     e.number) FROM entry e WHERE e.number >= entry.number)",
    "DELETE FROM public.entry RETURNING public.entry.number, (SELECT max(upper(memo)) FROM \
     public.entry WHERE public.entry.number > 1)",
    "INSERT INTO archive (id, name) VALUES ($1, $2) RETURNING reverse(name), (SELECT count(*) \
     FROM archive), (SELECT max(upper(note)) FROM account) ## 11 ## CANARYq",
    "INSERT INTO archive (id, name) VALUES (51, 'CANARYk'), (52, NULL) RETURNING id, (SELECT \
     a.score FROM account a WHERE a.id = archive.id - 50)",
    "INSERT INTO archive (id, name) SELECT id + 50, name FROM account RETURNING id, (SELECT \
     a.score FROM account a WHERE a.id = archive.id - 50) ## refused: an operation on",
    "INSERT INTO archive (id, name) VALUES (2, 'CANARYz') ON CONFLICT (id) DO UPDATE SET name = \
     EXCLUDED.name RETURNING name, (SELECT reverse(r.name) FROM archive r WHERE r.id = 2)",
    "INSERT INTO tag (code, title) VALUES (77, 'new') RETURNING code, (SELECT max(upper(note)) \
     FROM account), (SELECT count(*) FROM tag)",
    "UPDATE tag SET title = 'changed' RETURNING (SELECT min(reverse(note)) FROM account WHERE \
     plain > tag.code)",
    "UPDATE account SET plain = 0 RETURNING (SELECT count(*) FROM entry, archive WHERE \
     upper(memo) <> name)",
    "UPDATE account SET plain = 0 WHERE id = 1 RETURNING (SELECT 1 / (count(*) - count(*)) FROM \
     entry WHERE upper(memo) <> '')",
    "UPDATE account SET plain = 0 RETURNING (SELECT upper(memo) FROM entry)",
    "WITH x AS (DELETE FROM entry RETURNING number, (SELECT upper(note) FROM account WHERE \
     account.id = entry.account_id) AS note) SELECT note, count(*) FROM x GROUP BY 1",
    "UPDATE account SET plain = 0 RETURNING (SELECT max(account.plain))",
    "UPDATE account SET plain = 0 RETURNING (SELECT max(account.note || '')) ## refused: \
     function max over the row",
    "UPDATE account SET plain = 0 RETURNING (SELECT max(plain) FROM entry WHERE memo ~ 'x') ## \
     refused: function max over the row",
    "UPDATE account SET plain = 0 RETURNING (SELECT count(*) FILTER (WHERE account.plain > 1) \
     FROM entry WHERE memo ~ 'x') ## refused: function count over the row",
    "UPDATE account SET plain = 0 RETURNING (SELECT count(account.*) FROM entry WHERE memo ~ \
     'x') ## refused: function count over the row",
    "UPDATE account SET plain = 0 RETURNING upper(note), (SELECT old.plain FROM entry LIMIT 1) \
     ## refused: old.plain in RETURNING",
    "UPDATE account a SET plain = 0 FROM archive r WHERE r.id = a.id RETURNING a.id, (SELECT \
     count(*) FROM entry WHERE upper(memo) > r.name) ## refused: a query in RETURNING",
    // Not done.
    "UPDATE account SET plain = 0 RETURNING upper(note), now() > 'epoch' ## refused: now in \
     RETURNING",
    "UPDATE account SET plain = 0 RETURNING ctid, upper(note) ## refused: ctid",
];

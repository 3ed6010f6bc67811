//! `ON CONFLICT DO UPDATE` whose new values the finisher computes.

pub const STATEMENTS: &[&str] = &[
    // One row.
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYq', 10) ON CONFLICT (id) DO UPDATE \
     SET score = account.score + EXCLUDED.score",
    "INSERT INTO account (id, name, score) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET \
     score = account.score + EXCLUDED.score RETURNING id, name, score ## 1 ## CANARYq ## 10",
    "INSERT INTO account (id, name, score) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET \
     score = account.score + EXCLUDED.score RETURNING id, name, score ## 11 ## CANARYq ## 10",
    "INSERT INTO account (id, name, note) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET name \
     = left(upper(EXCLUDED.name), 12), note = coalesce(account.note, '') || EXCLUDED.note \
     RETURNING * ## 3 ## CANARYq ## CANARYr",
    "INSERT INTO account AS a (id, name) VALUES (2, 'CANARYq') ON CONFLICT (id) DO UPDATE SET note \
     = a.note || $1 RETURNING a.note, a.id ## CANARYs",
    "INSERT INTO account AS a (id, name, score) VALUES (4, 'CANARYq', $1) ON CONFLICT (id) DO \
     UPDATE SET score = a.score * $2 + EXCLUDED.score RETURNING score ## 3 ## 2",
    "INSERT INTO public.account (id, name) VALUES (2, 'CANARYq') ON CONFLICT (id) DO UPDATE SET \
     amount = round(account.amount) RETURNING public.account.amount",
    "INSERT INTO account (id, name) VALUES (2, 'CANARYq') ON CONFLICT (id) DO UPDATE SET amount = \
     round(account.amount), day = account.day + 1 RETURNING amount, day",
    "INSERT INTO account (id, name, amount) VALUES (1, 'CANARYq', 1.239) ON CONFLICT (id) DO \
     UPDATE SET amount = EXCLUDED.amount * 100 + account.amount RETURNING amount",
    // Several, in their order.
    "INSERT INTO account (id, name, score) VALUES (11, 'CANARYk', 1), (1, 'CANARYl', 2), (12, \
     'CANARYm', 3), (5, 'CANARYn', 4) ON CONFLICT (id) DO UPDATE SET score = account.score - \
     EXCLUDED.score RETURNING id, score, name",
    "INSERT INTO account (id, name, score) SELECT * FROM UNNEST($1::int[], $2::text[], $3::int[]) \
     ON CONFLICT (id) DO UPDATE SET score = account.score + EXCLUDED.score, name = EXCLUDED.name \
     RETURNING id, score, name ## {5,11,1} ## {CANARYu,CANARYv,CANARYw} ## {1,2,NULL}",
    "INSERT INTO archive (id, name, note, at) SELECT id, name, note, plain FROM account ON \
     CONFLICT (id) DO UPDATE SET note = concat(archive.note, EXCLUDED.note) RETURNING id, note, at",
    "INSERT INTO account (id, name, score) SELECT 1, 'CANARYq', 3 WHERE 1 = 0 ON CONFLICT (id) DO \
     UPDATE SET score = account.score + 1 RETURNING id",
    // Conditions.
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYl', 2), (2, 'CANARYk', 1), (13, \
     'CANARYm', 3), (3, 'CANARYn', 4) ON CONFLICT (id) DO UPDATE SET score = EXCLUDED.score WHERE \
     account.score > EXCLUDED.score RETURNING id, score",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYl') ON CONFLICT (id) DO UPDATE SET name = \
     EXCLUDED.name WHERE account.note LIKE '%nothing%' RETURNING id",
    "INSERT INTO account (id, name, plain) VALUES (1, 'CANARYl', 9), (2, 'CANARYm', 1) ON CONFLICT \
     (id) DO UPDATE SET name = reverse(EXCLUDED.name) WHERE account.plain < EXCLUDED.plain \
     RETURNING id, name, plain",
    // Plain columns beside protected ones.
    "INSERT INTO archive (id, name, at) VALUES (2, 'CANARYl', 5), (9, 'CANARYm', 6), (21, \
     'CANARYn', 7) ON CONFLICT (id) DO UPDATE SET at = archive.at + EXCLUDED.at, name = \
     lower(EXCLUDED.name) RETURNING id, at, name",
    "INSERT INTO archive (id, name, at) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET at = \
     EXCLUDED.at, note = upper(archive.note) RETURNING id, at, note ## 9 ## CANARYl ## 7",
    "INSERT INTO archive (id, name, at) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET at = \
     $4, note = $5 || EXCLUDED.name RETURNING id, at, note ## 9 ## CANARYl ## 7 ## 8 ## CANARYm",
    "INSERT INTO archive (id, name) VALUES (9, 'CANARYl') ON CONFLICT (id) DO UPDATE SET at = \
     EXCLUDED.at, note = upper(archive.note) RETURNING id, at, note",
    "INSERT INTO account (id, name, label) VALUES (1, 'CANARYl', 'z'), (2, 'CANARYm', NULL) ON \
     CONFLICT (id) DO UPDATE SET (name, label) = (left(EXCLUDED.name || account.name, 12), \
     account.label || EXCLUDED.label) RETURNING name, label",
    "INSERT INTO account (id, name, plain) SELECT id, name, 7::bigint FROM account ON CONFLICT \
     (id) DO UPDATE SET plain = EXCLUDED.plain + account.plain, note = upper(account.note)",
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYl', 1) ON CONFLICT (id) DO UPDATE SET \
     score = account.score + 1, plain = DEFAULT, place = NULL RETURNING score, plain, place",
    // Errors.
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYk', 1), (1, 'CANARYl', 2) ON CONFLICT \
     (id) DO UPDATE SET score = account.score + EXCLUDED.score",
    "INSERT INTO account (id, name, score) VALUES (14, 'CANARYk', 1), (14, 'CANARYl', 2) ON \
     CONFLICT (id) DO UPDATE SET score = account.score + EXCLUDED.score",
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYk', 1) ON CONFLICT (id) DO UPDATE SET \
     score = score + 1",
    "INSERT INTO account (id, name, score) VALUES (1, 'CANARYk', 0) ON CONFLICT (id) DO UPDATE SET \
     score = account.score / EXCLUDED.score",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET name = \
     EXCLUDED.name || EXCLUDED.name",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET name = \
     nullif(EXCLUDED.name, 'CANARYk')",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET score = \
     upper(EXCLUDED.name)",
    "INSERT INTO account (id, name) VALUES (1, NULL) ON CONFLICT (id) DO UPDATE SET score = \
     account.score + 1",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (name) DO UPDATE SET score = \
     account.score + 1",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET id = \
     account.id + 1",
    // What is not supported.
    "INSERT INTO archive (id, name, at) VALUES (9, 'CANARYl', 3) ON CONFLICT (id) DO UPDATE SET at \
     = length(archive.note) ## refused: ",
    "INSERT INTO archive (id, name, at) VALUES (9, 'CANARYl', 3) ON CONFLICT (id) DO UPDATE SET at \
     = length(EXCLUDED.name), note = 'x' ## refused: not protected",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET score = \
     (SELECT max(number) FROM entry) + account.score ## refused: a query in ON CONFLICT",
    "INSERT INTO account (id, name) VALUES (1, 'CANARYk') ON CONFLICT (id) DO UPDATE SET day = \
     account.day + CURRENT_DATE - EXCLUDED.day ## refused: the server's time",
];

-- Several statements, as sqlx sends them: by one simple query in a transaction.
CREATE TABLE author (
    id uuid PRIMARY KEY,
    name varchar(80) NOT NULL,
    mail text UNIQUE,
    born date,
    active boolean NOT NULL DEFAULT true,
    made timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE INDEX author_born ON author (born);
CREATE TABLE book (
    id bigserial PRIMARY KEY,
    author_id uuid REFERENCES author (id) ON DELETE CASCADE,
    title text NOT NULL,
    price numeric(8,2),
    sold bigint NOT NULL,
    published timestamp,
    facts jsonb,
    labels text[] NOT NULL,
    photo bytea
);
CREATE INDEX ON book (author_id);

CREATE TABLE authors (
    id UUID PRIMARY KEY,
    name VARCHAR(80) NOT NULL,
    mail TEXT UNIQUE,
    born DATE,
    active BOOLEAN NOT NULL DEFAULT TRUE,
    made TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE books (
    id SERIAL PRIMARY KEY,
    author_id UUID REFERENCES authors (id),
    title TEXT NOT NULL,
    price NUMERIC(8, 2),
    sold BIGINT NOT NULL,
    published TIMESTAMP
);

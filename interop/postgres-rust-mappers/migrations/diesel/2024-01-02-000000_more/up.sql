CREATE INDEX books_author ON books (author_id);
CREATE TABLE reviews (
    book_id INTEGER NOT NULL REFERENCES books (id) ON DELETE CASCADE,
    reader VARCHAR(60) NOT NULL,
    stars SMALLINT NOT NULL,
    note TEXT,
    PRIMARY KEY (book_id, reader)
);
ALTER TABLE books ADD COLUMN facts JSONB, ADD COLUMN labels TEXT[];

CREATE TABLE review (
    book_id bigint NOT NULL REFERENCES book (id) ON DELETE CASCADE,
    reader varchar(60) NOT NULL,
    stars smallint NOT NULL,
    weight double precision,
    PRIMARY KEY (book_id, reader)
);
ALTER TABLE review ADD COLUMN note text;

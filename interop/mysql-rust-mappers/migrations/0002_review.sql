CREATE TABLE review (
    book_id bigint NOT NULL,
    reader varchar(60) NOT NULL,
    stars smallint NOT NULL,
    weight double,
    note longtext,
    PRIMARY KEY (book_id, reader),
    CONSTRAINT review_book FOREIGN KEY (book_id) REFERENCES book (id) ON DELETE CASCADE
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE INDEX by_stars ON review (stars);

DROP TABLE reviews;
DROP INDEX books_author;
ALTER TABLE books DROP COLUMN facts, DROP COLUMN labels;

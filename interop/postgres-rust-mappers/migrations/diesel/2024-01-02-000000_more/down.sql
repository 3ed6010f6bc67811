DROP TABLE reviews;
ALTER TABLE books DROP COLUMN facts, DROP COLUMN labels;
DROP INDEX books_author;

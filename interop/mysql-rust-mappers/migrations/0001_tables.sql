-- Several statements, as sqlx sends them: in one text.
CREATE TABLE author (
    id int PRIMARY KEY,
    name varchar(80) NOT NULL,
    mail varchar(120),
    born date,
    active boolean NOT NULL DEFAULT true,
    made datetime(6) NOT NULL
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE book (
    id bigint PRIMARY KEY AUTO_INCREMENT,
    author_id int,
    title text NOT NULL,
    price decimal(8,2),
    sold bigint NOT NULL,
    published datetime,
    facts json,
    photo longblob,
    KEY of_author (author_id),
    CONSTRAINT book_author FOREIGN KEY (author_id) REFERENCES author (id) ON DELETE CASCADE
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;

CREATE TABLE person (
    id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT,
    name VARCHAR(40) NOT NULL DEFAULT 'nobody' COMMENT 'as it is said',
    born DATE,
    salary DECIMAL(12,2),
    photo LONGBLOB,
    kind ENUM('a', 'b') NOT NULL,
    bits BIT(3),
    at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
    KEY person_name (name(10))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE visit (
    person BIGINT UNSIGNED NOT NULL,
    number INT NOT NULL,
    note TEXT,
    PRIMARY KEY (person, number),
    CONSTRAINT visit_person FOREIGN KEY (person) REFERENCES person (id) ON DELETE CASCADE
);
CREATE VIEW named AS SELECT id, name FROM person WHERE name <> 'nobody';
INSERT INTO person (id, name, born, salary, photo, kind, bits, at) VALUES
    (1, 'änn 𝄞', '1990-02-28', 1234.50, x'00ff1a0d0a27', 'a', b'101', '2026-11-26 01:02:03.000004'),
    (18446744073709551614, 'o''hara \\ "b"', NULL, NULL, NULL, 'b', NULL, '2000-01-01 00:00:01');
INSERT INTO visit VALUES (1, 1, 'a\nline\tand\0zero'), (1, 2, NULL), (18446744073709551614, 1, '');
DELIMITER //
CREATE PROCEDURE both_of_them() BEGIN SELECT count(*) FROM person; SELECT count(*) FROM visit; END//
DELIMITER ;

-- What each SQLCipher sample holds: NULL, all types, values that overflow their page, an index, a
-- table without rowids, a view, a trigger, a generated column, a gap in the rowids.
PRAGMA user_version = 20417;
PRAGMA application_id = 1400009587;
CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER, note);
CREATE INDEX person_name ON person(name COLLATE NOCASE);
CREATE TABLE setting(key TEXT PRIMARY KEY, value, shown AS (key || '=' || value)) WITHOUT ROWID;
CREATE TABLE picture(name TEXT, pixels BLOB);
CREATE VIEW adult AS SELECT name FROM person WHERE born < 2008;
CREATE TRIGGER counted AFTER INSERT ON person BEGIN
  UPDATE setting SET value = value + 1 WHERE key = 'persons';
END;
INSERT INTO setting(key, value) VALUES ('persons', 0), ('null', NULL), ('real', 2.5);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
INSERT INTO person SELECT i, 'Grüße ' || i, 1950 + i, CASE WHEN i % 7 = 0 THEN NULL ELSE i * 0.5 END FROM n;
INSERT INTO picture VALUES ('empty', x''), ('null', NULL), ('long', zeroblob(5000)),
  ('text', replace(hex(zeroblob(2500)), '0', 'é'));
DELETE FROM person WHERE id BETWEEN 20 AND 29;

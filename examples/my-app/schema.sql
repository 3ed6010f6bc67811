CREATE TABLE people (
  id INTEGER PRIMARY KEY,
  name VARCHAR(40) NOT NULL
);
CREATE TABLE tickets (
  id INTEGER PRIMARY KEY,
  owner INTEGER NOT NULL,
  state VARCHAR(10) NOT NULL,
  opened_day INTEGER NOT NULL,
  title VARCHAR(80) NOT NULL
);
CREATE TABLE comments (
  ticket INTEGER NOT NULL,
  number INTEGER NOT NULL,
  author INTEGER NOT NULL,
  words VARCHAR(200) NOT NULL,
  PRIMARY KEY (ticket, number)
);
CREATE INDEX tickets_by_owner ON tickets (owner, state);
CREATE TABLE digits (d INTEGER PRIMARY KEY);

CREATE TABLE person (id integer PRIMARY KEY, name varchar(40) NOT NULL, born date, salary numeric(12,2), score bigint, photo bytea, active boolean)
CREATE TABLE visit (person_id integer REFERENCES person (id), number integer, note text, PRIMARY KEY (person_id, number))

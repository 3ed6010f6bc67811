CREATE TABLE person (id integer PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date, salary numeric(12,2), score bigint DEFAULT 7, photo bytea, active boolean DEFAULT true NOT NULL);
CREATE TABLE visit (person_id integer REFERENCES person (id) ON DELETE CASCADE, number integer CHECK (number > 0), note text, PRIMARY KEY (person_id, number));
CREATE TABLE kinds (number serial PRIMARY KEY, small smallint, single real, double double precision, exact numeric, padded char(9), any_short varchar, at_time time, moment timestamp, instant timestamptz DEFAULT CURRENT_TIMESTAMP, key uuid, document json, yes boolean);
CREATE INDEX person_born ON person (born DESC);
CREATE UNIQUE INDEX kinds_key ON kinds (key, number) WHERE key IS NOT NULL;
CREATE VIEW noted AS SELECT p.name, v.number, v.note FROM person p JOIN visit v ON v.person_id = p.id;
CREATE TABLE plain (id integer PRIMARY KEY, person_name text);
COMMENT ON COLUMN person.salary IS 'in thalers';

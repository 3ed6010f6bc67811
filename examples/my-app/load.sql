-- 20 people, 5000 tickets, 20000 comments: made from ten digits, the same on every engine.
BEGIN;
INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9);

INSERT INTO people
SELECT tens.d * 10 + ones.d, CONCAT('Person number ', tens.d * 10 + ones.d)
  FROM digits AS tens, digits AS ones
 WHERE tens.d < 2;

INSERT INTO tickets
SELECT n, (n * 7) % 20,
       CASE WHEN n % 3 = 0 THEN 'open' WHEN n % 3 = 1 THEN 'waiting' ELSE 'closed' END,
       (n * 13) % 365,
       CONCAT(CASE WHEN n % 11 = 0 THEN 'The printer is on fire, case '
                   ELSE 'A small thing that should be looked at, case ' END, n)
  FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n
          FROM digits AS a, digits AS b, digits AS c, digits AS e
         WHERE e.d < 5) AS numbers;

INSERT INTO comments
SELECT tickets.id, digits.d, (tickets.id + digits.d) % 20,
       CONCAT('I looked at it; it''s not what it seems. Note ', digits.d, ' on ticket ', tickets.id)
  FROM tickets, digits
 WHERE digits.d < 4;
COMMIT;

-- title: Open tickets of each person
SELECT people.name, count(*)
  FROM people JOIN tickets ON tickets.owner = people.id
 WHERE tickets.state = 'open'
 GROUP BY people.name
 ORDER BY people.name;

-- title: One ticket with its comments
-- repeat: 500
SELECT tickets.title, comments.number, comments.words
  FROM tickets JOIN comments ON comments.ticket = tickets.id
 WHERE tickets.id = 4242
 ORDER BY comments.number;

-- title: Tickets on fire
SELECT id, title FROM tickets WHERE title LIKE '%on fire%' ORDER BY id;

-- title: Who writes most to the tickets of others
SELECT comments.author, count(*)
  FROM comments JOIN tickets ON tickets.id = comments.ticket
 WHERE comments.author <> tickets.owner
 GROUP BY comments.author
 ORDER BY count(*) DESC, comments.author;

-- title: A comment, each in a transaction of its own
-- repeat: 50
UPDATE comments SET words = 'It was the cable; it''s always the cable.'
 WHERE ticket = 17 AND number = 3;

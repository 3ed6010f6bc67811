BEGIN;
UPDATE tickets SET state = 'closed' WHERE opened_day < 100 AND state = 'waiting';
DELETE FROM comments
 WHERE ticket IN (SELECT id FROM tickets WHERE state = 'closed' AND opened_day < 30);
COMMIT;

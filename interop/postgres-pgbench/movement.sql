\set wallet random(1, 10)
\set delta random(-50, 100)
BEGIN;
UPDATE wallet SET balance = balance + :delta WHERE id = :wallet;
SELECT balance FROM wallet WHERE id = :wallet;
INSERT INTO movement (wallet_id, delta) VALUES (:wallet, :delta);
END;

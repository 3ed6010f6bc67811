// Commits endlessly, and reports each commit, until it is killed.

import { writeSync } from 'node:fs';

import { open } from '@strongroom/sqlite/node';

const [, , path, mode] = process.argv;
const key = Uint8Array.from({ length: 32 }, (_, index) => index);
const insert = 'INSERT INTO commits (content) VALUES (randomblob(9000))';

const db = await open(path, { key });
db.exec(`PRAGMA journal_mode = ${mode};
  CREATE TABLE IF NOT EXISTS commits (number INTEGER PRIMARY KEY, content BLOB NOT NULL)`);
let committed = Number(db.selectValue('SELECT coalesce(max(number), 0) FROM commits'));
for (;;) {
  db.exec(insert);
  committed += 1;
  writeSync(1, `${committed}\n`);
  // Every third transaction is rolled back, so that journals are played back during the work, too.
  if (committed % 3 === 0) db.exec(`BEGIN; ${insert}; ROLLBACK`);
}

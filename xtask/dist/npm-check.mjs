// A user's first steps with the package. Run in the folder where the package is installed.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { DatabaseSync } from 'node:sqlite';

import { open } from '@strongroom/node';

const path = 'sealed.db';
const key = { passphrase: 'a passphrase of this test' };
let database = open(path, key);
database.exec('CREATE TABLE t(x)');
database.prepare('INSERT INTO t VALUES (?)').run('a secret of this test');
database.close();

const bytes = readFileSync(path);
assert(bytes.length > 0 && !bytes.includes('a secret') && !bytes.includes('SQLite format 3'));

database = open(path, key);
assert.equal(database.prepare('SELECT x FROM t').get().x, 'a secret of this test');
database.close();
assert.throws(() => open(path, { passphrase: 'another one' }), { code: 'wrong-key' });
assert.throws(() => new DatabaseSync(path).exec('SELECT x FROM t'), /not a database/u);

writeFileSync('my.key', '0'.repeat(64), { mode: 0o600 });
open('by-file.db', { keyFile: 'my.key' }).close();

console.log(`Node ${process.versions.node} with SQLite ${process.versions.sqlite}`);

// The scenario in Node, in a file and in memory.

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { connect, open } from '@strongroom/sqlite/node';

import { scenario } from '../scenario.js';

const { refused, ...expected } = JSON.parse(
  readFileSync(new URL('../expected.json', import.meta.url), 'utf8'));

/** Runs a body with a folder that is gone afterwards. */
async function inFolder(body) {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('a file is made, written and opened again', () => inFolder(async (folder) => {
  const path = join(folder, 'notes.db');
  const secret = { passphrase: 'correct horse battery staple' };
  assert.deepEqual(await scenario(() => connect(path, secret)), expected);
  await assert.rejects(connect(path, { passphrase: 'wrong' }), { code: refused });
  await assert.rejects(open(path), { code: 'no-key' });
  assert.deepEqual(readdirSync(folder), ['notes.db']);
  const bytes = readFileSync(path, 'latin1');
  for (const word of ['first', 'CREATE TABLE', 'SQLite format 3']) assert(!bytes.includes(word), word);
}));

test('a database in memory is there until it is closed', async () => {
  const db = await connect(':memory:');
  await db.exec('CREATE TABLE t (n)');
  assert.equal((await db.run('INSERT INTO t VALUES (1), (2)')).changes, 2);
  const rows = [];
  for await (const row of db.iterate('SELECT n FROM t')) rows.push(row.n);
  assert.deepEqual(rows, [1, 2]);
  await db.close();
  await assert.rejects(db.exec('SELECT 1'), { code: 'misuse' });
  const another = await open(':memory:');
  assert.deepEqual(another.selectArrays('SELECT name FROM sqlite_schema'), []);
  await another.close();
});

test('the entry points for pages can be imported where nothing is opened', async () => {
  const page = await import('@strongroom/sqlite');
  assert.equal(typeof page.open, 'function');
  const sync = await import('@strongroom/sqlite/sync');
  assert.equal(typeof sync.Engine.load, 'function');
});

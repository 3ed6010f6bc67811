// Files in Node: used by one process at a time; a process that is killed loses no commit.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { open } from '@strongroom/sqlite/node';

const KILLS = Number(process.env.STRONGROOM_KILLS ?? 10);
const key = Uint8Array.from({ length: 32 }, (_, index) => index);
const folder = mkdtempSync(join(tmpdir(), 'strongroom-'));
after(() => rmSync(folder, { recursive: true }));

/** A process that has a database open and commits without end; each number that it tells. */
function committing(path, mode) {
  const program = fileURLToPath(new URL('committing.js', import.meta.url));
  const child = spawn(process.execPath, [program, path, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const told = { last: 0 };
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => { told.last = Number(line); });
  return { child, lines, told };
}

for (const mode of ['delete', 'wal']) {
  test(`${KILLS} processes are killed in the midst of commits, journal ${mode}`, async () => {
    const path = join(folder, `killed-${mode}.db`);
    const made = await open(path, { key });
    made.exec(`PRAGMA journal_mode = ${mode};
      CREATE TABLE commits (number INTEGER PRIMARY KEY, content BLOB NOT NULL)`);
    await made.close();
    let before = 0;
    for (let time = 0; time < KILLS; time++) {
      const { child, lines, told } = committing(path, mode);
      await once(lines, 'line');
      await pause((time * 13) % 47);
      child.kill('SIGKILL');
      await Promise.all([once(child, 'close'), once(lines, 'close')]);
      const db = await open(path, { key });
      const [[rows, last, sizes]] = db.selectArrays(
        'SELECT count(*), max(number), count(DISTINCT length(content)) FROM commits');
      const check = db.selectValue('PRAGMA integrity_check');
      await db.close();
      assert.equal(check, 'ok');
      assert.deepEqual([rows, sizes], [last, 1], 'a commit is whole or not there');
      assert(last === told.last || last === told.last + 1, `${last} where ${told.last} were told`);
      assert(last > before, 'nothing was committed');
      before = last;
    }
  });
}

test('another process is told who has the database, and one that was killed has nothing', async () => {
  const path = join(folder, 'claimed.db');
  const { child, lines } = committing(path, 'delete');
  await once(lines, 'line');
  await assert.rejects(open(path, { key }), (error) => {
    assert.equal(error.code, 'locked-elsewhere');
    assert.match(error.message, new RegExp(`process ${child.pid}\\b`));
    return true;
  });
  child.kill('SIGKILL');
  await once(child, 'close');
  assert(existsSync(`${path}-node`));
  await (await open(path, { key })).close();
  assert(!existsSync(`${path}-node`));
});

test('a file that is damaged is refused, and so is one that is no database', async () => {
  const path = join(folder, 'damaged.db');
  const made = await open(path, { key });
  made.exec("CREATE TABLE t (text); INSERT INTO t VALUES (hex(randomblob(9000)))");
  await made.close();
  const bytes = readFileSync(path);
  bytes[bytes.length - 100] ^= 1;
  writeFileSync(path, bytes);
  const damaged = await open(path, { key });
  assert.throws(() => damaged.selectArrays('SELECT * FROM t'), { code: 'damaged' });
  await damaged.close();
  writeFileSync(path, 'these are not the bytes of a database'.repeat(1000));
  await assert.rejects(open(path, { key }), { code: 'not-a-database' });
  await assert.rejects(open(join(folder, 'no', 'such', 'folder.db'), { key }), { code: 'no-storage' });
});

test('several connections of one process share a file', async () => {
  const path = join(folder, 'shared.db');
  const one = await open(path, { key, shared: true });
  const other = await open(path, { key, shared: true });
  one.exec('CREATE TABLE t (n); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)');
  assert.throws(() => other.exec('INSERT INTO t VALUES (2)'), { code: 'busy' });
  one.exec('COMMIT');
  other.exec('INSERT INTO t VALUES (2)');
  assert.equal(one.selectValue('SELECT count(*) FROM t'), 2);
  await one.close();
  await other.close();
});

// Databases, used as programs do.

import { Database } from '../src/database.js';
import { remove } from '../src/names.js';
import { equal, isTrue, refused } from './assert.js';
import {
  bytesOf, bytesOfOpen, CANARY, CIPHERS, created, engine, fill, filesOf, holds, KEY, nothingReadable,
} from './support.js';

const PASSPHRASE = 'correct horse battery staple';

export const databaseTests = {
  async 'a database is made, closed and opened again, with each cipher'(): Promise<void> {
    const on = await engine();
    for (const cipher of CIPHERS) {
      const name = `made-${cipher}.db`;
      const made = await created(on, name, { passphrase: PASSPHRASE, cipher });
      fill(made, 3000);
      const status = String(made.selectValue('PRAGMA strongroom_status'));
      isTrue(status.includes(cipher), `${cipher} is not in "${status}"`);
      await made.close();
      equal(await filesOf(name), [''], 'files that are left');
      nothingReadable(await bytesOf(name), name);

      const opened = await Database.open(on, name, { passphrase: PASSPHRASE });
      equal(opened.selectValue('SELECT count(*) FROM filler WHERE text LIKE ?', [`${CANARY}%`]), 3000);
      equal(opened.selectValue('PRAGMA integrity_check'), 'ok');
      await opened.close();
    }
  },

  async 'connections of one worker that open and close a database at once share its files'(): Promise<void> {
    const on = await engine();
    const name = 'at-once.db';
    const first = await created(on, name, { key: KEY, shared: true });
    first.exec('CREATE TABLE t(n)');
    await first.close();
    const open = () => Database.open(on, name, { key: KEY, shared: true });
    for (let round = 0; round < 5; round += 1) {
      const databases = await Promise.all([open(), open(), open()]);
      for (const database of databases) database.exec('INSERT INTO t VALUES(1)');
      const counts = databases.map((database) => database.selectValue('SELECT count(*) FROM t'));
      equal(counts, Array.from({ length: 3 }, () => 3 * (round + 1)));
      // One opens while others close and empty files are removed.
      const [, , , late] = await Promise.all([...databases.map((one) => one.close()), open()]);
      equal(late!.selectValue('PRAGMA integrity_check'), 'ok');
      await late!.close();
    }
    equal(on.files.isAttached(name), false);
    equal(await filesOf(name), ['']);
    // A connection that keeps its locks makes the other one fail with the reason.
    const alone = await Database.open(on, name, { key: KEY });
    alone.exec('INSERT INTO t VALUES(1)');
    await refused('busy', () => Database.open(on, name, { key: KEY }));
    await alone.close();
    equal(on.files.isAttached(name), false);
  },

  async 'values come back as they were bound'(): Promise<void> {
    const database = await created(await engine(), 'values.db');
    const values = [
      null, 0, -1, 9007199254740991, 9223372036854775807n, -9223372036854775808n, 0.5, -1e300, '',
      'a\0b', 'ä€𝄞', new Uint8Array(), new Uint8Array([0, 255, 1]),
    ];
    database.exec('CREATE TABLE v(id INTEGER PRIMARY KEY, value)');
    const insert = database.prepare('INSERT INTO v(value) VALUES(?)');
    for (const value of values) {
      insert.bind([value]).step();
      insert.reset();
    }
    insert.finalize();
    const rows = database.selectArrays('SELECT value FROM v ORDER BY id');
    for (const [index, value] of values.entries()) {
      const [read] = rows[index]!;
      isTrue(typeof read === typeof value, `value ${index} is of type ${typeof read}`);
      equal(String(read), String(value), `value ${index}`);
    }
    equal(database.selectObjects('SELECT 1 AS one, NULL AS two'), [{ one: 1, two: null }]);
    equal(database.lastInsertRowId(), values.length);
    await database.close();
  },

  async 'journals of every mode hold nothing readable, and roll back'(): Promise<void> {
    const on = await engine();
    for (const mode of ['delete', 'truncate', 'persist', 'memory', 'off', 'wal']) {
      const name = `journal-${mode}.db`;
      const database = await created(on, name);
      equal(database.selectValue(`PRAGMA journal_mode = ${mode}`), mode);
      fill(database, 3000);
      // More pages than the cache holds, so that they are written before the transaction ends.
      database.exec("PRAGMA cache_size = 5; BEGIN; UPDATE filler SET text = text || ' changed'");
      const file = mode === 'wal' ? `${name}-wal` : `${name}-journal`;
      if (mode !== 'memory' && mode !== 'off') {
        const bytes = bytesOfOpen(on, file);
        isTrue(bytes.length > 50_000, `${file} has ${bytes.length} bytes`);
        nothingReadable(bytes, file);
      }
      if (mode === 'off') database.exec('COMMIT');
      else database.exec('ROLLBACK');
      const changed = "SELECT count(*) FROM filler WHERE text LIKE '%changed'";
      equal(database.selectValue(changed), mode === 'off' ? 3000 : 0, mode);
      equal(database.selectValue('PRAGMA integrity_check'), 'ok', mode);
      await database.close();
      nothingReadable(await bytesOf(name), name);
      const again = await Database.open(on, name, { key: KEY });
      equal(again.selectValue('SELECT count(*) FROM filler'), 3000, mode);
      await again.close();
    }
  },

  async 'the log is checkpointed when the database is closed'(): Promise<void> {
    const on = await engine();
    const database = await created(on, 'log.db');
    database.exec('PRAGMA journal_mode = wal');
    fill(database, 100);
    isTrue(bytesOfOpen(on, 'log.db-wal').length > 4096, 'the log is not in use');
    await database.close();
    equal(await filesOf('log.db'), ['']);
  },

  async 'several connections have no write-ahead log'(): Promise<void> {
    const database = await created(await engine(), 'shared.db', { key: KEY, shared: true });
    equal(database.selectValue('PRAGMA journal_mode = wal'), 'delete');
    await database.close();
  },

  async 'two connections of a worker take turns'(): Promise<void> {
    const on = await engine();
    const one = await created(on, 'turns.db', { key: KEY, shared: true });
    fill(one, 10);
    const other = await Database.open(on, 'turns.db', { key: KEY, shared: true });
    one.exec('BEGIN IMMEDIATE; DELETE FROM filler WHERE id = 1');
    equal(other.selectValue('SELECT count(*) FROM filler'), 10);
    await refused('busy', () => other.exec('DELETE FROM filler WHERE id = 2'));
    one.exec('COMMIT');
    other.exec('DELETE FROM filler WHERE id = 2');
    equal(one.selectValue('SELECT count(*) FROM filler'), 8);
    await one.close();
    equal(other.selectValue('SELECT count(*) FROM filler'), 8);
    await other.close();
    equal(await filesOf('turns.db'), ['']);
  },

  async 'keys are rotated, added and removed'(): Promise<void> {
    const on = await engine();
    const name = 'keys.db';
    const database = await created(on, name, { passphrase: PASSPHRASE });
    fill(database, 3000);
    const before = await sealedPage(database, name);
    database.rotate();
    equal(database.selectValue('PRAGMA locking_mode'), 'exclusive');
    const after = await sealedPage(database, name);
    isTrue(!holds(after, before.subarray(0, 64)), 'a page is as it was before the rotation');
    equal(database.selectValue('PRAGMA integrity_check'), 'ok');
    await database.close();
    const again = await Database.open(on, name, { passphrase: PASSPHRASE });
    equal(again.selectValue('SELECT count(*) FROM filler'), 3000);
    await again.close();
    equal(await filesOf(name), ['']);
  },

  async 'another database is attached, with a key of its own'(): Promise<void> {
    const on = await engine();
    const side = await created(on, 'side.db', { passphrase: PASSPHRASE });
    side.exec('CREATE TABLE t(a); INSERT INTO t VALUES(1)');
    await side.close();
    const main = await created(on, 'main.db');
    main.exec('CREATE TABLE t(a); INSERT INTO t VALUES(2)');
    await main.attach('side.db', 'side', { passphrase: PASSPHRASE });
    equal(main.selectArrays('SELECT a FROM main.t UNION ALL SELECT a FROM side.t'), [[2], [1]]);
    main.exec('INSERT INTO side.t SELECT a FROM main.t');

    // A commit to both in rollback journals would need a super-journal.
    const both = 'BEGIN; INSERT INTO main.t VALUES(3); INSERT INTO side.t VALUES(3); COMMIT';
    const error = await refused('sqlite', () => main.exec(both));
    isTrue(error.message.includes('several databases'), error.message);
    if (main.isInTransaction()) main.exec('ROLLBACK');
    equal(main.selectValue('SELECT count(*) FROM main.t'), 1);
    equal(main.selectValue('SELECT count(*) FROM side.t'), 2);

    // In WAL mode each database commits separately.
    main.exec('PRAGMA journal_mode = wal');
    main.exec(both);
    equal(main.selectArrays('SELECT count(*) FROM main.t UNION ALL SELECT count(*) FROM side.t'), [[2], [3]]);
    await main.close();
    for (const name of ['main.db', 'side.db']) equal(await filesOf(name), [''], name);
    await remove('side.db');
  },

  async 'a database in memory needs no file'(): Promise<void> {
    const database = await Database.open(await engine(), ':memory:');
    fill(database, 1000);
    equal(database.selectValue('SELECT count(*) FROM filler'), 1000);
    await database.close();
  },

  async 'names may have folders and any character'(): Promise<void> {
    const on = await engine();
    for (const name of ['folder/inner/app.db', 'a?b#c%20d&e=ä.db']) {
      const database = await created(on, name);
      fill(database, 10);
      await database.close();
      const again = await Database.open(on, name, { key: KEY });
      equal(again.selectValue('SELECT count(*) FROM filler'), 10, name);
      await again.close();
      equal(await filesOf(name), [''], name);
    }
  },

  async 'closing wipes the key and the passphrase from memory'(): Promise<void> {
    const on = await engine();
    const key = crypto.getRandomValues(new Uint8Array(32));
    const passphrase = crypto.getRandomValues(new Uint8Array(24)).map((byte) => 33 + (byte % 90));
    for (const [name, options, secret] of [
      ['wiped-key.db', { key }, key],
      ['wiped-passphrase.db', { passphrase }, passphrase],
    ] as const) {
      const database = await created(on, name, options);
      fill(database, 100);
      await database.close();
      const again = await Database.open(on, name, options);
      equal(again.selectValue('SELECT count(*) FROM filler'), 100);
      await again.close();
      const memory = on.view(0, on.data().byteLength);
      isTrue(memory.length > 1 << 20, 'memory was not looked at');
      for (const part of [secret.subarray(0, 12), secret.subarray(-12)]) {
        isTrue(!holds(memory, part), `a part of the secret of ${name} is left in memory`);
      }
    }
  },

  async 'time, randomness and functions of SQLite are there'(): Promise<void> {
    const database = await Database.open(await engine(), ':memory:');
    const seconds = Number(database.selectValue("SELECT unixepoch('now')"));
    isTrue(Math.abs(seconds - Date.now() / 1000) < 60, `${seconds} is not now`);
    const local = database.selectValue("SELECT datetime(86400 * 200, 'unixepoch', 'localtime')");
    const date = new Date(86_400_000 * 200 - new Date(86_400_000 * 200).getTimezoneOffset() * 60_000);
    equal(local, date.toISOString().slice(0, 19).replace('T', ' '));
    isTrue(database.selectValue('SELECT random()') !== database.selectValue('SELECT random()'), 'random');
    database.exec("CREATE VIRTUAL TABLE texts USING fts5(text); INSERT INTO texts VALUES('one two')");
    equal(database.selectValue("SELECT count(*) FROM texts WHERE texts MATCH 'two'"), 1);
    equal(database.selectValue(`SELECT json_extract('{"a":[1,2]}', '$.a[1]')`), 2);
    equal(database.selectValue('SELECT round(sqrt(2), 4)'), 1.4142);
    await database.close();
  },
};

/** The third page, as it lies in the file. */
async function sealedPage(database: Database, name: string): Promise<Uint8Array> {
  const bytes = bytesOfOpen(database.engine, name);
  return bytes.slice(8192 + 2 * 4096, 8192 + 3 * 4096);
}

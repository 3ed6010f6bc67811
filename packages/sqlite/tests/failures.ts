// Failures, and the errors that callers get.

import { Database } from '../src/database.js';
import { equal, isTrue, refused } from './assert.js';
import { bytesOf, created, engine, fill, KEY, OTHER_KEY, write } from './support.js';

const HEADER_SIZE = 8192;
const PAGE_SIZE = 4096;

async function filled(name: string): Promise<void> {
  const database = await created(await engine(), name);
  fill(database, 3000);
  await database.close();
}

/** Offset of a page, counted from 1. */
function offset(page: number): number {
  return HEADER_SIZE + (page - 1) * PAGE_SIZE;
}

async function pageOf(name: string, page: number): Promise<Uint8Array<ArrayBuffer>> {
  return (await bytesOf(name)).slice(offset(page), offset(page) + PAGE_SIZE);
}

export const failureTests = {
  async 'a wrong key and no key are refused and change nothing'(): Promise<void> {
    const name = 'refused.db';
    await filled(name);
    const before = await bytesOf(name);
    const on = await engine();
    await refused('wrong-key', () => Database.open(on, name, { key: OTHER_KEY }), ['wrong key']);
    await refused('wrong-key', () => Database.open(on, name, { passphrase: 'x' }), ['wrong key']);
    await refused('no-key', () => Database.open(on, name), ['no key was given']);
    await refused('not-a-database', () => Database.open(on, name, { plain: true, key: KEY }));
    await refused('misuse', () => Database.open(on, name, { key: KEY.subarray(1) }), ['32 bytes']);
    await refused('misuse', () => Database.open(on, name, { key: KEY, passphrase: 'x' }));
    equal(await bytesOf(name), before, name);
    const database = await Database.open(on, name, { key: KEY });
    equal(database.selectValue('SELECT count(*) FROM filler'), 3000);
    await database.close();
  },

  async 'a new database without a key is refused and leaves no file'(): Promise<void> {
    const on = await engine();
    const database = await Database.open(on, 'keyless.db');
    await refused('no-key', () => database.exec('CREATE TABLE t(a)'), ['no key was given']);
    await database.close();
    equal((await bytesOf('keyless.db')).length, 0);
  },

  async 'a damaged page is refused by its number'(): Promise<void> {
    const name = 'damaged.db';
    await filled(name);
    const page = await pageOf(name, 5);
    for (const at of [0, 77, PAGE_SIZE - 33, PAGE_SIZE - 1]) {
      const damaged = page.slice();
      damaged[at]! ^= 1;
      await write(name, damaged, offset(5));
      const database = await Database.open(await engine(), name, { key: KEY });
      const read = () => database.selectValue('SELECT count(text) FROM filler');
      await refused('damaged', read, ['page 5']);
      await database.close();
    }
    await write(name, page, offset(5));
    const database = await Database.open(await engine(), name, { key: KEY });
    equal(database.selectValue('SELECT count(text) FROM filler'), 3000);
    await database.close();
  },

  async 'swapped pages are refused'(): Promise<void> {
    const name = 'swapped.db';
    await filled(name);
    const [one, other] = [await pageOf(name, 5), await pageOf(name, 6)];
    await write(name, other, offset(5));
    await write(name, one, offset(6));
    const database = await Database.open(await engine(), name, { key: KEY });
    await refused('damaged', () => database.selectValue('SELECT count(text) FROM filler'), ['page 5']);
    await database.close();
  },

  async 'a page of another database is refused'(): Promise<void> {
    await filled('one.db');
    await filled('other.db');
    await write('one.db', await pageOf('other.db', 5), offset(5));
    const database = await Database.open(await engine(), 'one.db', { key: KEY });
    await refused('damaged', () => database.selectValue('SELECT count(text) FROM filler'), ['page 5']);
    await database.close();
  },

  async 'a header that was altered is refused'(): Promise<void> {
    const name = 'header.db';
    await filled(name);
    const header = (await bytesOf(name)).slice(0, HEADER_SIZE);
    await write(name, header.map((byte, at) => (at % 4096 === 200 ? byte ^ 1 : byte)));
    const on = await engine();
    try {
      const database = await Database.open(on, name, { key: KEY });
      await database.close();
      isTrue(false, 'the database opens');
    } catch (error) {
      isTrue(/wrong key|altered|damaged/.test(String(error)), String(error));
    }
  },

  async 'a second worker is told who has the file'(): Promise<void> {
    const name = 'elsewhere.db';
    await filled(name);
    const [one, other] = [await engine(), await engine()];
    const database = await Database.open(one, name, { key: KEY });
    const error = await refused('locked-elsewhere', () => Database.open(other, name, { key: KEY }));
    isTrue(error.message.includes(name), error.message);
    await database.close();
    const again = await Database.open(other, name, { key: KEY });
    await again.close();
  },

  async 'where the quota ends, the transaction is rolled back'(): Promise<void> {
    const name = 'quota.db';
    const on = await engine();
    const database = await created(on, name);
    fill(database, 1000);
    for (const mode of ['delete', 'wal']) {
      equal(database.selectValue(`PRAGMA journal_mode = ${mode}`), mode);
      // The origin's quota is gigabytes, so the browser's error for an exhausted quota is
      // simulated.
      const genuine = FileSystemSyncAccessHandle.prototype.write;
      let room = 400_000;
      FileSystemSyncAccessHandle.prototype.write = function write(data, options) {
        room -= (data as ArrayBufferView).byteLength;
        if (room < 0) throw new DOMException('no room left', 'QuotaExceededError');
        return genuine.call(this, data, options);
      };
      const insert = "INSERT INTO filler(text) SELECT hex(randomblob(500)) FROM filler";
      try {
        await refused('quota', () => database.exec(insert));
      } finally {
        FileSystemSyncAccessHandle.prototype.write = genuine;
      }
      if (database.isInTransaction()) database.exec('ROLLBACK');
      equal(database.selectValue('SELECT count(*) FROM filler'), 1000, mode);
      equal(database.selectValue('PRAGMA integrity_check'), 'ok', mode);
      database.exec('UPDATE filler SET text = text');
    }
    await database.close();
    const again = await Database.open(on, name, { key: KEY });
    equal(again.selectValue('SELECT count(*) FROM filler'), 1000);
    await again.close();
  },

  async 'errors of SQL have SQLite\'s words'(): Promise<void> {
    const database = await created(await engine(), 'words.db');
    database.exec('CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)');
    await refused('sqlite', () => database.exec('SELEC 1'), ['syntax error']);
    const error = await refused('constraint', () => database.exec('INSERT INTO t VALUES(1)'));
    equal([error.extendedCode, error.message], [2067, 'UNIQUE constraint failed: t.a']);
    await refused('misuse', () => database.prepare('-- nothing'));
    for (const behind of ['; DROP TABLE t', ';;; -- no\n SELECT 2', '; nonsense']) {
      await refused('misuse', () => database.selectValue(`SELECT 1${behind}`), ['more than one']);
    }
    for (const behind of [';', ' ; \n', '; -- a word', '; /* another */ ;']) {
      equal(database.selectValue(`SELECT 1${behind}`), 1);
    }
    await database.close();
    await refused('misuse', () => database.exec('SELECT 1'));
  },
};

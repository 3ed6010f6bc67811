// Tests of the page's interface, in a page, and in several real tabs.

import {
  createPasskey, exists, forgetDeviceKey, importFile, open, passkeysGiveKeys, remove,
  StrongroomError, type Connection, type ErrorCode, type OpenOptions,
} from '../src/index.js';
import { equal, isTrue } from './assert.js';

type Package = typeof import('../src/index.js');
type Tab = Window & { strongroom?: Package };

const module = new URL('../strongroom.wasm', import.meta.url);
const key = Uint8Array.from({ length: 32 }, (_, index) => index + 1);
const otherKey = key.map((byte) => byte ^ 0xff);
const shared: OpenOptions = { key, tabs: 'share', module };

async function created(name: string, options: OpenOptions = { key, module }): Promise<Connection> {
  await remove(name);
  return open(name, { module, ...options });
}

/** The code of the error that a call ends with. */
async function codeOf(call: Promise<unknown>): Promise<ErrorCode | 'none' | string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    // An error from another tab is an instance of another class.
    return (error as StrongroomError).code ?? String(error);
  }
}

/** Opens another tab. */
async function newTab(): Promise<Tab & { strongroom: Package }> {
  const tab = window.open('tab.html') as Tab | null;
  if (!tab) throw new Error('the browser opened no tab');
  while (!tab.strongroom) await pause(10);
  return tab as Tab & { strongroom: Package };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Retries while the tab that had the database open is being replaced. */
async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await call();
    } catch (error) {
      if ((error as StrongroomError).code !== 'host-closed' || tries === 10) throw error;
    }
  }
}

/** Reads the number of rows and inserts it, so often, each in a transaction. */
async function count(db: Connection, times: number): Promise<void> {
  const one = () => db.transaction(async (tx) => {
    const rows = await tx.queryValue('SELECT count(*) FROM t');
    await tx.run('INSERT INTO t(n) VALUES (?)', [rows ?? null]);
  });
  await Promise.all(Array.from({ length: times }, one));
}

export const clientTests: Record<string, () => Promise<void>> = {
  'statements give rows, and changes': async () => {
    const db = await created('client.db');
    await db.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT, n)');
    equal((await db.run('INSERT INTO t(text, n) VALUES (?, ?)', ['a', 1])).changes, 1);
    await db.sql`INSERT INTO t(text, n) VALUES (${'b'}, ${2n ** 60n})`;
    equal(await db.query('SELECT * FROM t'), [
      { id: 1, text: 'a', n: 1 }, { id: 2, text: 'b', n: 2n ** 60n },
    ]);
    equal(await db.queryArrays('SELECT n FROM t WHERE text = ?', ['a']), [[1]]);
    equal(await db.queryValue('SELECT 1 WHERE 0'), undefined);
    const get = db.prepare('SELECT text FROM t WHERE id = ?');
    equal(await get.get(2), { text: 'b' });
    equal(await get.get(3), undefined);
    equal(await codeOf(db.exec('INSERT INTO t(id) VALUES (1)')), 'constraint');
    equal(await codeOf(db.exec('no SQL')), 'sqlite');
    await db.close();
    equal(await codeOf(db.exec('SELECT 1')), 'misuse');
  },
  'many rows come in parts, and a reader may stop': async () => {
    const db = await open(':memory:', { module });
    const numbers = 'WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) SELECT n FROM c';
    for (const rows of [0, 255, 256, 257, 1000]) {
      let sum = 0;
      const text = rows === 0 ? `${numbers} WHERE n < 0 AND n < ?2` : numbers;
      for await (const row of db.iterate<{ n: number }>(text, rows === 0 ? [1, 1] : [rows])) sum += row.n;
      equal(sum, (rows * (rows + 1)) / 2);
    }
    for await (const row of db.iterate<{ n: number }>(numbers, [1000])) if (row.n === 300) break;
    await db.exec('CREATE TABLE t(a); DROP TABLE t');
    await db.close();
  },
  'a transaction is whole or not there, and others wait for it': async () => {
    const db = await created('transaction.db');
    await db.exec('CREATE TABLE t(n)');
    const undone = db.transaction(async (tx) => {
      await tx.run('INSERT INTO t VALUES (1)');
      throw new Error('undo it');
    });
    const outside = db.queryValue('SELECT count(*) FROM t');
    equal(await undone.catch((error: Error) => error.message), 'undo it');
    equal(await outside, 0);
    await count(db, 20);
    equal(await db.queryValue('SELECT count(DISTINCT n) FROM t'), 20);
    await db.close();
  },
  'key slots are added, replaced and removed by who has a key': async () => {
    const db = await created('keys.db', { passphrase: 'first' });
    await db.exec('CREATE TABLE t(n)');
    equal(await db.addKey({ key }), 1);
    equal((await db.keys()).map((slot) => slot.kind), ['passphrase', 'raw-key']);
    equal(await codeOf(db.removeKey(0, { key: otherKey })) === 'none', false);
    await db.removeKey(0, { key });
    equal(await codeOf(db.removeKey(1, { key })) === 'none', false);
    await db.close();
    equal(await codeOf(open('keys.db', { passphrase: 'first', module })), 'wrong-key');
    const again = await open('keys.db', { key, module });
    await again.rekey({ key: otherKey });
    await again.rotate();
    await again.close();
    equal(await codeOf(open('keys.db', { key, module })), 'wrong-key');
    await (await open('keys.db', { key: otherKey, module })).close();
    equal(await codeOf(open('keys.db', { module })), 'no-key');
    equal(await codeOf(open('keys.db', { key, passphrase: 'x', module })), 'misuse');
  },
  'a key of the profile opens what it opened, until it is forgotten': async () => {
    const db = await created('device.db', { deviceKey: 'one' });
    await db.exec('CREATE TABLE t(n)');
    await db.close();
    await (await open('device.db', { deviceKey: 'one', module })).close();
    equal(await codeOf(open('device.db', { deviceKey: 'another', module })), 'wrong-key');
    await forgetDeviceKey('one');
    equal(await codeOf(open('device.db', { deviceKey: 'one', module })), 'wrong-key');
  },
  'whether passkeys give keys is said before one is made': async () => {
    // There is no authenticator, so the browser's answer must agree with its behaviour.
    equal(typeof await passkeysGiveKeys(), 'boolean');
    isTrue(typeof createPasskey === 'function', 'it can be called');
  },
  'a file goes out and comes back, and overwrites none': async () => {
    const db = await created('out.db');
    await db.exec('PRAGMA journal_mode = wal; CREATE TABLE t(n); INSERT INTO t VALUES (42)');
    const bytes = await db.export();
    await db.close();
    await remove('in.db');
    equal(await exists('in.db'), false);
    await importFile('in.db', bytes);
    equal(await codeOf(importFile('in.db', bytes)), 'exists');
    const there = await open('in.db', { key, module });
    equal(await there.queryValue('SELECT n FROM t'), 42);
    equal(await codeOf(remove('in.db')), 'locked-elsewhere');
    await there.close();
    await remove('in.db');
    equal(await exists('in.db'), false);
  },
  'small databases live in the items of a storage, encrypted, and end where its quota does': async () => {
    // Compiled with the types of workers, since the engine knows their files.
    const path = new URL('./storage.js', import.meta.url).href;
    const { storageTest } = await import(path) as { storageTest(storage: Storage): Promise<void> };
    await storageTest(localStorage);
    await storageTest(sessionStorage);
  },
  'a second tab is refused, or waits': async () => {
    const db = await created('one-tab.db');
    await db.exec('CREATE TABLE t(n)');
    const tab = await newTab();
    equal(await codeOf(tab.strongroom.open('one-tab.db', { key, module })), 'locked-elsewhere');
    const waits = tab.strongroom.open('one-tab.db', { key, module, tabs: 'wait' });
    await pause(200);
    await db.close();
    const other = await waits;
    equal(await other.queryValue('SELECT count(*) FROM t'), 0);
    await other.close();
    tab.close();
  },
  'three tabs share a database, and outlive each other': async () => {
    await remove('shared.db');
    const [first, second] = [await newTab(), await newTab()];
    const host = await first.strongroom.open('shared.db', shared);
    const guest = await second.strongroom.open('shared.db', shared);
    const db = await open('shared.db', shared);
    await db.exec('CREATE TABLE t(id INTEGER PRIMARY KEY, n)');
    equal(await codeOf(open('shared.db', { ...shared, key: otherKey })), 'wrong-key');
    await Promise.all([host, guest, db].map((one) => count(one, 20)));
    const both = 'SELECT count(*) || \' \' || count(DISTINCT n) FROM t';
    equal(await guest.queryValue(both), '60 60');
    // The host ends in the middle of a transaction.
    await host.exec('BEGIN IMMEDIATE');
    await host.run('INSERT INTO t(n) VALUES (-1)');
    first.close();
    equal(await persistently(() => db.queryValue(both)), '60 60');
    equal(await persistently(() => guest.queryValue(both)), '60 60');
    // A guest ends, or the next host.
    await guest.exec('BEGIN IMMEDIATE');
    await guest.run('INSERT INTO t(n) VALUES (-1)');
    second.close();
    await persistently(() => count(db, 1));
    equal(await db.queryValue(both), '61 61');
    await db.close();
    await remove('shared.db');
  },
};

// Databases in Web Storage items. Runs in a page, because workers have no Web Storage.

import { Database } from '../src/database.js';
import { Engine } from '../src/engine.js';
import { KeyValueFiles, type Items } from '../src/keyvalue.js';
import { equal, isTrue, refused } from './assert.js';
import { KEY, nothingReadable, OTHER_KEY, CANARY } from './support.js';

const NAME = 'items.db';

interface Storage extends Items {
  clear(): void;
}

/** A new engine with empty caches. */
function newEngine(storage: Storage): Promise<Engine> {
  return Engine.load(new URL('../strongroom.wasm', import.meta.url), new KeyValueFiles(storage));
}

export async function storageTest(storage: Storage): Promise<void> {
  storage.clear();
  const database = await Database.open(await newEngine(storage), NAME, { key: KEY });
  database.exec(`
    CREATE TABLE t(n, text);
    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)
    INSERT INTO t SELECT n, '${CANARY}' || n FROM c;
    BEGIN; UPDATE t SET text = 'undone'; ROLLBACK`);
  await database.close();
  const items = Object.keys(storage).map((item) => storage.getItem(item) ?? '').join('');
  isTrue(items.length > 50_000, `only ${items.length} characters are kept`);
  nothingReadable(Uint8Array.from(items, (letter) => letter.charCodeAt(0)), 'the storage');

  await refused('wrong-key', async () => Database.open(await newEngine(storage), NAME, { key: OTHER_KEY }));
  const again = await Database.open(await newEngine(storage), NAME, { key: KEY });
  equal(again.selectValue('SELECT count(*) FROM t WHERE text LIKE ?', [`${CANARY}%`]), 2000);
  // Really fills it: browsers give an origin some 5 MB there.
  await refused('quota', () => again.exec('INSERT INTO t SELECT n, zeroblob(40000) FROM t LIMIT 400'));
  if (again.isInTransaction()) again.exec('ROLLBACK');
  equal(again.selectValue('PRAGMA integrity_check'), 'ok');
  equal(again.selectValue('SELECT count(*) FROM t'), 2000);
  again.exec('DELETE FROM t WHERE n > 1000; VACUUM; UPDATE t SET n = n + 1');
  await again.close();
  storage.clear();
}

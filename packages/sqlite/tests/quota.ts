// An origin with an exhausted quota, which the other side has arranged.

import { Database } from '../src/database.js';
import { remove } from '../src/names.js';
import { equal, isTrue, refused } from './assert.js';
import { created, engine, KEY, write } from './support.js';

const NAME = 'full.db';
const BALLAST = 'ballast';

export const quotaTasks = {
  /** Fills the origin to its end; the rows that were committed. */
  async 'fill the quota'({ mode, ballast }: { mode: string; ballast: number }): Promise<number> {
    await write(BALLAST, new Uint8Array(ballast));
    const on = await engine();
    let database = await created(on, NAME);
    database.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE t(id INTEGER PRIMARY KEY, content BLOB)`);
    let rows = 0;
    const insert = () => {
      for (;; rows += 1) database.exec('INSERT INTO t(content) VALUES (randomblob(200000))');
    };
    const error = await refused('quota', insert, ['full']);
    equal(error.extendedCode, 13, 'SQLITE_FULL');
    if (database.isInTransaction()) database.exec('ROLLBACK');
    const sound = (expected: number) => {
      equal(database.selectValue('SELECT count(*) FROM t'), expected, mode);
      equal(database.selectValue('PRAGMA integrity_check'), 'ok', mode);
    };
    sound(rows);
    // A new worker in the full origin finds the same.
    await database.close();
    database = await Database.open(on, NAME, { key: KEY });
    sound(rows);
    await refused('quota', insert, ['full']);
    if (database.isInTransaction()) database.exec('ROLLBACK');
    sound(rows);

    await remove(BALLAST);
    database.exec('INSERT INTO t(content) SELECT randomblob(200000) FROM t LIMIT 10');
    sound(rows + 10);
    await database.close();
    await remove(NAME);
    isTrue(rows > 0, 'the origin had no room at all');
    return rows;
  },
};

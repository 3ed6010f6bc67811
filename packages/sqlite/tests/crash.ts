// Steps of tests that end a worker or a browser in the middle of commits.

import { Database } from '../src/database.js';
import { created, engine, KEY } from './support.js';
import type { Found } from './cut.js';

interface Place {
  readonly name: string;
}

/** Rows of a commit: some pages, so that a commit takes its time. */
const SQL = `INSERT INTO commits SELECT max(number) + 1, randomblob(9000) FROM commits`;

export const crashTasks = {
  async create({ name }: Place): Promise<void> {
    const database = await created(await engine(), name);
    database.exec(`
      CREATE TABLE commits(number INTEGER PRIMARY KEY, content BLOB NOT NULL);
      INSERT INTO commits VALUES(0, zeroblob(9000))`);
    await database.close();
  },

  /** Commits endlessly, and reports each commit. */
  async commit({ name, told }: Place & { told?: string }): Promise<never> {
    const database = await Database.open(await engine(), name, { key: KEY });
    let committed = Number(database.selectValue('SELECT max(number) FROM commits'));
    for (;;) {
      database.exec(SQL);
      committed += 1;
      // Every third transaction is rolled back, so that journals are played back during the work,
      // too.
      if (committed % 3 === 0) database.exec(`BEGIN; ${SQL}; ROLLBACK`);
      if (told === undefined) postMessage({ committed });
      else await fetch(`../${told}/${committed}`);
      // Messages are sent when the worker returns to its event loop.
      await new Promise((resolve) => setTimeout(resolve));
    }
  },

  /** Checks the content: every commit up to the last one, complete. */
  async look({ name }: Place): Promise<Found> {
    const database = await Database.open(await engine(), name, { key: KEY });
    const [[rows, last, sizes] = []] = database.selectArrays(
      'SELECT count(*) - 1, max(number), count(DISTINCT length(content)) FROM commits');
    const check = rows === last && sizes === 1
      ? String(database.selectValue('PRAGMA integrity_check'))
      : `${rows} rows, last ${last}, ${sizes} sizes`;
    await database.close();
    return { rows: Number(rows), check };
  },
};

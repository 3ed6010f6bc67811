// The callbacks for `drizzle-orm/sqlite-proxy` (orm.drizzle.team).

import type { Connection, Row, Session, Value } from './index.js';

type Method = 'run' | 'all' | 'values' | 'get';

/** A statement in the form that Drizzle passes. */
interface Query {
  readonly sql: string;
  readonly params: unknown[];
  readonly method: Method;
}

interface Result {
  /** One row for `get`: undefined, which Drizzle's type does not know, where there is none. */
  rows: Row | Row[];
  /** For `run`, by the names of better-sqlite3. */
  changes?: number;
  lastInsertRowid?: number;
}

/** `drizzle(strongroom(db))`, where `db` is `await open('app.db', { passphrase })`. */
export function strongroom(connection: Connection) {
  return (sql: string, params: Value[], method: Method): Promise<Result> =>
    run(connection, { sql, params, method });
}

/** `drizzle(strongroom(db), batches(db))`: the statements of a `batch` run in one transaction. */
export function batches(connection: Connection) {
  return (queries: readonly Query[]): Promise<Result[]> =>
    connection.transaction(async (transaction) => {
      const results: Result[] = [];
      for (const query of queries) results.push(await run(transaction, query));
      return results;
    });
}

async function run(session: Session, { sql, params, method }: Query): Promise<Result> {
  const { rows, changes, lastInsertRowId } = await session.statement(sql, params as Value[]);
  switch (method) {
    case 'run':
      return { rows, changes, lastInsertRowid: Number(lastInsertRowId) };
    case 'get':
      return { rows: rows[0] as Row };
    default:
      return { rows };
  }
}

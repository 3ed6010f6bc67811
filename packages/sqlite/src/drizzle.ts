// What `drizzle-orm/sqlite-proxy` asks for (orm.drizzle.team).

import type { Connection, Row, Value } from './index.js';

/** `drizzle(strongroom(await open('app.db', { passphrase })))`. */
export function strongroom(connection: Connection) {
  return async (
    sql: string, parameters: Value[], method: 'run' | 'all' | 'values' | 'get',
  ): Promise<{ rows: Row | Row[] }> => {
    const rows = await connection.queryArrays(sql, parameters);
    // One row for `get`: undefined, which the type does not know, where there is none.
    return { rows: method === 'get' ? rows[0] as Row : rows };
  };
}

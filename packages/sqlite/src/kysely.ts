// A dialect of Kysely (kysely.dev).

import {
  CompiledQuery, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler,
  type DatabaseConnection, type DatabaseIntrospector, type Dialect, type Driver, type Kysely,
  type QueryResult,
} from 'kysely';

import { quoted } from './names.js';
import type { Connection, Value } from './index.js';

/** A connection, or a function that opens one on the first query. */
export type ConnectionSource = Connection | (() => Promise<Connection>);

/** `new Kysely({ dialect: new StrongroomDialect(await open('app.db', { passphrase })) })`. */
export class StrongroomDialect implements Dialect {
  constructor(readonly connection: ConnectionSource) {}

  createAdapter(): SqliteAdapter {
    return new SqliteAdapter();
  }

  createDriver(): Driver {
    return new StrongroomDriver(this.connection);
  }

  createIntrospector(database: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(database);
  }

  createQueryCompiler(): SqliteQueryCompiler {
    return new SqliteQueryCompiler();
  }
}

/** There is one connection: users wait until it is released. */
class StrongroomDriver implements Driver {
  #connection!: KyselyConnection;
  #last: Promise<void> = Promise.resolve();
  #release: (() => void) | undefined;

  constructor(readonly source: ConnectionSource) {}

  async init(): Promise<void> {
    const { source } = this;
    this.#connection = new KyselyConnection(typeof source === 'function' ? await source() : source);
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#last;
    let release!: () => void;
    this.#last = new Promise((resolve) => { release = resolve; });
    await before;
    this.#release = release;
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {
    this.#release?.();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'));
  }

  async savepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`savepoint ${quoted(name)}`));
  }

  async rollbackToSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`rollback to ${quoted(name)}`));
  }

  async releaseSavepoint(connection: DatabaseConnection, name: string): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(`release ${quoted(name)}`));
  }

  async destroy(): Promise<void> {
    await this.#connection.connection.close();
  }
}

class KyselyConnection implements DatabaseConnection {
  constructor(readonly connection: Connection) {}

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const { columns, rows, changes, lastInsertRowId } =
      await this.connection.statement(sql, parameters as Value[]);
    if (columns.length === 0) {
      return { rows: [], numAffectedRows: BigInt(changes), insertId: lastInsertRowId };
    }
    const objects = rows.map((row) =>
      Object.fromEntries(columns.map((name, index) => [name, row[index]])) as R);
    return { rows: objects };
  }

  async *streamQuery<R>({ sql, parameters }: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    for await (const row of this.connection.iterate<R>(sql, parameters as Value[])) {
      yield { rows: [row] };
    }
  }
}

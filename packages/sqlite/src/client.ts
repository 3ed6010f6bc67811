// Executes the calls of a client's connection, in a worker or in Node.

import { Database, type Statement } from './database.js';
import type { Engine } from './engine.js';
import { StrongroomError } from './errors.js';
import type { Operation, Operations } from './protocol.js';

export class Client {
  #database: Database | undefined;
  readonly #statements = new Map<number, Statement>();
  #next = 1;
  /** The client's calls, run one after the other. */
  #queue: Promise<unknown> = Promise.resolve();

  constructor(readonly engine: Engine) {}

  get database(): Database {
    if (!this.#database) throw new StrongroomError('misuse', 'the database is closed');
    return this.#database;
  }

  /** Whether others must wait. */
  get isUnderWay(): boolean {
    return this.#statements.size > 0 || (this.#database?.isInTransaction() ?? false);
  }

  statement(number: number): Statement {
    const statement = this.#statements.get(number);
    if (!statement) throw new StrongroomError('misuse', 'the statement has ended');
    return statement;
  }

  end(number: number): void {
    this.#statements.get(number)?.finalize();
    this.#statements.delete(number);
  }

  /** Executes a call after the earlier ones have ended, inside `surround`. */
  perform<O extends Operation>(
    operation: O, args: globalThis.Parameters<Operations[O]>,
    surround = (body: () => Promise<ReturnType<Operations[O]>>) => body(),
  ): Promise<ReturnType<Operations[O]>> {
    const before = this.#queue;
    const result = (async () => {
      await before.catch(() => undefined);
      return surround(async () => this.#operations[operation](...args));
    })();
    this.#queue = result;
    return result;
  }

  readonly #operations: { [O in Operation]: (...args: globalThis.Parameters<Operations[O]>) =>
    ReturnType<Operations[O]> | Promise<ReturnType<Operations[O]>> } = {
    open: async (name, options) => {
      if (this.#database) throw new StrongroomError('misuse', 'the connection is open already');
      this.#database = await Database.open(this.engine, name, options);
    },
    close: async () => {
      const database = this.#database;
      this.#database = undefined;
      this.#statements.clear();
      await database?.close();
    },
    exec: (sql) => {
      this.database.exec(sql);
    },
    query: (sql, parameters) => {
      const { database } = this;
      const statement = database.prepare(sql);
      try {
        statement.bind(parameters);
        const columns = statement.getColumnNames();
        const rows = [];
        const before = database.totalChanges();
        while (statement.step()) rows.push(statement.get());
        // SQLite reports the last statement that could change rows, which may be an earlier one.
        const changes = database.totalChanges() === before ? 0 : database.changes();
        return { columns, rows, changes, lastInsertRowId: database.lastInsertRowId() };
      } finally {
        statement.finalize();
      }
    },
    begin: (sql, parameters) => {
      const statement = this.database.prepare(sql);
      try {
        statement.bind(parameters);
      } catch (error) {
        statement.finalize();
        throw error;
      }
      const number = this.#next++;
      this.#statements.set(number, statement);
      return { statement: number, columns: statement.getColumnNames() };
    },
    fetch: (number, count) => {
      const statement = this.statement(number);
      const rows = [];
      try {
        while (rows.length < count && statement.step()) rows.push(statement.get());
      } catch (error) {
        this.end(number);
        throw error;
      }
      if (rows.length < count) this.end(number);
      return rows;
    },
    finish: (number) => {
      this.end(number);
    },
    transact: () => {
      this.database.exec('BEGIN IMMEDIATE');
    },
    export: () => this.database.export(),
    keys: () => this.database.keys(),
    addKey: (key) => this.database.addKey(key),
    removeKey: (slot, left) => this.database.removeKey(slot, left),
    rekey: (key) => this.database.rekey(key),
    rotate: () => this.database.rotate(),
  };
}

// A database from the page's side: every call returns a promise.

import type { Parameters, Row, Value } from './types.js';
import { StrongroomError } from './errors.js';
import type { Rows, Secret, Slot, Transport } from './protocol.js';

/** Number of rows per message during iteration. */
const BATCH = 256;

/** The effect of one statement. */
export interface RunResult {
  readonly changes: number;
  readonly lastInsertRowId: bigint;
}

/** Runs statements: a connection, or a transaction on it. */
export class Session {
  constructor(readonly transport: Transport) {}

  /** Makes other users' calls on the same connection wait, if necessary. */
  protected turn<T>(call: () => Promise<T>): Promise<T> {
    return call();
  }

  /** Runs a script and discards its rows. */
  exec(script: string): Promise<void> {
    return this.turn(() => this.transport.call('exec', script));
  }

  /** The rows of one statement, as objects. */
  async query<T = Record<string, Value>>(sql: string, parameters: Parameters = []): Promise<T[]> {
    const { columns, rows } = await this.statement(sql, parameters);
    return rows.map((row) => objectOf(columns, row) as T);
  }

  /** The rows of one statement, as arrays. */
  async queryArrays(sql: string, parameters: Parameters = []): Promise<Row[]> {
    return (await this.statement(sql, parameters)).rows;
  }

  /** The first column of the first row; undefined if there is no row. */
  async queryValue(sql: string, parameters: Parameters = []): Promise<Value | undefined> {
    return (await this.statement(sql, parameters)).rows[0]?.[0];
  }

  /** Runs a statement that changes rows. */
  async run(sql: string, parameters: Parameters = []): Promise<RunResult> {
    const { changes, lastInsertRowId } = await this.statement(sql, parameters);
    return { changes, lastInsertRowId };
  }

  /** A template whose values are bound: ``db.sql`SELECT * FROM note WHERE id = ${id}` ``. */
  sql<T = Record<string, Value>>(texts: TemplateStringsArray, ...values: Value[]): Promise<T[]> {
    return this.query<T>(texts.join('?'), values);
  }

  /** A statement that is run often. */
  prepare(sql: string): PreparedStatement {
    return new PreparedStatement(this, sql);
  }

  /** Iterates over rows, fetching them in batches: for results that do not fit in memory. */
  async *iterate<T = Record<string, Value>>(
    sql: string, parameters: Parameters = [],
  ): AsyncGenerator<T, void, undefined> {
    const { statement, columns } = await this.turn(() =>
      this.transport.call('begin', sql, parameters));
    let hasEnded = false;
    try {
      while (!hasEnded) {
        const rows = await this.transport.call('fetch', statement, BATCH);
        hasEnded = rows.length < BATCH;
        for (const row of rows) yield objectOf(columns, row) as T;
      }
    } finally {
      if (!hasEnded) await this.transport.call('finish', statement).catch(() => undefined);
    }
  }

  /** Runs one statement, and returns its rows and its effect. */
  statement(sql: string, parameters: Parameters = []): Promise<Rows> {
    return this.turn(() => this.transport.call('query', sql, parameters));
  }
}

function objectOf(columns: readonly string[], row: Row): Record<string, Value> {
  return Object.fromEntries(columns.map((name, index) => [name, row[index] ?? null]));
}

/** A statement with the methods of better-sqlite3. */
export class PreparedStatement {
  constructor(readonly session: Session, readonly text: string) {}

  all<T = Record<string, Value>>(...parameters: Value[]): Promise<T[]> {
    return this.session.query<T>(this.text, parameters);
  }

  async get<T = Record<string, Value>>(...parameters: Value[]): Promise<T | undefined> {
    return (await this.session.query<T>(this.text, parameters))[0];
  }

  run(...parameters: Value[]): Promise<RunResult> {
    return this.session.run(this.text, parameters);
  }

  iterate<T = Record<string, Value>>(...parameters: Value[]): AsyncGenerator<T, void, undefined> {
    return this.session.iterate<T>(this.text, parameters);
  }
}

/** An open database. */
export class Connection extends Session {
  /** The previous transaction: calls outside of it wait for its end. */
  #transaction: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(readonly name: string, transport: Transport) {
    super(transport);
  }

  protected override async turn<T>(call: () => Promise<T>): Promise<T> {
    await this.#transaction;
    this.#check();
    return call();
  }

  /**
   * Runs `body` in a write transaction, and commits; if it throws, everything is rolled back.
   * Inside, use the transaction's methods: those of the connection wait for its end.
   */
  async transaction<T>(body: (transaction: Session) => Promise<T>): Promise<T> {
    const before = this.#transaction;
    const own = (async () => {
      await before;
      this.#check();
      await this.transport.call('transact');
      try {
        const result = await body(new Session(this.transport));
        await this.transport.call('exec', 'COMMIT');
        return result;
      } catch (error) {
        // SQLite may have rolled back already.
        await this.transport.call('exec', 'ROLLBACK').catch(() => undefined);
        throw error;
      }
    })();
    this.#transaction = own.catch(() => undefined);
    return own;
  }

  /** The bytes of the file, in the format of native programs; encrypted if the database is. */
  export(): Promise<ArrayBuffer> {
    return this.turn(() => this.transport.call('export'));
  }

  /** The key slots in use. */
  keys(): Promise<Slot[]> {
    return this.turn(() => this.transport.call('keys'));
  }

  /** Adds a key to the database; returns the number of its slot. */
  addKey(key: Secret): Promise<number> {
    return this.turn(() => this.transport.call('addKey', key));
  }

  /** Empties a slot. `left` must open another slot, so that nobody locks himself out. */
  removeKey(slot: number, left: Secret): Promise<void> {
    return this.turn(() => this.transport.call('removeKey', slot, left));
  }

  /** Replaces the key that opened this connection. */
  rekey(key: Secret): Promise<void> {
    return this.turn(() => this.transport.call('rekey', key));
  }

  /** Rotates the data key: every page is resealed. */
  rotate(): Promise<void> {
    return this.turn(() => this.transport.call('rotate'));
  }

  /** Closes the database. Its keys are wiped from the worker's memory, and the worker ends. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#transaction;
    this.#isClosed = true;
    try {
      await this.transport.call('close');
    } finally {
      await this.transport.close();
    }
  }

  #check(): void {
    if (this.#isClosed) throw new StrongroomError('misuse', 'the database is closed');
  }
}

// A connection inside the worker, with synchronous calls. Names are those of `oo1` in
// @sqlite.org/sqlite-wasm where possible.

import {
  PASSPHRASE, RAW_KEY, SQLITE_BLOB, SQLITE_DONE, SQLITE_FLOAT, SQLITE_INTEGER, SQLITE_NOTADB,
  SQLITE_OK,  SQLITE_OPEN_CREATE, SQLITE_OPEN_READWRITE, SQLITE_ROW, SQLITE_TEXT, SQLITE_TRANSIENT, SQLITE_UTF8,
} from './abi.js';
import type { Engine } from './engine.js';
import { sqliteError, StrongroomError } from './errors.js';

import { quoted } from './names.js';
import type { Secret, Slot } from './protocol.js';
export type { Cipher, OpenOptions, Parameters, Row, Value } from './types.js';
import type { OpenOptions, Parameters, Row, Value } from './types.js';

const MEMORY = ':memory:';
const encoder = new TextEncoder();

/** Deposits a secret for the duration of a call, which gets its number. */
export function withToken<T>(engine: Engine, options: OpenOptions, body: (token: number) => T): T {
  const { passphrase, key } = options;
  if (passphrase !== undefined && key !== undefined) {
    throw new StrongroomError('misuse', 'both a passphrase and a key are given: give one');
  }
  const text = typeof passphrase === 'string' ? encoder.encode(passphrase) : passphrase;
  const secret = key ?? text;
  if (!secret) return body(0);
  const kind = key ? RAW_KEY : PASSPHRASE;
  const token = engine.with(secret, (address) =>
    engine.call((exports) => exports.strongroom_deposit(kind, address, secret.length)));
  if (token === 0) throw new StrongroomError('misuse', 'a raw key has 32 bytes');
  try {
    return body(token);
  } finally {
    engine.call((exports) => exports.strongroom_revoke(token));
  }
}

/** The URI of a database, with the token of its key. */
export function uri(name: string, options: OpenOptions, token: number): string {
  const parameters = new URLSearchParams();
  if (!options.plain) parameters.set('vfs', 'strongroom');
  if (token !== 0) parameters.set('key_token', String(token));
  if (options.cipher) parameters.set('cipher', options.cipher);
  const path = name.split('/').map(encodeURIComponent).join('/');
  return `file:${path}?${parameters}`;
}

export class Database {
  readonly #statements = new Set<Statement>();
  #connection: number;
  readonly #attached: string[];

  /** How many messages the log had when the database was opened, and when the last call began. */
  readonly #openedAt: number;
  #calledAt: number;

  private constructor(
    readonly engine: Engine, connection: number, attached: string[], openedAt: number,
  ) {
    this.#connection = connection;
    this.#attached = attached;
    this.#openedAt = openedAt;
    this.#calledAt = openedAt;
  }

  /** Opens a database in OPFS, or `:memory:`. */
  static async open(engine: Engine, name: string, options: OpenOptions = {}): Promise<Database> {
    const attached = name === MEMORY ? [] : [name];
    if (name !== MEMORY) await engine.files.attach(name);
    let database: Database | undefined;
    try {
      withToken(engine, options, (token) => {
        const text = name === MEMORY ? name : uri(name, options, token);
        database = Database.#opened(engine, text, attached);
        if (name === MEMORY) return;
        if (!options.shared) database.exec('PRAGMA locking_mode = exclusive');
        // The key is tried and consumed while the token exists.
        database.exec('SELECT count(*) FROM sqlite_schema');
      });
    } catch (error) {
      if (database) await database.close();
      else for (const file of attached) await engine.files.detach(file);
      throw error;
    }
    if (!database) throw new StrongroomError('engine-failed', 'nothing was opened');
    return database;
  }

  static #opened(engine: Engine, text: string, attached: string[]): Database {
    const openedAt = engine.log.count;
    const flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    const [connection, code] = engine.withText(text, (address) =>
      engine.with(new Uint8Array(4), (place) => {
        const connection = engine.call((exports) => exports.strongroom_open(address, flags, place));
        return [connection, engine.data().getInt32(place, true)];
      }));
    if (!connection) throw new StrongroomError('engine-failed', 'no memory left', code);
    const database = new Database(engine, connection, attached, openedAt);
    if (code !== SQLITE_OK) {
      const error = database.#error(code!);
      engine.call((exports) => exports.strongroom_close(connection));
      throw error;
    }
    return database;
  }

  /**
   * Attaches another database under a schema name. Each database commits separately: a transaction
   * that changes several with rollback journals fails.
   */
  async attach(name: string, schema: string, options: OpenOptions = {}): Promise<void> {
    await this.engine.files.attach(name);
    try {
      withToken(this.engine, options, (token) => {
        const text = uri(name, options, token);
        this.selectArrays('ATTACH ? AS ?', [text, schema]);
        this.exec(`SELECT count(*) FROM ${quoted(schema)}.sqlite_schema`);
      });
    } catch (error) {
      await this.engine.files.detach(name);
      throw error;
    }
    this.#attached.push(name);
  }

  /** Runs a script and discards its rows; returns the number of statements. */
  exec(sql: string): number {
    this.#begin();
    const count = this.engine.withText(sql, (address) =>
      this.engine.call((exports) => exports.strongroom_run(this.connection, address)));
    if (count < 0) throw this.#error(-count);
    return count;
  }

  /**
   * Rotates the data key, and reseals every page. WAL mode and exclusive locking are suspended
   * meanwhile.
   */
  rotate(): void {
    const mode = String(this.selectValue('PRAGMA journal_mode'));
    const locking = String(this.selectValue('PRAGMA locking_mode'));
    if (mode === 'wal') this.exec('PRAGMA journal_mode = delete');
    // The next read releases the locks.
    this.exec('PRAGMA locking_mode = normal; SELECT count(*) FROM sqlite_schema');
    try {
      this.exec('PRAGMA strongroom_rotate');
    } finally {
      this.exec(`PRAGMA locking_mode = ${locking}; PRAGMA journal_mode = ${mode}`);
    }
  }

  /** Prepares the only statement of a text: any further statement would not be run. */
  prepare(sql: string): Statement {
    const { engine } = this;
    this.#begin();
    const handle = engine.withText(sql, (address) => {
      const { code, handle, rest } = this.#prepared(address);
      if (code !== SQLITE_OK) throw this.#error(code);
      if (!handle) throw new StrongroomError('misuse', 'there is no statement in the text');
      if (this.#isBlank(rest)) return handle;
      engine.call((exports) => exports.sqlite3_finalize(handle));
      throw new StrongroomError('misuse', 'the text has more than one statement: use exec');
    });
    const statement = new Statement(engine, handle, {
      begin: () => this.#begin(),
      error: (code) => this.#error(code),
      finalized: () => this.#statements.delete(statement),
    });
    this.#statements.add(statement);
    return statement;
  }

  /** Prepares the first statement of a terminated text; returns where the rest begins. */
  #prepared(text: number): { code: number; handle: number; rest: number } {
    const { engine } = this;
    return engine.with(new Uint8Array(8), (place) => {
      const code = engine.call((exports) =>
        exports.sqlite3_prepare_v3(this.connection, text, -1, 0, place, place + 4));
      const data = engine.data();
      return { code, handle: data.getUint32(place, true), rest: data.getUint32(place + 4, true) };
    });
  }

  /** Whether a terminated text has no statement; it may have comments. */
  #isBlank(text: number): boolean {
    const { engine } = this;
    if (engine.view(text, 1)[0] === 0) return true;
    const { code, handle } = this.#prepared(text);
    if (handle) engine.call((exports) => exports.sqlite3_finalize(handle));
    return code === SQLITE_OK && !handle;
  }

  /** All rows, as arrays. */
  selectArrays(sql: string, parameters: Parameters = []): Row[] {
    const statement = this.prepare(sql);
    try {
      statement.bind(parameters);
      const rows: Row[] = [];
      while (statement.step()) rows.push(statement.get());
      return rows;
    } finally {
      statement.finalize();
    }
  }

  /** All rows, as objects. */
  selectObjects(sql: string, parameters: Parameters = []): Record<string, Value>[] {
    const statement = this.prepare(sql);
    try {
      statement.bind(parameters);
      const names = statement.getColumnNames();
      const rows: Record<string, Value>[] = [];
      while (statement.step()) {
        const row = statement.get();
        rows.push(Object.fromEntries(names.map((name, index) => [name, row[index] ?? null])));
      }
      return rows;
    } finally {
      statement.finalize();
    }
  }

  /** The first column of the first row; undefined if there is no row. */
  selectValue(sql: string, parameters: Parameters = []): Value | undefined {
    return this.selectArrays(sql, parameters)[0]?.[0];
  }

  /** The key slots in use. */
  keys(): Slot[] {
    return JSON.parse(String(this.selectValue('PRAGMA strongroom_keys'))) as Slot[];
  }

  /** Adds a key to the database; returns the number of its slot. */
  addKey(key: Secret): number {
    return Number(this.#withKey('strongroom_key_add', key));
  }

  /** Replaces the key that opened this connection. */
  rekey(key: Secret): void {
    this.#withKey('strongroom_rekey', key);
  }

  #withKey(pragma: string, key: Secret, more = ''): Value | undefined {
    return withToken(this.engine, key, (token) => {
      if (token === 0) throw new StrongroomError('misuse', 'no key is given');
      return this.selectValue(`PRAGMA ${pragma} = 'token=${token}${more}'`);
    });
  }

  /** Empties a slot. `left` must open another slot, so that nobody locks himself out. */
  removeKey(slot: number, left: Secret): void {
    this.#withKey('strongroom_key_remove', left, ` slot=${Number(slot)}`);
  }

  /** The bytes of the file, in the format of native programs. */
  export(): ArrayBuffer {
    const [file] = this.#attached;
    if (file === undefined) throw new StrongroomError('misuse', 'the database has no file');
    // Checkpoints the log into the file, to which nobody writes meanwhile.
    this.selectArrays('PRAGMA wal_checkpoint(TRUNCATE)');
    this.exec('BEGIN IMMEDIATE');
    try {
      return this.#bytes(file);
    } finally {
      this.exec('ROLLBACK');
    }
  }

  #bytes(name: string): ArrayBuffer {
    const { files } = this.engine;
    const file = files.find(name);
    const bytes = new Uint8Array(Math.max(0, files.size(file)));
    if (files.read(file, bytes, 0) === bytes.length) return bytes.buffer;
    throw new StrongroomError('sqlite', `${name} cannot be read: ${String(files.failure)}`);
  }

  /** The number of rows that the last statement changed. */
  changes(): number {
    return Number(this.engine.call((exports) => exports.sqlite3_changes64(this.connection)));
  }

  /** The number of rows that all statements changed since the database was opened. */
  totalChanges(): number {
    return Number(this.engine.call((exports) => exports.sqlite3_total_changes64(this.connection)));
  }

  lastInsertRowId(): bigint {
    return this.engine.call((exports) => exports.sqlite3_last_insert_rowid(this.connection));
  }

  isInTransaction(): boolean {
    return this.engine.call((exports) => exports.sqlite3_get_autocommit(this.connection)) === 0;
  }

  /** Closes the database; closing the last connection to it wipes its keys. */
  async close(): Promise<void> {
    if (this.#connection === 0) return;
    for (const statement of [...this.#statements]) statement.finalize();
    const code = this.engine.call((exports) => exports.strongroom_close(this.connection));
    if (code !== SQLITE_OK) throw this.#error(code);
    this.#connection = 0;
    for (const name of this.#attached) await this.engine.files.detach(name);
  }

  /** SQLite's connection. */
  get connection(): number {
    if (this.#connection === 0) throw new StrongroomError('misuse', 'the database is closed');
    return this.#connection;
  }

  #begin(): void {
    this.#calledAt = this.engine.log.count;
  }

  #error(code: number): StrongroomError {
    const { engine } = this;
    // A file that was not a database when it was opened cannot become one; the reason was reported
    // then.
    const isOpening = (code & 0xff) === SQLITE_NOTADB;
    const logged = engine.log.since(isOpening ? this.#openedAt : this.#calledAt);
    const [message, extended] = engine.call((exports) => [
      engine.text(exports.sqlite3_errmsg(this.connection)),
      exports.sqlite3_extended_errcode(this.connection),
    ]);
    const isSame = (extended! as number & 0xff) === (code & 0xff);
    return sqliteError(isSame ? extended as number : code, message as string, logged);
  }
}

/** The part of a database that statements use. */
interface Owner {
  begin(): void;
  error(code: number): StrongroomError;
  finalized(): void;
}

/** A prepared statement. */
export class Statement {
  #handle: number;

  readonly #owner: Owner;

  constructor(readonly engine: Engine, handle: number, owner: Owner) {
    this.#handle = handle;
    this.#owner = owner;
  }

  /** Binds values to the parameters, from the first on. */
  bind(parameters: Parameters): this {
    for (const [index, value] of parameters.entries()) {
      const code = this.#bind(index + 1, value);
      if (code !== SQLITE_OK) throw this.#owner.error(code);
    }
    return this;
  }

  #bind(index: number, value: Value): number {
    const { engine } = this;
    const handle = this.handle;
    if (value === null) return engine.call((exports) => exports.sqlite3_bind_null(handle, index));
    if (typeof value === 'bigint' || Number.isSafeInteger(value)) {
      const integer = BigInt(value as bigint | number);
      return engine.call((exports) => exports.sqlite3_bind_int64(handle, index, integer));
    }
    if (typeof value === 'number') {
      return engine.call((exports) => exports.sqlite3_bind_double(handle, index, value));
    }
    if (typeof value === 'string') {
      const bytes = encoder.encode(value);
      return engine.with(bytes, (address) => engine.call((exports) =>
        exports.sqlite3_bind_text64(
          handle, index, address, BigInt(bytes.length), SQLITE_TRANSIENT, SQLITE_UTF8)));
    }
    return engine.with(value, (address) => engine.call((exports) =>
      exports.sqlite3_bind_blob64(handle, index, address, BigInt(value.length), SQLITE_TRANSIENT)));
  }

  /** Advances to the next row; returns false after the last one. */
  step(): boolean {
    this.#owner.begin();
    const code = this.engine.call((exports) => exports.sqlite3_step(this.handle));
    if (code === SQLITE_ROW) return true;
    if (code === SQLITE_DONE) return false;
    throw this.#owner.error(code);
  }

  /** The columns of the row. */
  get(): Row {
    const count = this.engine.call((exports) => exports.sqlite3_column_count(this.handle));
    return Array.from({ length: count }, (_, column) => this.#column(column));
  }

  #column(column: number): Value {
    const { engine } = this;
    const handle = this.handle;
    return engine.call((exports) => {
      switch (exports.sqlite3_column_type(handle, column)) {
        case SQLITE_INTEGER: {
          const value = exports.sqlite3_column_int64(handle, column);
          const number = Number(value);
          return Number.isSafeInteger(number) ? number : value;
        }
        case SQLITE_FLOAT:
          return exports.sqlite3_column_double(handle, column);
        case SQLITE_TEXT: {
          const address = exports.sqlite3_column_text(handle, column);
          return engine.decode(address, exports.sqlite3_column_bytes(handle, column));
        }
        case SQLITE_BLOB: {
          const address = exports.sqlite3_column_blob(handle, column);
          return engine.view(address, exports.sqlite3_column_bytes(handle, column)).slice();
        }
        default:
          return null;
      }
    });
  }

  getColumnNames(): string[] {
    return this.engine.call((exports) => {
      const count = exports.sqlite3_column_count(this.handle);
      const name = (column: number) =>
        this.engine.text(exports.sqlite3_column_name(this.handle, column));
      return Array.from({ length: count }, (_, column) => name(column));
    });
  }

  /** Rewinds to before the first row, keeping the bound values. */
  reset(): this {
    // Its code is that of the last step, which was reported there.
    this.engine.call((exports) => exports.sqlite3_reset(this.handle));
    return this;
  }

  finalize(): void {
    if (this.#handle === 0) return;
    this.engine.call((exports) => exports.sqlite3_finalize(this.#handle));
    this.#handle = 0;
    this.#owner.finalized();
  }

  get handle(): number {
    if (this.#handle === 0) throw new StrongroomError('misuse', 'the statement is finalised');
    return this.#handle;
  }
}

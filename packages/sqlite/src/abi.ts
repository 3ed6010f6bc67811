// The interface of the WebAssembly module: crates/browser, and functions of SQLite.
//
// Addresses are numbers; 64-bit integers are of type bigint.

/** Exports of the module. */
export interface Exports {
  readonly memory: WebAssembly.Memory;

  strongroom_start(): number;
  strongroom_alloc(size: number): number;
  strongroom_free(address: number, size: number): void;
  strongroom_deposit(kind: number, secret: number, size: number): number;
  strongroom_revoke(token: number): void;
  strongroom_open(uri: number, flags: number, code: number): number;
  strongroom_close(connection: number): number;
  strongroom_run(connection: number, text: number): number;

  sqlite3_bind_blob64(statement: number, index: number, data: number, size: bigint, destroy: number): number;
  sqlite3_bind_double(statement: number, index: number, value: number): number;
  sqlite3_bind_int64(statement: number, index: number, value: bigint): number;
  sqlite3_bind_null(statement: number, index: number): number;
  sqlite3_bind_text64(
    statement: number, index: number, data: number, size: bigint, destroy: number, encoding: number,
  ): number;
  sqlite3_changes64(connection: number): bigint;
  sqlite3_column_blob(statement: number, column: number): number;
  sqlite3_column_bytes(statement: number, column: number): number;
  sqlite3_column_count(statement: number): number;
  sqlite3_column_double(statement: number, column: number): number;
  sqlite3_column_int64(statement: number, column: number): bigint;
  sqlite3_column_name(statement: number, column: number): number;
  sqlite3_column_text(statement: number, column: number): number;
  sqlite3_column_type(statement: number, column: number): number;
  sqlite3_errmsg(connection: number): number;
  sqlite3_extended_errcode(connection: number): number;
  sqlite3_finalize(statement: number): number;
  sqlite3_get_autocommit(connection: number): number;
  sqlite3_last_insert_rowid(connection: number): bigint;
  sqlite3_prepare_v3(
    connection: number, sql: number, size: number, flags: number, statement: number, tail: number,
  ): number;
  sqlite3_reset(statement: number): number;
  sqlite3_step(statement: number): number;
  sqlite3_total_changes64(connection: number): bigint;
}

/** Imports of the module, under the name `host`. */
export interface Host {
  random(address: number, size: number): void;
  now(): number;
  local_time(seconds: number, fields: number): void;
  log(code: number, text: number, size: number): void;
  file_find(name: number, size: number): number;
  file_read(file: number, to: number, size: number, offset: number): number;
  file_write(file: number, from: number, size: number, offset: number): number;
  file_truncate(file: number, size: number): number;
  file_flush(file: number): number;
  file_size(file: number): number;
}

/** Returned by the functions on files on failure. */
export const FILE_FAILED = -1;
/** Returned by them if the origin's quota is used up. */
export const FILE_FULL = -2;

/** Log code of a panic, after which the module is unusable. */
export const PANIC = -1;

/** Kinds of secrets. */
export const PASSPHRASE = 1;
export const RAW_KEY = 2;

/** Result codes of SQLite (sqlite.org/rescode.html). */
export const SQLITE_OK = 0;
export const SQLITE_BUSY = 5;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
export const SQLITE_CANTOPEN = 14;
export const SQLITE_CONSTRAINT = 19;
export const SQLITE_NOTADB = 26;
export const SQLITE_ROW = 100;
export const SQLITE_DONE = 101;
export const SQLITE_IOERR_DATA = 8202;

/** Flags of opening. */
export const SQLITE_OPEN_READWRITE = 2;
export const SQLITE_OPEN_CREATE = 4;

/** Types of columns. */
export const SQLITE_INTEGER = 1;
export const SQLITE_FLOAT = 2;
export const SQLITE_TEXT = 3;
export const SQLITE_BLOB = 4;

export const SQLITE_UTF8 = 1;
/** SQLite copies a bound value before the call returns. */
export const SQLITE_TRANSIENT = -1;

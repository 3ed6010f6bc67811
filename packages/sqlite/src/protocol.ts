// Messages between a page and the worker that has its database open.

import type { OpenOptions, Parameters, Row } from './types.js';
import { StrongroomError, type ErrorCode } from './errors.js';

/** The operations of a worker and their results. Each client has a separate connection. */
export interface Operations {
  open(name: string, options: OpenOptions): void;
  close(): void;
  /** Runs a script. */
  exec(sql: string): void;
  /** Runs one statement. */
  query(sql: string, parameters: Parameters): Rows;
  /** Begins a statement whose rows are fetched in batches; returns its number. */
  begin(sql: string, parameters: Parameters): { statement: number; columns: string[] };
  /** The next `count` rows; fewer mean that the statement has ended. */
  fetch(statement: number, count: number): Row[];
  /** Ends a statement before its last row. */
  finish(statement: number): void;
  /** Begins a write transaction. */
  transact(): void;
  /** The bytes of the file. */
  export(): ArrayBuffer;
  keys(): Slot[];
  /** Returns the number of the slot. */
  addKey(key: Secret): number;
  removeKey(slot: number, left: Secret): void;
  rekey(key: Secret): void;
  rotate(): void;
}

export type Operation = keyof Operations;
type Result<O extends Operation> = ReturnType<Operations[O]>;

/** The secret that opens a database. */
export type Secret = Pick<OpenOptions, 'passphrase' | 'key'>;

/** The result of one statement. */
export interface Rows {
  readonly columns: string[];
  readonly rows: Row[];
  /** The number of rows it changed. */
  readonly changes: number;
  readonly lastInsertRowId: bigint;
}

/** A key slot in use. */
export interface Slot {
  readonly slot: number;
  readonly kind: 'passphrase' | 'raw-key' | 'key-file';
  /** Whether it opened this connection. */
  readonly opened_this?: boolean;
  /** Of Argon2id. */
  readonly memory_kib?: number;
  readonly passes?: number;
  readonly lanes?: number;
}

/** The first message, with the location of the module. */
export interface Start {
  readonly module: string | BufferSource;
}

export interface Call<O extends Operation = Operation> {
  /** The calling client: a tab may host others. */
  readonly client: string;
  readonly id: number;
  readonly operation: O;
  readonly arguments: globalThis.Parameters<Operations[O]>;
}

export interface Answer {
  readonly client: string;
  readonly id: number;
  readonly result?: Result<Operation>;
  readonly error?: Failure;
}

/** An error in a message, in which its class is lost. */
export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly extendedCode: number;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof StrongroomError) {
    const { code, message, extendedCode } = error;
    return { code, message, extendedCode };
  }
  return { code: 'engine-failed', message: String(error), extendedCode: 0 };
}

export function errorOf(failure: Failure): StrongroomError {
  return new StrongroomError(failure.code, failure.message, failure.extendedCode);
}

/** Executes operations in a worker, wherever that is. */
export interface Transport {
  call<O extends Operation>(
    operation: O,
    ...args: globalThis.Parameters<Operations[O]>
  ): Promise<Result<O>>;
  /** Releases its resources; the connection was closed before. */
  close(): void | Promise<void>;
}

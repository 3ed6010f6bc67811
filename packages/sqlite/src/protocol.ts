// Messages between a page and the worker that has its database open.

import type { OpenOptions, Parameters, Row } from './types.js';
import { StrongroomError, type ErrorCode } from './errors.js';

/** What a worker does for a client, and what comes back. Each client has a connection of its own. */
export interface Operations {
  open(name: string, options: OpenOptions): void;
  close(): void;
  /** Runs a script. */
  exec(sql: string): void;
  /** Runs one statement. */
  query(sql: string, parameters: Parameters): Rows;
  /** Begins a statement whose rows are fetched in parts; its number. */
  begin(sql: string, parameters: Parameters): { statement: number; columns: string[] };
  /** So many more rows; fewer: there are no more, and the statement has ended. */
  fetch(statement: number, count: number): Row[];
  /** Ends a statement before its last row. */
  finish(statement: number): void;
  /** Begins a transaction that writes. */
  transact(): void;
  /** The bytes of the file. */
  export(): ArrayBuffer;
  keys(): Slot[];
  /** The number of the slot. */
  addKey(key: Secret): number;
  removeKey(slot: number, left: Secret): void;
  rekey(key: Secret): void;
  rotate(): void;
}

export type Operation = keyof Operations;
type Result<O extends Operation> = ReturnType<Operations[O]>;

/** What opens a database. */
export type Secret = Pick<OpenOptions, 'passphrase' | 'key'>;

/** What one statement gave. */
export interface Rows {
  readonly columns: string[];
  readonly rows: Row[];
  /** How many rows it changed. */
  readonly changes: number;
  readonly lastInsertRowId: bigint;
}

/** A key slot in use. */
export interface Slot {
  readonly slot: number;
  readonly kind: 'passphrase' | 'raw-key' | 'key-file';
  /** It opened this connection. */
  readonly opened_this?: boolean;
  /** Of Argon2id. */
  readonly memory_kib?: number;
  readonly passes?: number;
  readonly lanes?: number;
}

/** The first message: where the module is. */
export interface Start {
  readonly module: string | BufferSource;
}

export interface Call<O extends Operation = Operation> {
  /** Who calls: a tab may host others. */
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

/** An error on its way: its class does not survive the way itself. */
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

/** Does what the operations say, wherever the worker is. */
export interface Transport {
  call<O extends Operation>(
    operation: O,
    ...args: globalThis.Parameters<Operations[O]>
  ): Promise<Result<O>>;
  /** Gives up what it holds; the connection was closed before. */
  close(): void | Promise<void>;
}

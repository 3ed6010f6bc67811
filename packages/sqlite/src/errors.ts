// Errors with codes that callers can distinguish.

import {
  SQLITE_BUSY, SQLITE_CONSTRAINT, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR_DATA, SQLITE_NOTADB,
} from './abi.js';

export type ErrorCode =
  /** No key slot of the file opens with this key. */
  | 'wrong-key'
  /** The database is encrypted, or is to be, and no key was given. */
  | 'no-key'
  /** The file is no database, or its header was altered. */
  | 'not-a-database'
  /** A page does not open, or SQLite found the database malformed. */
  | 'damaged'
  /** The origin has no room left. */
  | 'quota'
  /** Another tab, window or worker has the database open. */
  | 'locked-elsewhere'
  /** The browser gives this page no files. */
  | 'no-storage'
  /** Another connection of this worker is in the way. */
  | 'busy'
  | 'constraint'
  /** The tab that had a shared database open was closed: what was not committed is undone. */
  | 'host-closed'
  /** There is a database of that name. */
  | 'exists'
  /** The user gave no passkey, or neither browser nor authenticator derives keys from it. */
  | 'no-passkey'
  /** The module ended by a fault of its own: start another worker. */
  | 'engine-failed'
  /** The caller's mistake. */
  | 'misuse'
  /** What else SQLite reports: see `extendedCode`. */
  | 'sqlite';

/** What went wrong: a code for programs, a message for people. */
export class StrongroomError extends Error {
  override readonly name = 'StrongroomError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** SQLite's extended result code; 0 where the error is not SQLite's. */
    readonly extendedCode = 0,
  ) {
    super(message);
  }
}

/** A message of the log, with the code under which it was logged. */
export interface LogEntry {
  readonly code: number;
  readonly message: string;
}

/** The newest messages. */
export class Log {
  static readonly #SIZE_MAX = 64;
  readonly #entries: LogEntry[] = [];
  /** How many there have ever been. */
  count = 0;

  add(entry: LogEntry): void {
    if (this.#entries.length === Log.#SIZE_MAX) this.#entries.shift();
    this.#entries.push(entry);
    this.count += 1;
  }

  /** Those, of the ones that are kept, which were added after there had been so many. */
  since(count: number): readonly LogEntry[] {
    return this.#entries.slice(Math.max(0, this.#entries.length - (this.count - count)));
  }
}

/** The start of what Strongroom logs; the name of the file follows. */
const OURS = 'strongroom: ';

/** What else Strongroom says of keys, on which callers act. */
const WRONG_KEY = 'wrong key: ';
const NO_KEY = 'no key was given';

/**
 * The error of a result code.
 *
 * SQLite's own message says little where a file does not open ("file is not a database"); what
 * Strongroom logged meanwhile says why.
 */
export function sqliteError(
  code: number, message: string, logged: readonly LogEntry[],
): StrongroomError {
  const entry = logged.findLast((entry) => entry.message.startsWith(OURS));
  const reason = entry?.message.slice(OURS.length) ?? message;
  const text = message.includes(reason) ? message : `${message}: ${reason}`;
  return new StrongroomError(errorCode(code, text), text, code);
}

function errorCode(code: number, text: string): ErrorCode {
  if (code === SQLITE_IOERR_DATA) return 'damaged';
  if (text.includes(NO_KEY)) return 'no-key';
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return text.includes(WRONG_KEY) ? 'wrong-key' : 'not-a-database';
    case SQLITE_CORRUPT:
      return 'damaged';
    case SQLITE_FULL:
      return 'quota';
    case SQLITE_BUSY:
      return 'busy';
    case SQLITE_CONSTRAINT:
      return 'constraint';
    default:
      return 'sqlite';
  }
}

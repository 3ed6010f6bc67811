// Errors with codes that callers can distinguish.

import {
  SQLITE_BUSY, SQLITE_CONSTRAINT, SQLITE_CORRUPT, SQLITE_FULL, SQLITE_IOERR_DATA, SQLITE_NOTADB,
} from './abi.js';

export type ErrorCode =
  /** No key slot of the file opens with this key. */
  | 'wrong-key'
  /** The database is encrypted, or would be created encrypted, and no key was given. */
  | 'no-key'
  /** The file is not a database, or its header was altered. */
  | 'not-a-database'
  /** A page does not open, or SQLite found the database malformed. */
  | 'damaged'
  /** The origin's quota is exhausted. */
  | 'quota'
  /** Another tab, window or worker has the database open. */
  | 'locked-elsewhere'
  /** The browser does not give this page access to files. */
  | 'no-storage'
  /** Another connection of this worker is in the way. */
  | 'busy'
  | 'constraint'
  /** The tab that had a shared database open was closed: uncommitted changes are rolled back. */
  | 'host-closed'
  /** There is a database of that name. */
  | 'exists'
  /** The user gave no passkey, or neither browser nor authenticator derives keys from it. */
  | 'no-passkey'
  /** The module has crashed: start another worker. */
  | 'engine-failed'
  /** Invalid arguments, or a call that is not possible in this state. */
  | 'misuse'
  /** Any other error of SQLite: see `extendedCode`. */
  | 'sqlite';

/** An error with a code for programs and a message for people. */
export class StrongroomError extends Error {
  override readonly name = 'StrongroomError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    /** SQLite's extended result code; 0 if the error is not SQLite's. */
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
  /** The total number of messages ever added. */
  count = 0;

  add(entry: LogEntry): void {
    if (this.#entries.length === Log.#SIZE_MAX) this.#entries.shift();
    this.#entries.push(entry);
    this.count += 1;
  }

  /** The messages added since the total was `count`, as far as they are still kept. */
  since(count: number): readonly LogEntry[] {
    return this.#entries.slice(Math.max(0, this.#entries.length - (this.count - count)));
  }
}

/** Prefix of Strongroom's log messages; the name of the file follows. */
const OURS = 'strongroom: ';

/** Prefix of the message about a wrong key, to which callers react. */
const WRONG_KEY = 'wrong key: ';
const NO_KEY = 'no key was given';

/**
 * The error for a result code.
 *
 * SQLite's own message says little if a file does not open ("file is not a database"); the message
 * that Strongroom logged meanwhile says why.
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

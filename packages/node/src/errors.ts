/** What went wrong, for programs. */
export type ErrorCode =
  /** The database is encrypted, and not with this key. */
  | 'wrong-key'
  /** The file is no encrypted database, is damaged, or the key cannot be read. */
  | 'unusable'
  /** This machine, this Node or this SQLite cannot take the extension. */
  | 'not-supported'
  /** A function was called with what it does not take. */
  | 'misuse';

/** An error of this package. What SQLite itself refuses is an error of the client's own kind. */
export class StrongroomError extends Error {
  override readonly name = 'StrongroomError';

  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Error codes for programs. */
export type ErrorCode =
  /** The database is encrypted with another key. */
  | 'wrong-key'
  /** The file is not an encrypted database, is damaged, or the key cannot be read. */
  | 'unusable'
  /** This machine, this Node or this SQLite does not support the extension. */
  | 'not-supported'
  /** A function was called with invalid arguments. */
  | 'misuse';

/** An error of this package. Errors of SQLite itself are those of the client library. */
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

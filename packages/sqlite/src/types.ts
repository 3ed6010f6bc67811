// Types of a connection's arguments and results.

/** A value of a column. Integers beyond 2^53 are of type bigint. */
export type Value = null | number | bigint | string | Uint8Array;
export type Row = Value[];
export type Parameters = readonly Value[];

export type Cipher = 'aegis-256x2' | 'aegis-256' | 'aes-256-gcm' | 'xchacha20-poly1305';

export interface OpenOptions {
  /** Text, or its bytes in UTF-8. */
  passphrase?: string | Uint8Array;
  /** 32 bytes. */
  key?: Uint8Array;
  /** The cipher of a new database. */
  cipher?: Cipher;
  /**
   * Allows several connections of this worker to have the database open. Without it this connection
   * keeps its locks, which is faster, and which WAL mode requires without shared memory.
   */
  shared?: boolean;
  /** No encryption: for benchmarks, and for foreign files. */
  plain?: boolean;
}

// Where an engine stores its files: in OPFS, in Node, or in Web Storage items.

import { FILE_FAILED, FILE_FULL } from './abi.js';

/**
 * The file store of an engine. Failures are codes, since exceptions must not pass through
 * WebAssembly.
 */
export interface FileStore {
  /** Opens the files of a database. */
  attach(name: string): Promise<void>;
  /** Closes them once they were detached as often as attached. */
  detach(name: string): Promise<void>;
  /** The number of an attached file. */
  find(name: string): number;
  /** Returns the number of bytes read, fewer at the end of the file. */
  read(file: number, to: Uint8Array<ArrayBuffer>, at: number): number;
  write(file: number, from: Uint8Array<ArrayBuffer>, at: number): number;
  truncate(file: number, size: number): number;
  flush(file: number): number;
  size(file: number): number;
  /** The error of the last call that failed. */
  failure: unknown;
}

/** Converts exceptions of a call to codes, since SQLite could not clean up after an exception. */
export function guarded(
  store: FileStore, isFull: (error: unknown) => boolean, call: () => number,
): number {
  try {
    return call();
  } catch (error) {
    store.failure = error;
    return isFull(error) ? FILE_FULL : FILE_FAILED;
  }
}

// Where an engine stores its files: in OPFS, in Node, or in Web Storage items.

import { FILE_FAILED, FILE_FULL } from './abi.js';

/** Where an engine has its files. What fails gives a code: no exception passes through WebAssembly. */
export interface FileStore {
  /** Opens the files of a database. */
  attach(name: string): Promise<void>;
  /** Closes them when as often as they were attached. */
  detach(name: string): Promise<void>;
  /** The number of an attached file. */
  find(name: string): number;
  /** How many bytes were read: fewer where the file ends. */
  read(file: number, to: Uint8Array<ArrayBuffer>, at: number): number;
  write(file: number, from: Uint8Array<ArrayBuffer>, at: number): number;
  truncate(file: number, size: number): number;
  flush(file: number): number;
  size(file: number): number;
  /** Of the last call that failed. */
  failure: unknown;
}

/** Turns what a call throws into a code: SQLite could not clean up behind an exception. */
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

/**
 * Encrypted SQLite databases with Node's own `node:sqlite` and with `better-sqlite3`. The README
 * has the rest.
 *
 * @module
 */
export {
  type BetterSqlite3,
  type BetterSqlite3Options,
  openBetterSqlite3,
} from './better-sqlite3.js';
export { type ErrorCode, StrongroomError } from './errors.js';
export { extensionPath } from './extension.js';
export type { FileKey, Key, MemoryKey, Path } from './keys.js';
export { type NodeSqliteOptions, open } from './node-sqlite.js';
export type { Cipher, OpenOptions } from './options.js';

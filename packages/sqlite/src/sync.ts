// The engine itself, for callers with their own worker: all calls except opening and closing are
// synchronous.

export { Database, Statement, type OpenOptions, type Parameters, type Row, type Value } from './database.js';
export { Engine } from './engine.js';
export { Files } from './files.js';
export { KeyValueFiles, type Items } from './keyvalue.js';
export { exists, remove } from './names.js';
export type { FileStore } from './store.js';
export { StrongroomError, type ErrorCode } from './errors.js';

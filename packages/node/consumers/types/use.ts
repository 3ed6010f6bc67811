// Typical code of a TypeScript program; compiled with strict settings, and not run.
import type { DatabaseSync } from 'node:sqlite';

import {
  type ErrorCode,
  type FileKey,
  type Key,
  StrongroomError,
  extensionPath,
  open,
  openBetterSqlite3,
} from '@strongroom/node';
import Database from 'better-sqlite3';

const file: FileKey = { keyFile: new URL('file:///srv/my.key') };
const keys: Key[] = [
  file,
  { passphraseFile: 'passphrase' },
  { key: new Uint8Array(32) },
  { passphrase: 'horse battery' },
];

export const one: DatabaseSync = open('new.db', file, { cipher: 'aegis-256', readBigInts: true });
export const two: Database.Database = openBetterSqlite3(Database, 'new.db', file);
export const three: Database.Database = openBetterSqlite3(Database, 'new.db', file, {
  create: false,
  timeout: 5,
});
export const all: DatabaseSync[] = keys.map((key) => open(new URL('file:///srv/a.db'), key));
export const path: string = extensionPath();

export function code(error: unknown): ErrorCode | undefined {
  return error instanceof StrongroomError ? error.code : undefined;
}

// @ts-expect-error: a key is required.
open('new.db');
// @ts-expect-error: a key is given as an object that says what it is.
open('new.db', 'horse battery');
// @ts-expect-error: one key, not two.
open('new.db', { keyFile: 'my.key', passphrase: 'horse battery' });
// @ts-expect-error: there is no such cipher.
open('new.db', file, { cipher: 'rot13' });
// @ts-expect-error: the database is always opened.
open('new.db', file, { open: false });
// @ts-expect-error: no secret reaches better-sqlite3.
openBetterSqlite3(Database, 'new.db', { passphrase: 'horse battery' });
// @ts-expect-error: the option is readOnly, for both clients.
openBetterSqlite3(Database, 'new.db', file, { readonly: true });

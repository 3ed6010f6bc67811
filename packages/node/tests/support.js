// Helpers for the tests of both clients.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const KEY = Uint8Array.from({ length: 32 }, (_, index) => index);
export const PASSPHRASE = 'horse battery, größer';
export const CANARY = 'canary-2a97-in-plain-text';

/** A folder that goes away with the test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), 'strongroom node & test-'));
  test.after(() => rmSync(path, { recursive: true }));
  return (name) => join(path, name);
}

export function keyFile(path) {
  writeFileSync(path, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
  return path;
}

export function passphraseFile(path) {
  writeFileSync(path, 'another one\n', { mode: 0o600 });
  return path;
}

export function fill(database) {
  database.exec('CREATE TABLE t(a)');
  database.prepare('INSERT INTO t VALUES(?)').run(CANARY);
  database.close();
}

export function content(database) {
  const { a } = database.prepare('SELECT a FROM t').get();
  database.close();
  return a;
}

export function isReadable(path) {
  const bytes = readFileSync(path);
  return bytes.includes(CANARY) || bytes.includes('SQLite format 3');
}

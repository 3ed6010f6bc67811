// Helpers for tests: engines, keys, the raw bytes of files.

import { Database, type OpenOptions } from '../src/database.js';
import { Engine } from '../src/engine.js';
import type { Files } from '../src/files.js';
import { locate, remove, SUFFIXES } from '../src/names.js';
import { isTrue } from './assert.js';

export const CIPHERS = ['aegis-256x2', 'aegis-256', 'aes-256-gcm', 'xchacha20-poly1305'] as const;

/** A key that is easy to find in memory, and does not occur there by accident. */
export const KEY = Uint8Array.from({ length: 32 }, (_, index) => (index * 37 + 11) & 0xff);
export const OTHER_KEY = KEY.map((byte) => byte ^ 0x55);

/** Text in every row, which must be found in no file. */
export const CANARY = 'canary-59d2-in-plain-text';

/** The published module; `probe.wasm` has additional exports for tests. */
export function engine(module = 'strongroom.wasm'): Promise<Engine<Files>> {
  return Engine.load(new URL(`../${module}`, import.meta.url));
}

/** A database that did not exist before. */
export async function created(
  on: Engine, name: string, options: OpenOptions = { key: KEY },
): Promise<Database> {
  await remove(name);
  return Database.open(on, name, options);
}

/** Fills a table of rows with the canary in each. */
export function fill(database: Database, rows: number): void {
  database.exec(`
    CREATE TABLE filler(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO filler SELECT n, '${CANARY} ' || n FROM numbers;`);
}

/** The bytes of a file in OPFS; none where there is no file. */
export async function bytesOf(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const { folder, last } = await locate(name, false);
  try {
    const file = await (await folder.getFileHandle(last)).getFile();
    return new Uint8Array(await file.arrayBuffer());
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotFoundError') return new Uint8Array();
    throw error;
  }
}

/** The bytes of a file that the worker has open. */
export function bytesOfOpen(on: Engine, name: string): Uint8Array {
  const file = on.files.find(name);
  const bytes = new Uint8Array(Math.max(0, on.files.size(file)));
  on.files.read(file, bytes, 0);
  return bytes;
}

export async function write(name: string, bytes: Uint8Array<ArrayBuffer>, at = 0): Promise<void> {
  const { folder, last } = await locate(name, true);
  const handle = await (await folder.getFileHandle(last, { create: true })).createSyncAccessHandle();
  handle.write(bytes, { at });
  handle.flush();
  handle.close();
}

/** Which files of a database there are. */
export async function filesOf(name: string): Promise<string[]> {
  const { folder, last } = await locate(name, false);
  const found: string[] = [];
  for (const suffix of SUFFIXES) {
    const handle = await folder.getFileHandle(last + suffix).catch(() => undefined);
    if (handle) found.push(suffix);
  }
  return found;
}

export function holds(bytes: Uint8Array, part: Uint8Array): boolean {
  const [first] = part;
  if (first === undefined) return true;
  for (let at = bytes.indexOf(first); at >= 0; at = bytes.indexOf(first, at + 1)) {
    if (part.every((byte, index) => bytes[at + index] === byte)) return true;
  }
  return false;
}

/** Asserts that the bytes are not empty, and contain neither a row nor SQLite's own texts. */
export function nothingReadable(bytes: Uint8Array, what: string): void {
  isTrue(bytes.length > 0, `${what} is empty: nothing was looked at`);
  for (const words of [CANARY, 'SQLite format 3', 'CREATE TABLE']) {
    isTrue(!holds(bytes, new TextEncoder().encode(words)), `"${words}" stands in ${what}`);
  }
}

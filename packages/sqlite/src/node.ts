// Databases in Node: in memory, and in files that all other Strongroom programs can open.
//
// Node has no file locks that other programs respect. A file `NAME-node` beside a database says
// which process has it open. Other processes with this package respect it; other programs do not.
// If several processes share a database, load the extension into a native SQLite.

import {
  closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, readSync, rmSync,
  writeFileSync, writeSync,
} from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { FILE_FAILED } from './abi.js';
import { Client } from './client.js';
import { Connection } from './connection.js';
import { Database } from './database.js';
import { Engine } from './engine.js';
import { StrongroomError } from './errors.js';
import { SUFFIXES } from './names.js';
import { guarded, type FileStore } from './store.js';
import type { OpenOptions } from './types.js';

export { Connection, PreparedStatement, Session, type RunResult } from './connection.js';
export { Database, Statement } from './database.js';
export { Engine } from './engine.js';
export { StrongroomError, type ErrorCode } from './errors.js';
export type { Secret, Slot } from './protocol.js';
export type { Cipher, OpenOptions, Parameters, Row, Value } from './types.js';

let loaded: Promise<Engine> | undefined;

function engine(): Promise<Engine> {
  loaded ??= Engine.load(
    readFileSync(fileURLToPath(new URL('./strongroom.wasm', import.meta.url))), new NodeFiles());
  return loaded;
}

/** Opens a database in a file, or `:memory:`. Its calls are synchronous. */
export async function open(path: string, options: OpenOptions = {}): Promise<Database> {
  return Database.open(await engine(), place(path), options);
}

/** The same with the asynchronous interface of pages, also for Kysely and Drizzle. */
export async function connect(path: string, options: OpenOptions = {}): Promise<Connection> {
  const client = new Client(await engine());
  await client.perform('open', [place(path), options]);
  return new Connection(path, {
    call: (operation, ...args) => client.perform(operation, args),
    close: () => undefined,
  });
}

function place(path: string): string {
  return path === ':memory:' ? path : resolve(path);
}

/** Files by descriptors. */
class NodeFiles implements FileStore {
  readonly #attached = new Map<string, { count: number; descriptors: number[] }>();
  readonly #numbers = new Map<string, number>();
  failure: unknown;

  async attach(name: string): Promise<void> {
    const attached = this.#attached.get(name);
    if (attached) {
      attached.count += 1;
      return;
    }
    const descriptors: number[] = [];
    claim(name);
    try {
      for (const suffix of SUFFIXES) descriptors.push(openPlace(name + suffix));
    } catch (error) {
      for (const descriptor of descriptors) closeSync(descriptor);
      rmSync(claimOf(name), { force: true });
      throw new StrongroomError('no-storage', `${name} cannot be opened: ${String(error)}`);
    }
    for (const [index, descriptor] of descriptors.entries()) {
      this.#numbers.set(name + SUFFIXES[index], descriptor);
    }
    this.#attached.set(name, { count: 1, descriptors });
  }

  async detach(name: string): Promise<void> {
    const attached = this.#attached.get(name);
    if (!attached || --attached.count > 0) return;
    this.#attached.delete(name);
    for (const [index, descriptor] of attached.descriptors.entries()) {
      const path = name + SUFFIXES[index];
      const isEmpty = fstatSync(descriptor).size === 0;
      closeSync(descriptor);
      this.#numbers.delete(path);
      if (isEmpty) rmSync(path, { force: true });
    }
    rmSync(claimOf(name), { force: true });
  }

  find(name: string): number {
    return this.#numbers.get(name) ?? FILE_FAILED;
  }

  read(file: number, to: Uint8Array<ArrayBuffer>, at: number): number {
    return this.#guarded(() => {
      let done = 0;
      while (done < to.length) {
        const count = readSync(file, to, done, to.length - done, at + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    });
  }

  write(file: number, from: Uint8Array<ArrayBuffer>, at: number): number {
    return this.#guarded(() => {
      for (let done = 0; done < from.length;) {
        done += writeSync(file, from, done, from.length - done, at + done);
      }
      return 0;
    });
  }

  truncate(file: number, size: number): number {
    return this.#guarded(() => {
      ftruncateSync(file, size);
      return 0;
    });
  }

  flush(file: number): number {
    return this.#guarded(() => {
      fsyncSync(file);
      return 0;
    });
  }

  size(file: number): number {
    return this.#guarded(() => fstatSync(file).size);
  }

  #guarded(call: () => number): number {
    return guarded(this, isOutOfSpace, call);
  }
}

/** Opens a file for reading and writing; a missing one is created, accessible only to its owner. */
function openPlace(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return openSync(path, 'wx+', 0o600);
  }
}

function claimOf(name: string): string {
  return `${name}-node`;
}

/** Records that this process has a database open. */
function claim(name: string): void {
  const path = claimOf(name);
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') {
        throw new StrongroomError('no-storage', `${name} cannot be opened: ${String(error)}`);
      }
    }
    const owner = Number(readFileSync(path, 'utf8'));
    if (isRunning(owner)) {
      throw new StrongroomError('locked-elsewhere', `${name} is open in process ${owner}: close it there`);
    }
    // Left by a process that was killed.
    rmSync(path, { force: true });
  }
}

function isRunning(process_id: number): boolean {
  if (!Number.isInteger(process_id) || process_id <= 0) return false;
  try {
    process.kill(process_id, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function isOutOfSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? '';
}

// Database files in OPFS, opened before SQLite needs them.
//
// A database NAME is the file NAME with the same bytes as in the native program. Beside it are its
// journal, its log, and the file of a key rotation, while they are in use.

import { FILE_FAILED, FILE_FULL } from './abi.js';
import { isInUse, isOverQuota, locate, openError, SUFFIXES } from './names.js';
import { guarded, type FileStore } from './store.js';

/** How long to wait for a file that is in use, in milliseconds. */
const WAIT_MAX = 1000;
const WAIT = 20;

/** How often each call was made: for tests and measurements. */
export interface Calls {
  read: number;
  write: number;
  flush: number;
}

interface Attached {
  readonly files: readonly { readonly name: string; readonly number: number }[];
  count: number;
}

/** The open files of one worker. */
export class Files implements FileStore {
  /** Handles by number; numbers are never reused. */
  readonly #handles: (FileSystemSyncAccessHandle | undefined)[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #attached = new Map<string, Attached>();
  /** For each name, the last opening or closing in progress, which the next one awaits. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly calls: Calls = { read: 0, write: 0, flush: 0 };
  failure: unknown;

  /** Opens the files of a database; missing ones are created, empty. */
  attach(name: string): Promise<void> {
    return this.#inTurn(name, () => this.#attach(name));
  }

  /**
   * Closes the files of a database once they were detached as often as attached; removes empty
   * ones.
   */
  detach(name: string): Promise<void> {
    return this.#inTurn(name, () => this.#detach(name));
  }

  async #inTurn(name: string, body: () => Promise<void>): Promise<void> {
    const before = this.#underWay.get(name);
    const own = before ? before.then(body, body) : body();
    this.#underWay.set(name, own);
    try {
      await own;
    } finally {
      if (this.#underWay.get(name) === own) this.#underWay.delete(name);
    }
  }

  async #attach(name: string): Promise<void> {
    const attached = this.#attached.get(name);
    if (attached) {
      attached.count += 1;
      return;
    }
    const opened: FileSystemSyncAccessHandle[] = [];
    try {
      const { folder, last } = await locate(name, true);
      for (const suffix of SUFFIXES) {
        const file = await folder.getFileHandle(last + suffix, { create: true });
        opened.push(await openHandle(file));
      }
    } catch (error) {
      for (const handle of opened) handle.close();
      throw openError(name, error);
    }
    const files = opened.map((handle, index) => {
      const file = { name: name + SUFFIXES[index], number: this.#handles.push(handle) - 1 };
      this.#numbers.set(file.name, file.number);
      return file;
    });
    this.#attached.set(name, { files, count: 1 });
  }

  async #detach(name: string): Promise<void> {
    const attached = this.#attached.get(name);
    if (!attached || --attached.count > 0) return;
    this.#attached.delete(name);
    const { folder, last } = await locate(name, false);
    for (const [index, file] of attached.files.entries()) {
      const handle = this.#handle(file.number);
      const isEmpty = handle.getSize() === 0;
      handle.close();
      this.#handles[file.number] = undefined;
      this.#numbers.delete(file.name);
      if (isEmpty) await folder.removeEntry(last + SUFFIXES[index]);
    }
  }

  isAttached(name: string): boolean {
    return this.#attached.has(name);
  }

  find(name: string): number {
    return this.#numbers.get(name) ?? FILE_FAILED;
  }

  read(file: number, to: Uint8Array<ArrayBuffer>, at: number): number {
    this.calls.read += 1;
    return this.#guarded(() => this.#handle(file).read(to, { at }));
  }

  write(file: number, from: Uint8Array<ArrayBuffer>, at: number): number {
    this.calls.write += 1;
    return this.#guarded(() => {
      const handle = this.#handle(file);
      // A browser may write only a part when the quota is exhausted.
      return handle.write(from, { at }) === from.length ? 0 : FILE_FULL;
    });
  }

  truncate(file: number, size: number): number {
    return this.#guarded(() => {
      this.#handle(file).truncate(size);
      return 0;
    });
  }

  flush(file: number): number {
    this.calls.flush += 1;
    return this.#guarded(() => {
      this.#handle(file).flush();
      return 0;
    });
  }

  size(file: number): number {
    return this.#guarded(() => this.#handle(file).getSize());
  }

  #handle(file: number): FileSystemSyncAccessHandle {
    const handle = this.#handles[file];
    if (!handle) throw new Error(`file ${file} is not open`);
    return handle;
  }

  #guarded(call: () => number): number {
    return guarded(this, isOverQuota, call);
  }
}

/** Retries for a while: the files of a worker that was ended are closed a little later. */
async function openHandle(file: FileSystemFileHandle): Promise<FileSystemSyncAccessHandle> {
  for (let waited = 0; ; waited += WAIT) {
    try {
      return await file.createSyncAccessHandle();
    } catch (error) {
      if (!isInUse(error) || waited >= WAIT_MAX) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

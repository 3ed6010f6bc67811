// A small database in `localStorage` or `sessionStorage`, for demonstrations. Browsers give an
// origin 5 MB there, keep them in memory, and guarantee no order of writes after a crash.

import { FILE_FAILED } from './abi.js';
import { isOverQuota, SUFFIXES } from './names.js';
import { guarded, type FileStore } from './store.js';

/** Bytes of a file per item, with one byte per character. */
const BLOCK_SIZE = 4096;

/** The interface of `localStorage` and `sessionStorage`. */
export interface Items {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** Files in items of a `Storage`. For `Engine.load(module, new KeyValueFiles(localStorage))`. */
export class KeyValueFiles implements FileStore {
  /** By number. */
  readonly #names: string[] = [];
  failure: unknown;

  constructor(readonly storage: Items) {}

  async attach(name: string): Promise<void> {
    for (const suffix of SUFFIXES) {
      if (!this.#names.includes(name + suffix)) this.#names.push(name + suffix);
    }
  }

  async detach(): Promise<void> {}

  find(name: string): number {
    const number = this.#names.indexOf(name);
    return number < 0 ? FILE_FAILED : number;
  }

  size(file: number): number {
    return this.#guarded(() => Number(this.storage.getItem(this.#key(file, 'size')) ?? 0));
  }

  read(file: number, to: Uint8Array<ArrayBuffer>, at: number): number {
    return this.#guarded(() => {
      const count = Math.max(0, Math.min(to.length, this.size(file) - at));
      for (let done = 0; done < count;) {
        const [index, offset] = place(at + done);
        const block = this.#block(file, index);
        const size = Math.min(BLOCK_SIZE - offset, count - done);
        to.set(block.subarray(offset, offset + size), done);
        done += size;
      }
      return count;
    });
  }

  write(file: number, from: Uint8Array<ArrayBuffer>, at: number): number {
    return this.#guarded(() => {
      for (let done = 0; done < from.length;) {
        const [index, offset] = place(at + done);
        const size = Math.min(BLOCK_SIZE - offset, from.length - done);
        const block = this.#block(file, index);
        block.set(from.subarray(done, done + size), offset);
        this.storage.setItem(this.#key(file, index), String.fromCharCode(...block));
        done += size;
      }
      this.#setSize(file, Math.max(this.size(file), at + from.length));
      return 0;
    });
  }

  truncate(file: number, size: number): number {
    return this.#guarded(() => {
      const [last, offset] = place(size);
      for (let index = last + (offset > 0 ? 1 : 0); index * BLOCK_SIZE < this.size(file); index++) {
        this.storage.removeItem(this.#key(file, index));
      }
      if (offset > 0) {
        const block = this.#block(file, last).fill(0, offset);
        this.storage.setItem(this.#key(file, last), String.fromCharCode(...block));
      }
      this.#setSize(file, size);
      return 0;
    });
  }

  flush(): number {
    return 0;
  }

  #setSize(file: number, size: number): void {
    if (size === 0) this.storage.removeItem(this.#key(file, 'size'));
    else this.storage.setItem(this.#key(file, 'size'), String(size));
  }

  #block(file: number, index: number): Uint8Array {
    const block = new Uint8Array(BLOCK_SIZE);
    const text = this.storage.getItem(this.#key(file, index)) ?? '';
    for (let at = 0; at < text.length; at++) block[at] = text.charCodeAt(at);
    return block;
  }

  #key(file: number, part: number | 'size'): string {
    const name = this.#names[file];
    if (name === undefined) throw new Error(`file ${file} is not open`);
    return `strongroom:${name}:${part}`;
  }

  #guarded(call: () => number): number {
    return guarded(this, isOverQuota, call);
  }
}

function place(at: number): [index: number, offset: number] {
  return [Math.floor(at / BLOCK_SIZE), at % BLOCK_SIZE];
}

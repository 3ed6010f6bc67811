// The WebAssembly module in a worker: its memory, and the functions it imports from its host.

import { PANIC, type Exports, type Host } from './abi.js';
import { Log, StrongroomError } from './errors.js';
import { Files } from './files.js';
import type { FileStore } from './store.js';

/** The maximum that `crypto.getRandomValues` returns in one call. */
const RANDOM_SIZE_MAX = 65_536;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** One instance of the module. */
export class Engine<Store extends FileStore = FileStore> {
  /** Log messages of SQLite and Strongroom. */
  readonly log = new Log();
  #exports: Exports | undefined;
  #panic: string | undefined;

  private constructor(readonly files: Store) {}

  /** Compiles the module, from a URL or from bytes, and starts it. */
  static load(source: URL | string | BufferSource): Promise<Engine<Files>>;
  /** The same with another file store than OPFS. */
  static load<Store extends FileStore>(
    source: URL | string | BufferSource, files: Store,
  ): Promise<Engine<Store>>;
  static async load(
    source: URL | string | BufferSource, files: FileStore = new Files(),
  ): Promise<Engine> {
    const engine = new Engine(files);
    const imports = { host: engine.#host() as unknown as WebAssembly.ModuleImports };
    const { instance } = isAddress(source)
      ? await fetched(source, imports)
      : await WebAssembly.instantiate(source, imports);
    engine.#exports = instance.exports as unknown as Exports;
    const code = engine.call((exports) => exports.strongroom_start());
    if (code !== 0) throw new StrongroomError('engine-failed', 'SQLite did not start', code);
    return engine;
  }

  /** Passes the exports to one call. Fails if the module has panicked. */
  call<T>(body: (exports: Exports) => T): T {
    if (this.#panic !== undefined) throw this.#dead();
    if (!this.#exports) throw new StrongroomError('misuse', 'the module is not loaded');
    try {
      return body(this.#exports);
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error;
      this.#panic ??= String(error);
      throw this.#dead();
    }
  }

  /**
   * A view of the module's memory. It is valid only until the next call, which may grow the memory
   * and so replace the buffer.
   */
  view(address: number, size: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#memory(), address, size);
  }

  data(): DataView<ArrayBuffer> {
    return new DataView(this.#memory());
  }

  /** Copies bytes into the module for the duration of a call, and wipes them afterwards. */
  with<T>(bytes: Uint8Array, body: (address: number) => T): T {
    const address = this.call((exports) => exports.strongroom_alloc(bytes.length));
    if (address === 0) throw new StrongroomError('engine-failed', 'no memory left');
    try {
      this.view(address, bytes.length).set(bytes);
      return body(address);
    } finally {
      this.call((exports) => exports.strongroom_free(address, bytes.length));
    }
  }

  /** The same for a text, with a terminating zero. */
  withText<T>(text: string, body: (address: number) => T): T {
    return this.with(terminated(text), body);
  }

  /** Reads a zero-terminated text from the module. */
  text(address: number): string {
    const memory = new Uint8Array(this.#memory());
    return decoder.decode(memory.subarray(address, memory.indexOf(0, address)));
  }

  /** The text of these bytes. */
  decode(address: number, size: number): string {
    return decoder.decode(this.view(address, size));
  }

  #memory(): ArrayBuffer {
    if (!this.#exports) throw new StrongroomError('misuse', 'the module is not loaded');
    return this.#exports.memory.buffer;
  }

  #dead(): StrongroomError {
    return new StrongroomError(
      'engine-failed',
      `the engine has ended and needs a new worker; what was committed is safe (${this.#panic})`,
    );
  }

  #host(): Host {
    const { files } = this;
    return {
      random: (address, size) => {
        for (let done = 0; done < size; done += RANDOM_SIZE_MAX) {
          crypto.getRandomValues(this.view(address + done, Math.min(RANDOM_SIZE_MAX, size - done)));
        }
      },
      now: () => Date.now(),
      local_time: (seconds, fields) => {
        const data = this.data();
        for (const [index, field] of localTime(new Date(seconds * 1000)).entries()) {
          data.setInt32(fields + 4 * index, field, true);
        }
      },
      log: (code, text, size) => {
        const message = this.decode(text, size);
        if (code === PANIC) this.#panic = message;
        this.log.add({ code, message });
      },
      file_find: (name, size) => files.find(this.decode(name, size)),
      file_read: (file, to, size, offset) => files.read(file, this.view(to, size), offset),
      file_write: (file, from, size, offset) => files.write(file, this.view(from, size), offset),
      file_truncate: (file, size) => files.truncate(file, size),
      file_flush: (file) => files.flush(file),
      file_size: (file) => files.size(file),
    };
  }
}

/** The bytes of a text, with a terminating zero. */
function terminated(text: string): Uint8Array {
  if (text.includes('\0')) throw new StrongroomError('misuse', 'a text holds a zero character');
  return encoder.encode(`${text}\0`);
}

function isAddress(source: URL | string | BufferSource): source is URL | string {
  return typeof source === 'string' || source instanceof URL;
}

/** Downloads the module from a URL; the error says what to do if it is missing. */
async function fetched(
  source: URL | string, imports: WebAssembly.Imports,
): Promise<WebAssembly.WebAssemblyInstantiatedSource> {
  const remedy = 'say where strongroom.wasm is, by the option "module"';
  const response = await fetch(source);
  if (!response.ok) {
    throw new StrongroomError('engine-failed', `${source} answers ${response.status}: ${remedy}`);
  }
  try {
    // Compiles while downloading, if the server sends the right media type.
    return response.headers.get('content-type') === 'application/wasm'
      ? await WebAssembly.instantiateStreaming(response, imports)
      : await WebAssembly.instantiate(await response.arrayBuffer(), imports);
  } catch (error) {
    throw new StrongroomError('engine-failed', `${source} is not loaded (${String(error)}): ${remedy}`);
  }
}

/** Year, month, day, hour, minute, second, weekday, day of the year, daylight saving, offset. */
function localTime(date: Date): number[] {
  const midnight = new Date(date.getFullYear(), date.getMonth(), date.getDate());
  const newYear = new Date(date.getFullYear(), 0, 1);
  // Rounds away days of 23 and 25 hours.
  const dayOfYear = Math.round((midnight.getTime() - newYear.getTime()) / 86_400_000);
  const unknown = -1;
  return [
    date.getFullYear(), date.getMonth() + 1, date.getDate(),
    date.getHours(), date.getMinutes(), date.getSeconds(),
    date.getDay(), dayOfYear, unknown, -60 * date.getTimezoneOffset(),
  ];
}

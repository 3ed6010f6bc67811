// Connections from a page to the worker that has the database open: its own worker, or that of
// another tab.

import { StrongroomError } from './errors.js';
import {
  errorOf, type Answer, type Call, type Operation, type Operations, type Start, type Transport,
} from './protocol.js';

interface Waiting {
  readonly resolve: (result: never) => void;
  readonly reject: (error: unknown) => void;
}

/** Pending calls. */
export class Calls {
  #next = 1;
  readonly #waiting = new Map<number, Waiting>();

  /** Sends a call with `send`; resolves with its answer. */
  make<O extends Operation>(
    client: string, operation: O, args: globalThis.Parameters<Operations[O]>,
    send: (call: Call<O>) => void,
  ): Promise<ReturnType<Operations[O]>> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      send({ client, id, operation, arguments: args });
    });
  }

  settle({ id, result, error }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error) waiting?.reject(errorOf(error));
    else waiting?.resolve(result as never);
  }

  /** Rejects all calls, because nobody will answer them. */
  rejectAll(error: StrongroomError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** A worker of this page. */
export class OwnWorker {
  readonly #worker: Worker;
  readonly #calls = new Calls();
  #ended: StrongroomError | undefined;
  /** Receives answers to clients of other pages. */
  onforeign: ((answer: Answer) => void) | undefined;

  constructor(start: Start) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => {
      if (data.client === OWN) this.#calls.settle(data);
      else this.onforeign?.(data);
    };
    this.#worker.onerror = (event) => {
      const reason = event.message || 'its script was not loaded';
      this.end(new StrongroomError('engine-failed', `the worker failed: ${reason}`));
    };
    this.#worker.postMessage(start);
  }

  call<O extends Operation>(
    operation: O, ...args: globalThis.Parameters<Operations[O]>
  ): Promise<ReturnType<Operations[O]>> {
    if (this.#ended) return Promise.reject(this.#ended);
    return this.#calls.make(OWN, operation, args, (call) => this.#worker.postMessage(call));
  }

  /** Forwards a call of a client of another page. */
  forward(call: Call): void {
    this.#worker.postMessage(call);
  }

  end(error = new StrongroomError('misuse', 'the database is closed')): void {
    this.#ended ??= error;
    this.#worker.terminate();
    this.#calls.rejectAll(this.#ended);
  }
}

/** The client id of the worker's own page. */
const OWN = 'own';

/** The name of the lock held by the tab that has a database open. */
export function lockName(name: string): string {
  return `strongroom:${name}`;
}

/** A worker of this page, under the lock of its database. */
export class OwnTransport implements Transport {
  readonly #worker: OwnWorker;
  readonly #release: () => Promise<void>;

  private constructor(start: Start, release: () => Promise<void>) {
    this.#worker = new OwnWorker(start);
    this.#release = release;
  }

  /** Acquires the lock, at once or not at all, unless `waits` is set. */
  static async take(name: string, start: Start, waits: boolean): Promise<OwnTransport> {
    const release = await lock(name, waits);
    if (!release) {
      const remedy = 'close it there, or open it with tabs: "wait" or "share"';
      throw new StrongroomError('locked-elsewhere', `${name} is open in another tab: ${remedy}`);
    }
    return new OwnTransport(start, release);
  }

  /** For a database that nobody else can see. */
  static alone(start: Start): OwnTransport {
    return new OwnTransport(start, async () => undefined);
  }

  call<O extends Operation>(
    operation: O, ...args: globalThis.Parameters<Operations[O]>
  ): Promise<ReturnType<Operations[O]>> {
    return this.#worker.call(operation, ...args);
  }

  close(): Promise<void> {
    this.#worker.end();
    return this.#release();
  }
}

/**
 * Runs something with a database that no tab has open, and keeps tabs from opening it meanwhile.
 */
export async function withLock<T>(name: string, body: () => Promise<T>): Promise<T> {
  const release = await lock(name, false);
  if (!release) {
    throw new StrongroomError('locked-elsewhere', `${name} is open in a tab: close it there`);
  }
  try {
    return await body();
  } finally {
    await release();
  }
}

/**
 * Acquires the lock of a name. Returns a function that releases it, and resolves when others can
 * acquire it. Without `waits`, undefined if another holds it.
 */
function lock(name: string, waits: boolean): Promise<(() => Promise<void>) | undefined> {
  return new Promise((resolve, reject) => {
    const held: Promise<void> = navigator.locks.request(lockName(name), { ifAvailable: !waits }, (own) => {
      if (!own) {
        resolve(undefined);
        return undefined;
      }
      return new Promise<void>((release) => resolve(() => {
        release();
        return held;
      }));
    });
    held.catch(reject);
  });
}

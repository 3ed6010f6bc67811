// Several tabs with the same database: one of them hosts the worker, the others send it their
// calls.
//
// The host is the tab that holds the Web Lock of the database; when it ends, the next in the lock's
// queue reopens the database. Tabs communicate over a BroadcastChannel, which reaches every tab of
// the origin in every browser. Each tab has a separate connection in the host's worker, and holds a
// lock of its own, from which the host learns when the tab is gone.

import { StrongroomError } from './errors.js';
import type { Answer, Call, Operation, Operations, Start, Transport } from './protocol.js';
import { Calls, lockName, OwnWorker } from './transport.js';

type Message =
  /** Asks for the host. */
  | { readonly kind: 'where' }
  /** The host's answer. */
  | { readonly kind: 'here'; readonly host: string }
  | { readonly kind: 'call'; readonly host: string; readonly call: Call }
  | { readonly kind: 'answer'; readonly answer: Answer };

type Opening = globalThis.Parameters<Operations['open']>;

export class SharedTransport implements Transport {
  readonly #id = crypto.randomUUID();
  readonly #channel: BroadcastChannel;
  readonly #calls = new Calls();
  readonly #ended = new AbortController();
  /** The worker, if this tab is the host. */
  #worker: OwnWorker | undefined;
  #host: string | undefined;
  /** Whether it holds the lock from which the host learns that it is gone. */
  #isPresent = false;
  /** The request that reopens the connection when another tab has become the host. */
  #opening: Opening | undefined;
  /** Resolves when there is a host, and it has opened the connection. */
  #connected: Promise<void>;
  #connect: { resolve: () => void; reject: (error: unknown) => void } | undefined;
  readonly #guests = new Set<string>();

  constructor(readonly name: string, readonly start: Start) {
    this.#channel = new BroadcastChannel(lockName(name));
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data);
    this.#connected = this.#newConnection();
    // The host would consider a guest gone that does not hold its lock yet.
    this.#hold(this.#presence(this.#id), () => {
      this.#isPresent = true;
      this.#hold(lockName(name), () => this.#becomeHost());
      this.#say({ kind: 'where' });
    });
  }

  async call<O extends Operation>(
    operation: O, ...args: globalThis.Parameters<Operations[O]>
  ): Promise<ReturnType<Operations[O]>> {
    await this.#connected;
    const result = await this.#send(operation, args);
    if (operation === 'open') this.#opening = args as Opening;
    if (operation === 'close') this.#opening = undefined;
    return result;
  }

  close(): void {
    this.#ended.abort();
    this.#worker?.end();
    this.#calls.rejectAll(new StrongroomError('misuse', 'the database is closed'));
    this.#channel.close();
  }

  #send<O extends Operation>(
    operation: O, args: globalThis.Parameters<Operations[O]>,
  ): Promise<ReturnType<Operations[O]>> {
    if (this.#worker) return this.#worker.call(operation, ...args);
    const host = this.#host!;
    return this.#calls.make(this.#id, operation, args, (call) =>
      this.#say({ kind: 'call', host, call }));
  }

  #hear(message: Message): void {
    switch (message.kind) {
      case 'where':
        if (this.#worker) this.#say({ kind: 'here', host: this.#id });
        return;
      case 'here':
        if (this.#isPresent) this.#follow(message.host);
        return;
      case 'call':
        if (this.#worker && message.host === this.#id) this.#serve(this.#worker, message.call);
        return;
      case 'answer':
        if (message.answer.client === this.#id) this.#calls.settle(message.answer);
    }
  }

  #becomeHost(): void {
    this.#worker = new OwnWorker(this.start);
    this.#worker.onforeign = (answer) => this.#say({ kind: 'answer', answer });
    this.#follow(this.#id);
    this.#say({ kind: 'here', host: this.#id });
  }

  /** Switches to a host, which reopens the connection. */
  #follow(host: string): void {
    if (this.#host === host) return;
    const isFirst = this.#host === undefined;
    this.#host = host;
    if (!isFirst) {
      this.#connected = this.#newConnection();
      this.#calls.rejectAll(new StrongroomError(
        'host-closed',
        'the tab that had the database open was closed: what was not committed is undone; try again',
      ));
    }
    const connect = this.#connect;
    const opened = this.#opening ? this.#send('open', this.#opening) : Promise.resolve();
    opened.then(() => connect?.resolve(), (error: unknown) => connect?.reject(error));
  }

  #newConnection(): Promise<void> {
    const connected = new Promise<void>((resolve, reject) => {
      this.#connect = { resolve, reject };
    });
    // The caller gets the error.
    connected.catch(() => undefined);
    return connected;
  }

  #serve(worker: OwnWorker, call: Call): void {
    worker.forward(call);
    if (this.#guests.has(call.client)) return;
    this.#guests.add(call.client);
    // Granted when the guest's tab is gone, possibly in the middle of a transaction.
    this.#hold(this.#presence(call.client), (release) => {
      this.#guests.delete(call.client);
      worker.forward({ client: call.client, id: 0, operation: 'close', arguments: [] });
      release();
    });
  }

  #presence(client: string): string {
    return `${lockName(this.name)}:${client}`;
  }

  /** Acquires a lock once it is free, until the transport or the holder releases it. */
  #hold(name: string, begin: (release: () => void) => void): void {
    const { signal } = this.#ended;
    const held = navigator.locks.request(name, { signal }, () =>
      new Promise<void>((release) => {
        signal.addEventListener('abort', () => release());
        begin(release);
      }));
    // Aborted because it was closed before the lock was granted.
    held.catch(() => undefined);
  }

  #say(message: Message): void {
    // The channel of a closed transport must not be used.
    if (!this.#ended.signal.aborted) this.#channel.postMessage(message);
  }
}

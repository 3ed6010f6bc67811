// Scheduling of connections of one worker that have the same database open.
//
// SQLite would return SQLITE_BUSY to a connection while another one writes, and a worker that waits
// inside a call cannot receive the message that would end the transaction. So clients wait here: a
// client keeps its turn until its transaction or statement has ended.

import { StrongroomError } from './errors.js';

interface Waiting {
  readonly client: string;
  readonly begin: () => void;
}

export class Turns {
  #holder: string | undefined;
  readonly #waiting: Waiting[] = [];

  constructor(readonly wait_ms: number) {}

  /** Begins or continues the turn of a client. */
  async take(client: string): Promise<void> {
    if (this.#holder === undefined || this.#holder === client) {
      this.#holder = client;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const waiting = { client, begin: () => { clearTimeout(timer); resolve(); } };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        const seconds = this.wait_ms / 1000;
        reject(new StrongroomError('busy', `a transaction of another tab has lasted ${seconds} s`));
      }, this.wait_ms);
      this.#waiting.push(waiting);
    });
  }

  /** Ends the turn of a client, if it has it. */
  give(client: string): void {
    if (this.#holder !== client) return;
    const next = this.#waiting.shift();
    this.#holder = next?.client;
    next?.begin();
  }
}

// Measures ciphers, key derivation and opening; asserts nothing.

import { Database } from '../src/database.js';
import { Probe } from './probe.js';
import { CIPHERS, created, engine, KEY } from './support.js';

const PAGE_SIZE = 4064;
const PAGES = 2000;
const ROUNDS = 15;

function median(samples: number[]): number {
  return samples.sort((one, other) => one - other)[samples.length >> 1]!;
}

function timed(call: () => unknown): number {
  const start = performance.now();
  call();
  return performance.now() - start;
}

export const measureTasks = {
  /** Microseconds per page, milliseconds per derivation and opening. */
  async costs(): Promise<Record<string, number>> {
    const probe = new Probe(await engine('probe.wasm'));
    const costs: Record<string, number> = {};
    const page = new Uint8Array(PAGE_SIZE).fill(0x5a);
    for (const cipher of CIPHERS) {
      const unit = {
        cipher, key: KEY, nonce: KEY.subarray(0, 12), associated: KEY.subarray(0, 20),
        kind: 1, location: 5, context: 0,
      };
      const { tag, ciphertext } = probe.seal(unit, page, 200);
      probe.open(unit, tag, ciphertext, 200);
      const rounds = (call: () => unknown) =>
        median(Array.from({ length: ROUNDS }, () => (timed(call) / PAGES) * 1000));
      costs[`${cipher}, seal, µs`] = rounds(() => probe.seal(unit, page, PAGES));
      costs[`${cipher}, open, µs`] = rounds(() => probe.open(unit, tag, ciphertext, PAGES));
    }
    const derive = (memory: number, passes: number) =>
      median(Array.from({ length: 5 }, () => timed(() => probe.argon2id(memory, passes))));
    costs['argon2id, 64 MiB, 3 passes, ms'] = derive(64 * 1024, 3);
    const on = await engine();
    const opened: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      await (await created(on, 'empty.db')).close();
      const start = performance.now();
      const database = await Database.open(on, 'empty.db', { key: KEY });
      opened.push(performance.now() - start);
      await database.close();
    }
    costs['opening with a raw key, ms'] = median(opened);
    return costs;
  },
};

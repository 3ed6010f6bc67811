// Runs every page of vectors/crypto/ through the module's ciphers.

import { equal, isTrue } from './assert.js';
import { Probe, type Unit } from './probe.js';
import { CIPHERS, engine } from './support.js';

interface Sealed {
  readonly cipher: Unit['cipher'];
  readonly ciphertext: string;
  readonly tag: string;
}

interface PageCheck {
  readonly operation: 'page';
  readonly key: string;
  readonly nonce: string;
  readonly kind: number;
  readonly location: number;
  readonly context: number;
  readonly associated: string;
  readonly sealed: readonly Sealed[];
  readonly outcome: { readonly class: string; readonly plaintext?: string };
}

function bytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

async function fetched<T>(name: string): Promise<T> {
  const response = await fetch(new URL(`../vectors/${name}`, import.meta.url));
  equal(response.status, 200, name);
  return response.json() as Promise<T>;
}

function check(probe: Probe, name: string, vector: PageCheck): void {
  for (const sealed of vector.sealed) {
    const unit: Unit = {
      cipher: sealed.cipher, kind: vector.kind, location: vector.location, context: vector.context,
      key: bytes(vector.key), nonce: bytes(vector.nonce), associated: bytes(vector.associated),
    };
    const what = `${name}, ${sealed.cipher}`;
    const [tag, ciphertext] = [bytes(sealed.tag), bytes(sealed.ciphertext)];
    const opened = probe.open(unit, tag, ciphertext);
    if (vector.outcome.plaintext === undefined) {
      isTrue(opened === undefined, `${what} opens`);
      continue;
    }
    equal(opened, bytes(vector.outcome.plaintext), what);
    equal(probe.seal(unit, opened!), { tag, ciphertext }, what);
  }
}

export const vectorTests = {
  async 'vectors of pages'(): Promise<void> {
    const probe = new Probe(await engine('probe.wasm'));
    const names = await fetched<string[]>('names.json');
    let count = 0;
    for (const name of names) {
      const vector = await fetched<{ check: PageCheck | { operation: string } }>(name);
      if (vector.check.operation !== 'page') continue;
      check(probe, name, vector.check as PageCheck);
      count += 1;
    }
    isTrue(count >= 15, `only ${count} vectors of pages`);
  },

  /** Every length around the borders of blocks and of the groups that ciphers work on. */
  async 'pages of every length come back, and damaged ones do not'(): Promise<void> {
    const probe = new Probe(await engine('probe.wasm'));
    for (const cipher of CIPHERS) {
      for (const size of [0, 1, 15, 16, 17, 63, 64, 65, 191, 192, 193, 447, 448, 449, 480, 4064, 65_504]) {
        const unit: Unit = {
          cipher, kind: 1, location: size, context: 7,
          key: crypto.getRandomValues(new Uint8Array(32)),
          nonce: crypto.getRandomValues(new Uint8Array(12)),
          associated: crypto.getRandomValues(new Uint8Array(size % 60)),
        };
        const plaintext = crypto.getRandomValues(new Uint8Array(size));
        const { tag, ciphertext } = probe.seal(unit, plaintext);
        equal(probe.open(unit, tag, ciphertext), plaintext, `${cipher}, ${size} bytes`);
        const damaged = tag.map((byte, index) => (index === size % 16 ? byte ^ 1 : byte));
        isTrue(probe.open(unit, damaged, ciphertext) === undefined, `${cipher}, ${size} bytes`);
      }
    }
  },
};

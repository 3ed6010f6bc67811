// Ciphers of the module without a database: the exports of crates/browser/src/probe.rs.

import type { Exports } from '../src/abi.js';
import type { Engine } from '../src/engine.js';
import { isTrue } from './assert.js';
import { CIPHERS } from './support.js';

interface ProbeExports extends Exports {
  probe_seal(unit: number, count: number): number;
  probe_open(unit: number, count: number): number;
  probe_argon2id(memoryKib: number, passes: number): number;
}

/** One sealed unit but for its content. */
export interface Unit {
  readonly cipher: (typeof CIPHERS)[number];
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly associated: Uint8Array;
  readonly kind: number;
  readonly location: number;
  readonly context: number;
}

const TAG_SIZE = 16;

export class Probe {
  constructor(readonly engine: Engine) {}

  seal(unit: Unit, plaintext: Uint8Array, count = 1): { tag: Uint8Array; ciphertext: Uint8Array } {
    const output = this.#run(unit, plaintext, plaintext.length, TAG_SIZE + plaintext.length, (exports, at) =>
      exports.probe_seal(at, count));
    if (!output) throw new Error(`${unit.cipher} does not seal`);
    return { tag: output.slice(0, TAG_SIZE), ciphertext: output.slice(TAG_SIZE) };
  }

  /** The plaintext; undefined where it is not authentic. */
  open(unit: Unit, tag: Uint8Array, ciphertext: Uint8Array, count = 1): Uint8Array | undefined {
    const input = new Uint8Array([...tag, ...ciphertext]);
    return this.#run(unit, input, ciphertext.length, ciphertext.length, (exports, at) =>
      exports.probe_open(at, count));
  }

  argon2id(memoryKib: number, passes: number): void {
    const code = this.engine.call((exports) =>
      (exports as ProbeExports).probe_argon2id(memoryKib, passes));
    isTrue(code === 1, 'no key was derived');
  }

  /** The output where the call says 1. Fields lie as `repr(C)` of `Unit` has them. */
  #run(
    unit: Unit, input: Uint8Array, size: number, outputSize: number,
    call: (exports: ProbeExports, at: number) => number,
  ): Uint8Array | undefined {
    const { engine } = this;
    const fields = new Uint8Array(56);
    return engine.with(unit.key, (key) => engine.with(unit.nonce, (nonce) =>
      engine.with(unit.associated, (associated) => engine.with(input, (from) =>
        engine.with(new Uint8Array(outputSize), (to) => engine.with(fields, (at) => {
          const data = engine.data();
          data.setUint32(at, CIPHERS.indexOf(unit.cipher) + 1, true);
          data.setUint32(at + 4, unit.kind, true);
          data.setBigUint64(at + 8, BigInt(unit.location), true);
          data.setBigUint64(at + 16, BigInt(unit.context), true);
          const rest = [key, nonce, associated, unit.associated.length, from, to, size];
          for (const [index, field] of rest.entries()) data.setUint32(at + 24 + 4 * index, field, true);
          const code = engine.call((exports) => call(exports as ProbeExports, at));
          return code === 1 ? engine.view(to, outputSize).slice() : undefined;
        }))))));
  }
}

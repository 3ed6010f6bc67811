// Assertions; the test reports what they throw.

import { StrongroomError, type ErrorCode } from '../src/errors.js';

export class AssertionError extends Error {}

export function fail(message: string): never {
  throw new AssertionError(message);
}

export function isTrue(condition: boolean, message: string): void {
  if (!condition) fail(message);
}

/** Compares by what JSON shows; integers of type bigint as numbers, bytes as lists of numbers. */
export function equal(actual: unknown, expected: unknown, message = ''): void {
  const [one, other] = [shown(actual), shown(expected)];
  if (one !== other) fail(`${message}: ${one.slice(0, 300)} where ${other.slice(0, 300)} was expected`);
}

function shown(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'bigint') return Number(inner);
    return inner instanceof Uint8Array ? [...inner] : inner;
  }) ?? 'undefined';
}

/** The error of a call, which must be a StrongroomError with this code. */
export async function refused(
  code: ErrorCode,
  call: () => unknown,
  words: readonly string[] = [],
): Promise<StrongroomError> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof StrongroomError)) throw error;
    if (error.code !== code) fail(`refused as ${error.code}, not ${code}: ${error.message}`);
    for (const word of words) {
      isTrue(error.message.includes(word), `"${word}" is not in "${error.message}"`);
    }
    return error;
  }
  return fail(`not refused as ${code}`);
}

/** An error in one line, with its origin unless tests expect it. */
export function described(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack?.split('\n').filter((line) => line.includes('/tests/')) ?? [];
  return `${error.name}: ${error.message} (${stack.map((line) => line.replace(/.*\/tests\//, '')).join(', ')})`;
}

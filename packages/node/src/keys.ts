// Validates the caller's keys; no error repeats one.
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { StrongroomError } from './errors.js';

/** A path, or a `file:` URL. */
export type Path = string | URL;

type Kind = 'keyFile' | 'passphraseFile' | 'key' | 'passphrase';

/** Exactly one kind of key. */
type Only<K extends Kind, Value> = { readonly [name in K]: Value } & {
  readonly [name in Exclude<Kind, K>]?: never;
};

/** A key or a passphrase in a file, which the extension reads by itself. */
export type FileKey =
  /** A file with a key: 32 bytes, or 64 hexadecimal digits. */
  | Only<'keyFile', Path>
  /** A file with a passphrase; a trailing newline is ignored. */
  | Only<'passphraseFile', Path>;

/** A key or a passphrase that the program has in its memory. */
export type MemoryKey =
  /** 32 bytes, or 64 hexadecimal digits. */
  | Only<'key', Uint8Array | string>
  /** Text of 1 to 4,094 bytes in UTF-8. */
  | Only<'passphrase', string>;

/** What opens a database. */
export type Key = FileKey | MemoryKey;

/** A key in the form that the extension accepts. */
export type Given =
  | { readonly source: 'key_file' | 'passphrase_file'; readonly path: string }
  | { readonly source: 'key_env' | 'passphrase_env'; readonly secret: string };

const KINDS: readonly Kind[] = ['keyFile', 'passphraseFile', 'key', 'passphrase'];

const KEY_SIZE = 32;

/** The extension reads 4,096 bytes; two of them are the newline that is added here. */
const PASSPHRASE_SIZE_MAX = 4094;

/**
 * The extension removes one trailing newline from a variable's value: this one, which protects a
 * newline at the end of the passphrase.
 */
const LINE_END = '\r\n';

/** Validates the key, since plain JavaScript may pass anything. */
export function given(key: Key): Given {
  const values: Partial<Record<Kind, unknown>> =
    typeof key === 'object' && key !== null ? key : {};
  const kinds = KINDS.filter((kind) => values[kind] !== undefined);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw misuse('give one of keyFile, passphraseFile, key and passphrase');
  }
  const value = values[kind];
  switch (kind) {
    case 'keyFile':
      return { source: 'key_file', path: absolute(value, 'keyFile') };
    case 'passphraseFile':
      return { source: 'passphrase_file', path: absolute(value, 'passphraseFile') };
    case 'key':
      return { source: 'key_env', secret: digits(value) + LINE_END };
    case 'passphrase':
      return { source: 'passphrase_env', secret: text(value) + LINE_END };
  }
}

/** The path of a file. */
export function absolute(path: unknown, what: string): string {
  if (path instanceof URL) return fileURLToPath(path);
  if (typeof path !== 'string' || path === '' || path.includes('\0')) {
    throw misuse(`${what} is a path or a file: URL`);
  }
  return resolve(path);
}

/** The error for invalid arguments. */
export function misuse(message: string): StrongroomError {
  return new StrongroomError('misuse', message);
}

function digits(key: unknown): string {
  if (key instanceof Uint8Array && key.length === KEY_SIZE) {
    return Buffer.from(key.buffer, key.byteOffset, key.length).toString('hex');
  }
  if (typeof key === 'string' && /^[0-9a-f]{64}$/iu.test(key)) return key;
  throw misuse('a key is a Uint8Array of 32 bytes, or 64 hexadecimal digits');
}

function text(passphrase: unknown): string {
  const size = typeof passphrase === 'string' ? Buffer.byteLength(passphrase) : 0;
  if (
    typeof passphrase !== 'string' ||
    size < 1 ||
    size > PASSPHRASE_SIZE_MAX ||
    passphrase.includes('\0') ||
    // Lone surrogates, which UTF-8 cannot encode.
    /\p{Surrogate}/u.test(passphrase)
  ) {
    throw misuse(
      `a passphrase is text of 1 to ${PASSPHRASE_SIZE_MAX} bytes in UTF-8, without a zero byte`,
    );
  }
  return passphrase;
}

/** The ciphers of a new database. */
export type Cipher = 'aegis-256x2' | 'aegis-256' | 'aes-256-gcm' | 'xchacha20-poly1305';

/** How a database is opened. */
export interface OpenOptions {
  /** The cipher of a new database; `aegis-256x2` by default. */
  readonly cipher?: Cipher | undefined;
  /** `false`: it is an error if the file does not exist or is empty. */
  readonly create?: boolean | undefined;
  /** `true`: nothing is written. */
  readonly readOnly?: boolean | undefined;
  /** `true`: `PRAGMA rekey` and similar pragmas may change the keys of the file. */
  readonly keysInSql?: boolean | undefined;
}

const CIPHERS: ReadonlySet<string> = new Set<Cipher>([
  'aegis-256x2',
  'aegis-256',
  'aes-256-gcm',
  'xchacha20-poly1305',
]);

/** Whether this is the name of a cipher, since plain JavaScript may pass anything. */
export function isCipher(name: unknown): name is Cipher {
  return typeof name === 'string' && CIPHERS.has(name);
}

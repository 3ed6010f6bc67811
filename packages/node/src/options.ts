/** The ciphers of a new database. */
export type Cipher = 'aegis-256x2' | 'aegis-256' | 'aes-256-gcm' | 'xchacha20-poly1305';

/** How a database is opened. */
export interface OpenOptions {
  /** Of a new database; `aegis-256x2` if not given. */
  readonly cipher?: Cipher | undefined;
  /** `false`: a file that does not exist, or is empty, is an error. */
  readonly create?: boolean | undefined;
  /** `true`: nothing is written. */
  readonly readOnly?: boolean | undefined;
  /** `true`: `PRAGMA rekey` and its kin may change the keys of the file. */
  readonly keysInSql?: boolean | undefined;
}

const CIPHERS: ReadonlySet<string> = new Set<Cipher>([
  'aegis-256x2',
  'aegis-256',
  'aes-256-gcm',
  'xchacha20-poly1305',
]);

/** Whether this is the name of a cipher. Plain JavaScript may give anything. */
export function isCipher(name: unknown): name is Cipher {
  return typeof name === 'string' && CIPHERS.has(name);
}

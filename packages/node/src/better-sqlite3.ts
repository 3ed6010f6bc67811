// Support for better-sqlite3, which accepts no URI: Strongroom becomes the default VFS of its
// SQLite, and the key is in environment variables while a database is opened.
import { type Connection, check } from './check.js';
import { load } from './extension.js';
import { type FileKey, type Path, absolute, given, misuse } from './keys.js';
import { type OpenOptions, isCipher } from './options.js';
import { withVariables } from './variables.js';

/** The class that better-sqlite3 exports. */
export type BetterSqlite3<Database extends object, Options extends object> = new (
  file: string,
  options?: Options,
) => Database;

/** The options of `openBetterSqlite3`, with those of the class. */
export type BetterSqlite3Options<Options extends object> = Omit<OpenOptions, 'keysInSql'> &
  Omit<Options, 'readonly' | 'fileMustExist'>;

type Loading = Connection & { loadExtension(path: string): unknown };

/** The classes whose SQLite has the extension. */
const loaded = new WeakSet<object>();

/**
 * Opens an encrypted database with better-sqlite3, or creates one, and checks the key at once. The
 * key must be in a file: nothing else can be passed to the extension there.
 */
export function openBetterSqlite3<Database extends object, Options extends object>(
  Class: BetterSqlite3<Database, Options>,
  path: Path,
  key: FileKey,
  options: BetterSqlite3Options<Options> = {} as Options,
): Database {
  const { cipher, create = true, readOnly = false, ...rest } = options;
  const credential = given(key);
  if ('secret' in credential) {
    throw misuse('better-sqlite3 takes keyFile or passphraseFile; use open() for other keys');
  }
  if (cipher !== undefined && !isCipher(cipher)) throw misuse('there is no cipher of this name');
  const file = absolute(path, 'the second argument');
  const settings = rest as unknown as Options;
  if (!loaded.has(Class)) {
    const loader = new Class(':memory:', settings) as Loading;
    try {
      withVariables({ STRONGROOM_DEFAULT: '1' }, () => load(loader));
    } finally {
      loader.close();
    }
    loaded.add(Class);
  }
  const isKey = credential.source === 'key_file';
  const variables = {
    STRONGROOM_KEY_FILE: isKey ? credential.path : undefined,
    STRONGROOM_KEY_COMMAND: undefined,
    STRONGROOM_PASSPHRASE_FILE: isKey ? undefined : credential.path,
  };
  return withVariables(variables, () => {
    const how = { ...settings, readonly: readOnly, fileMustExist: !create };
    const database = new Class(file, how);
    const state = check(database as Connection, create);
    if (state === 'new' && cipher !== undefined) {
      // `cipher` is one of four names. An existing database keeps its cipher.
      (database as Connection).prepare(`PRAGMA strongroom_cipher='${cipher}'`).get();
    }
    return database;
  });
}

// Support for Node's own node:sqlite. A URI carries the key's source and all options, but no
// secret.
import process from 'node:process';
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

import { type Connection, check } from './check.js';
import { StrongroomError } from './errors.js';
import { load } from './extension.js';
import { type Key, type Path, absolute, given, misuse } from './keys.js';
import { type OpenOptions, isCipher } from './options.js';
import { withVariables } from './variables.js';

/** The options of `open`, with those of `DatabaseSync`. */
export type NodeSqliteOptions = OpenOptions & Omit<DatabaseSyncOptions, 'open' | 'readOnly'>;

/**
 * The environment variable with the secret while a database is opened. The name is always the same,
 * because C libraries keep the memory of every variable that was ever set.
 */
const VARIABLE = 'STRONGROOM_NODE_SECRET';

let isLoaded = false;

/** Opens an encrypted database with `node:sqlite`, or creates one, and checks the key at once. */
export function open(path: Path, key: Key, options: NodeSqliteOptions = {}): DatabaseSync {
  const { cipher, create = true, readOnly = false, keysInSql = false, ...rest } = options;
  const credential = given(key);
  const parameters: Record<string, string> = {
    vfs: 'strongroom',
    mode: readOnly ? 'ro' : create ? 'rwc' : 'rw',
    // Always set, since the environment may say otherwise.
    keys_in_sql: keysInSql ? 'on' : 'off',
  };
  if (cipher !== undefined) {
    if (!isCipher(cipher)) throw misuse('there is no cipher of this name');
    parameters['cipher'] = cipher;
  }
  const isSecret = 'secret' in credential;
  parameters[credential.source] = isSecret ? VARIABLE : credential.path;
  const url = pathToFileURL(absolute(path, 'the first argument'));
  // Not with searchParams, whose encoding of a space SQLite does not decode.
  url.search = Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  const { DatabaseSync } = sqlite();
  if (!isLoaded) {
    const loader = new DatabaseSync(':memory:', { allowExtension: true });
    try {
      load(loader);
    } finally {
      loader.close();
    }
    isLoaded = true;
  }
  const connect = (): DatabaseSync => new DatabaseSync(url, { ...rest, readOnly });
  const database = isSecret
    ? withVariables({ [VARIABLE]: credential.secret }, connect)
    : connect();
  check(database as Connection, create);
  return database;
}

function sqlite(): typeof import('node:sqlite') {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  // The first version of each release line whose DatabaseSync accepts a URL.
  const takesUrls = major > 23 || (major === 23 && minor >= 10) || (major === 22 && minor >= 15);
  const module = takesUrls ? process.getBuiltinModule('node:sqlite') : undefined;
  if (module === undefined) {
    throw new StrongroomError(
      'not-supported',
      `Node ${process.versions.node} has no node:sqlite that opens URLs: use Node 22.15 or ` +
        'newer, or openBetterSqlite3()',
    );
  }
  return module;
}

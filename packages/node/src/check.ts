// Checks a new connection: the extension lets any file be opened, and refuses access to its content
// afterwards.
import { isMainThread } from 'node:worker_threads';

import { StrongroomError } from './errors.js';

/** The methods that the connections of all clients have. */
export interface Connection {
  prepare(sql: string): { get(): unknown };
  close(): unknown;
}

interface Status {
  readonly state?: string;
  readonly key?: boolean;
}

/** Closes the connection and throws, unless the file is encrypted and open, or new with a key. */
export function check(connection: Connection, mayCreate: boolean): 'encrypted' | 'new' {
  try {
    return state(connection, mayCreate);
  } catch (error) {
    connection.close();
    throw error;
  }
}

function state(connection: Connection, mayCreate: boolean): 'encrypted' | 'new' {
  const answer = ask(connection, 'strongroom_status');
  if (answer === undefined) {
    throw new StrongroomError('unusable', `this connection does not use Strongroom${hint()}`);
  }
  const status = JSON.parse(answer) as Status;
  if (status.state === 'new' && !mayCreate) {
    throw new StrongroomError('unusable', 'the file is empty: there is no database in it');
  }
  if (status.state === 'encrypted') return 'encrypted';
  if (status.state === 'new' && status.key === true) return 'new';
  const reason = ask(connection, 'strongroom_last_error') || 'the database does not open';
  // It may also be locked because a key could not be read.
  throw reason.startsWith('wrong key')
    ? new StrongroomError('wrong-key', reason)
    : new StrongroomError('unusable', reason + hint());
}

function ask(connection: Connection, pragma: string): string | undefined {
  const row = connection.prepare(`PRAGMA ${pragma}`).get();
  if (typeof row !== 'object' || row === null) return undefined;
  // An object, or an array if the caller has configured that.
  const [value] = Object.values(row) as unknown[];
  return typeof value === 'string' ? value : undefined;
}

/** A worker has its own copy of the environment, but native code sees that of the process. */
function hint(): string {
  return isMainThread
    ? ''
    : '. In a worker thread variables of the environment do not reach the extension: use ' +
        'node:sqlite with keyFile or passphraseFile, or start the worker with env: SHARE_ENV';
}

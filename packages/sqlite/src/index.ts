// Encrypted SQLite for a page. See README.md.

import { Connection } from './connection.js';
import type { OpenOptions as WorkerOptions } from './types.js';
import { StrongroomError } from './errors.js';
import { exists, locate, remove as removeFiles } from './names.js';
import { deviceKey, passkeyKey } from './keys.js';
import { SharedTransport } from './tabs.js';
import { OwnTransport, withLock } from './transport.js';

export { Connection, PreparedStatement, Session, type RunResult } from './connection.js';
export type { Cipher, Parameters, Row, Value } from './types.js';
export { StrongroomError, type ErrorCode } from './errors.js';
export { exists } from './names.js';
export {
  createPasskey, deviceKey, forgetDeviceKey, passkeyKey, passkeysGiveKeys, type PasskeyOptions,
} from './keys.js';
export type { Secret, Slot } from './protocol.js';

const MEMORY = ':memory:';

export interface OpenOptions extends Omit<WorkerOptions, 'shared'> {
  /** The name of a key stored in this browser's profile: see `deviceKey`. */
  deviceKey?: string;
  /** The identifier of a passkey: see `createPasskey`. */
  passkey?: Uint8Array<ArrayBuffer>;
  /**
   * If another tab has the database open: `refuse` (an error), `wait` for it, or `share` it. Shared
   * databases have a rollback journal, not a write-ahead log.
   */
  tabs?: 'refuse' | 'wait' | 'share';
  /** The URL of `strongroom.wasm`, or its bytes, unless a bundler provides it. */
  module?: string | URL | BufferSource;
}

/** Opens a database of this origin, or `:memory:`; creates it if it does not exist. */
export async function open(name: string, options: OpenOptions = {}): Promise<Connection> {
  const { tabs = 'refuse', module: place, deviceKey: device, passkey, ...rest } = options;
  const source = place ?? new URL('./strongroom.wasm', import.meta.url);
  // Checked by its properties: a URL from another tab is an instance of another class.
  const start = { module: typeof source === 'object' && 'href' in source ? source.href : source };
  const isShared = tabs === 'share' && name !== MEMORY;
  const opening: WorkerOptions = { ...rest, ...(isShared && { shared: true }) };
  const given = [rest.passphrase, rest.key, device, passkey].filter((one) => one !== undefined);
  if (given.length > 1) {
    throw new StrongroomError('misuse', 'several keys are given: give one');
  }
  if (device !== undefined) opening.key = await deviceKey(device);
  if (passkey !== undefined) opening.key = await passkeyKey(name, passkey);
  const transport = isShared
    ? new SharedTransport(name, start)
    : name === MEMORY
      ? OwnTransport.alone(start)
      : await OwnTransport.take(name, start, tabs === 'wait');
  try {
    await transport.call('open', name, opening);
  } catch (error) {
    await transport.close();
    throw error;
  }
  return new Connection(name, transport);
}

/**
 * Creates a database from the bytes of a file, as returned by `export` or written by a native
 * program. An existing one is not overwritten: remove it first.
 */
export function importFile(name: string, bytes: Blob | ArrayBuffer): Promise<void> {
  return withLock(name, async () => {
    if (await exists(name)) {
      throw new StrongroomError('exists', `${name} is there already: remove it first`);
    }
    const { folder, last } = await locate(name, true);
    // Renamed when it is complete.
    const part = await folder.getFileHandle(`${last}-import`, { create: true });
    const stream = await part.createWritable();
    try {
      await stream.write(bytes);
      await stream.close();
      await (part as unknown as { move(name: string): Promise<void> }).move(last);
    } catch (error) {
      await stream.abort().catch(() => undefined);
      await folder.removeEntry(`${last}-import`).catch(() => undefined);
      throw error;
    }
  });
}

/** Removes a database that no tab has open. */
export function remove(name: string): Promise<void> {
  return withLock(name, () => removeFiles(name));
}

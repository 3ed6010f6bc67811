// Databases opened with a passkey: steps of a test whose other side provides a virtual
// authenticator.

import {
  createPasskey, open, passkeyKey, passkeysGiveKeys, remove, type Connection,
} from '../src/index.js';
import { equal, isTrue, refused } from './assert.js';

const NAME = 'passkey.db';
const module = new URL('../strongroom.wasm', import.meta.url);
const person = { user: 'somebody', application: 'Tests' };

function opened(passkey: Uint8Array<ArrayBuffer>): Promise<Connection> {
  return open(NAME, { passkey, module });
}

export const passkeySteps: Record<string, (argument: never) => Promise<unknown>> = {
  /** The passkey's identifier. */
  'passkeys open databases': async (): Promise<number[]> => {
    equal(await passkeysGiveKeys(), true);
    await remove(NAME);
    const passkey = await createPasskey(person);
    const db = await opened(passkey);
    await db.exec('CREATE TABLE t(n); INSERT INTO t VALUES (42)');
    equal((await db.keys()).map(({ kind }) => kind), ['raw-key']);
    equal(await db.addKey({ passphrase: 'beside' }), 1);
    await db.close();

    const again = await opened(passkey);
    equal(await again.queryValue('SELECT n FROM t'), 42);
    await again.close();
    await (await open(NAME, { passphrase: 'beside', module })).close();

    const another = await createPasskey({ ...person, user: 'another' });
    await refused('wrong-key', () => opened(another));
    await refused('no-passkey', () => opened(passkey.map((byte) => byte ^ 0xff)));
    // Each database has a key of its own.
    const [one, other] = [await passkeyKey(NAME, passkey), await passkeyKey('other.db', passkey)];
    equal([one.length, other.length], [32, 32]);
    isTrue(one.some((byte, at) => byte !== other[at]), 'two databases have the same key');
    equal(await passkeyKey(NAME, passkey), one);
    return [...passkey];
  },

  'an authenticator without keys is refused': async (): Promise<null> => {
    await refused('no-passkey', () => createPasskey(person));
    return null;
  },

  'a user who is not verified opens nothing': async (passkey: number[]): Promise<null> => {
    await refused('no-passkey', () => opened(Uint8Array.from(passkey)));
    const db = await open(NAME, { passphrase: 'beside', module });
    equal(await db.queryValue('SELECT n FROM t'), 42);
    await db.close();
    return null;
  },
};

// Keys that a browser stores: each opens a raw-key slot, as such a key does in native programs.

import { StrongroomError } from './errors.js';

const STORE = 'keys';
const encoder = new TextEncoder();

interface Kept {
  /** Not exportable, even by scripts of this origin. */
  readonly wrapping: CryptoKey;
  readonly iv: Uint8Array<ArrayBuffer>;
  readonly wrapped: ArrayBuffer;
}

/**
 * A named key in this browser's profile, created on first use.
 *
 * The key that opens the database is stored wrapped under a WebCrypto key that no script can
 * export. Whoever can read the disk finds both, since browsers store such keys in the profile.
 */
export async function deviceKey(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const store = await KeyStore.open();
  try {
    const kept = await store.get(name) ?? await store.putNew(name, await newKept());
    const { wrapping, iv, wrapped } = kept;
    return new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, wrapping, wrapped));
  } finally {
    store.close();
  }
}

/** Deletes a key of this profile: databases that only it opens are lost. */
export async function forgetDeviceKey(name: string): Promise<void> {
  const store = await KeyStore.open();
  try {
    await store.delete(name);
  } finally {
    store.close();
  }
}

async function newKept(): Promise<Kept> {
  const algorithm = { name: 'AES-GCM', length: 256 };
  const wrapping = await crypto.subtle.generateKey(algorithm, false, ['encrypt', 'decrypt']);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const key = crypto.getRandomValues(new Uint8Array(32));
  const wrapped = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, wrapping, key);
  key.fill(0);
  return { wrapping, iv, wrapped };
}

/** The keys of this origin, in IndexedDB. */
class KeyStore {
  private constructor(readonly database: IDBDatabase) {}

  static async open(): Promise<KeyStore> {
    const request = indexedDB.open('strongroom', 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE);
    return new KeyStore(await ended(request));
  }

  get(name: string): Promise<Kept | undefined> {
    return ended(this.#store('readonly').get(name));
  }

  /** Stores a key, unless another tab was faster; returns the stored one. */
  async putNew(name: string, kept: Kept): Promise<Kept> {
    const store = this.#store('readwrite');
    const there = await ended(store.get(name) as IDBRequest<Kept | undefined>);
    if (there) return there;
    await ended(store.put(kept, name));
    return kept;
  }

  async delete(name: string): Promise<void> {
    await ended(this.#store('readwrite').delete(name));
  }

  close(): void {
    this.database.close();
  }

  #store(mode: IDBTransactionMode): IDBObjectStore {
    return this.database.transaction(STORE, mode, { durability: 'strict' }).objectStore(STORE);
  }
}

function ended<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(new StrongroomError(
      'no-storage', `the browser keeps no keys for this page: ${request.error}`));
  });
}

/** The user and application of a passkey. */
export interface PasskeyOptions {
  /** The name that the browser shows. */
  readonly user: string;
  /** The application's name. */
  readonly application: string;
  /** The domain; by default that of the page. */
  readonly domain?: string;
}

/** Whether passkeys of this browser can derive keys (WebAuthn's extension PRF). */
export async function passkeysGiveKeys(): Promise<boolean> {
  const known = globalThis.PublicKeyCredential as
    | { getClientCapabilities?: () => Promise<Record<string, boolean>> }
    | undefined;
  const capabilities = await known?.getClientCapabilities?.();
  return capabilities?.['extension:prf'] ?? false;
}

/**
 * Creates a passkey; returns its identifier, which must be stored and passed to `passkeyKey`. A
 * user can delete a passkey, so add another key to the database.
 */
export async function createPasskey(options: PasskeyOptions): Promise<Uint8Array<ArrayBuffer>> {
  const credential = await asked(() => navigator.credentials.create({
    publicKey: {
      rp: { name: options.application, ...(options.domain && { id: options.domain }) },
      user: {
        id: crypto.getRandomValues(new Uint8Array(16)),
        name: options.user,
        displayName: options.user,
      },
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      // ES256 and RS256, which authenticators support. The key does not come from the signature.
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }, { type: 'public-key', alg: -257 }],
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      extensions: { prf: {} },
    },
  }));
  if (!credential?.getClientExtensionResults().prf?.enabled) throw noPrf();
  return new Uint8Array(credential.rawId);
}

/** The key that a passkey derives for a database; the browser asks the user. */
export async function passkeyKey(
  name: string, id: Uint8Array<ArrayBuffer>, domain?: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const salt = await crypto.subtle.digest('SHA-256', encoder.encode(`strongroom passkey\0${name}`));
  const credential = await asked(() => navigator.credentials.get({
    publicKey: {
      challenge: crypto.getRandomValues(new Uint8Array(32)),
      allowCredentials: [{ type: 'public-key', id }],
      userVerification: 'required',
      extensions: { prf: { eval: { first: salt } } },
      ...(domain && { rpId: domain }),
    },
  }));
  const first = credential?.getClientExtensionResults().prf?.results?.first;
  if (!first) throw noPrf();
  const secret = await crypto.subtle.importKey('raw', first, 'HKDF', false, ['deriveBits']);
  const info = encoder.encode('strongroom raw key');
  const hkdf = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
  return new Uint8Array(await crypto.subtle.deriveBits(hkdf, secret, 256));
}

/** The browser's result after asking the user. */
async function asked(call: () => Promise<Credential | null>): Promise<PublicKeyCredential | null> {
  try {
    return await call() as PublicKeyCredential | null;
  } catch (error) {
    // Browsers do not tell a page which of several reasons it was.
    throw new StrongroomError('no-passkey', `no passkey was given: ${String(error)}`);
  }
}

function noPrf(): StrongroomError {
  return new StrongroomError(
    'no-passkey',
    'this browser or authenticator derives no keys from passkeys (WebAuthn PRF): use a passphrase',
  );
}

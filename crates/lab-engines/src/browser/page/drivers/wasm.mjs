// A build of SQLite with its own JavaScript: the package `@sqlite.org/sqlite-wasm`, one with
// SQLite3MultipleCiphers, or the one with WASMFS.
//
// options: module (its script), place, pragmas (run first; may set a key), vfs.

import { Failure } from '../host.mjs';
import { Connection } from '../sqlite.mjs';

const NAME = 'speed.db';
const MOUNT_PAUSE_MS = 1500;
const PLACES = {
  memory: ({ oo1 }) => new oo1.DB(':memory:', 'c'),
  opfs: ({ oo1 }) => new oo1.DB(`file:${NAME}?vfs=opfs`, 'c'),
  'opfs-wl': ({ oo1 }) => new oo1.DB(`file:${NAME}?vfs=opfs-wl`, 'c'),
  sahpool: async (sqlite3) => {
    const pool = await sqlite3.installOpfsSAHPoolVfs();
    return new pool.OpfsSAHPoolDb(`/${NAME}`);
  },
  // The pool with an encrypting VFS above it.
  'sealed-sahpool': async (sqlite3) => {
    await sqlite3.installOpfsSAHPoolVfs();
    const code = sqlite3.capi.sqlite3mc_vfs_create('opfs-sahpool', 0);
    if (code) throw new Failure(`no cipher before opfs-sahpool (${code})`);
    return new sqlite3.oo1.DB(`file:/${NAME}?vfs=multipleciphers-opfs-sahpool`, 'c');
  },
  local: ({ oo1 }) => new oo1.JsStorageDb('local'),
  session: ({ oo1 }) => new oo1.JsStorageDb('session'),
  wasmfs: async ({ capi, oo1 }) => {
    // Its threads start in the background. If the folder is mounted before they run, it waits for
    // them forever and keeps them from starting.
    await new Promise((ready) => setTimeout(ready, MOUNT_PAUSE_MS));
    const folder = capi.sqlite3_wasmfs_opfs_dir();
    if (!folder) throw new Failure('the build has no WASMFS with OPFS here');
    return new oo1.DB(`${folder}/${NAME}`, 'c');
  },
};

// Local storage holds a few million characters. When it is full, SQLite only sees an I/O error, so
// the storage itself is monitored.
const TEXTS = { local: 'local storage', session: 'session storage' };
let isFull = false;
let isListening = false;

function listenForQuota() {
  if (isListening) return;
  isListening = true;
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function set(...item) {
    try {
      return setItem.apply(this, item);
    } catch (error) {
      isFull ||= /quota/i.test(error.name);
      throw error;
    }
  };
}

function judge(place) {
  if (!TEXTS[place]) return undefined;
  const why = `database too large: the browser's ${TEXTS[place]} is full`;
  return () => (isFull ? { message: why, notPossible: true, ends: true } : undefined);
}

let loaded;

export async function open({ module, place, pragmas }) {
  loaded ??= import(new URL(`../${module}`, import.meta.url).href)
    .then(({ default: init }) => init());
  const sqlite3 = await loaded;
  if (TEXTS[place]) listenForQuota();
  const opened = await PLACES[place](sqlite3);
  const functions = {
    exports: sqlite3.wasm.exports,
    memory: () => sqlite3.wasm.heap8u(),
    alloc: (bytes) => sqlite3.wasm.alloc(bytes),
    free: (at) => sqlite3.wasm.dealloc(at),
  };
  const connection = new Connection(functions, opened.pointer, judge(place));
  connection.begin(pragmas);
  return {
    statements: (texts) => connection.statements(texts),
    script: (text) => connection.script(text),
    settings: () => [...connection.settings(), ['vfs', opened.dbVfsName?.() ?? '']],
    close: () => {
      connection.free(connection.out);
      opened.close();
    },
  };
}

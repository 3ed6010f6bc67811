// Strongroom's module, opened through its own package; statements go directly to its SQLite
// functions, as for other builds.
//
// options: module (the package's interface for workers), place, pragmas, key (in hexadecimal;
// without it the database is plain).

import { Connection } from '../sqlite.mjs';

const NAMES = { memory: ':memory:', opfs: 'speed.db' };
const MODULE = '../package/strongroom.wasm';

function bytesOf(hexadecimal) {
  return Uint8Array.from(hexadecimal.match(/../g), (byte) => parseInt(byte, 16));
}

let loaded;

async function load(module) {
  const { Engine, Database } = await import(new URL(`../${module}`, import.meta.url).href);
  const bytes = await (await fetch(new URL(MODULE, import.meta.url))).arrayBuffer();
  return { engine: await Engine.load(bytes), Database, bytes: bytes.byteLength };
}

export async function open({ module, place, pragmas, key }) {
  loaded ??= load(module);
  const { engine, Database, bytes } = await loaded;
  const options = key ? { key: bytesOf(key) } : { plain: true };
  const database = await Database.open(engine, NAMES[place], options);
  const exports = engine.call((functions) => functions);
  const sizes = new Map();
  let memory = new Uint8Array(exports.memory.buffer);
  const functions = {
    exports,
    memory: () => {
      if (memory.length === 0) memory = new Uint8Array(exports.memory.buffer);
      return memory;
    },
    alloc: (size) => {
      const at = exports.strongroom_alloc(size);
      sizes.set(at, size);
      return at;
    },
    free: (at) => {
      exports.strongroom_free(at, sizes.get(at));
      sizes.delete(at);
    },
  };
  const connection = new Connection(functions, database.connection);
  connection.begin(pragmas);
  return {
    statements: (texts) => connection.statements(texts),
    script: (text) => connection.script(text),
    settings: () => [
      ...connection.settings(),
      ['vfs', key ? 'strongroom' : place],
      ['module_bytes', String(bytes)],
      ...(key ? [['strongroom_cipher', connection.value('PRAGMA strongroom_cipher')]] : []),
    ],
    close: async () => {
      connection.free(connection.out);
      await database.close();
    },
  };
}

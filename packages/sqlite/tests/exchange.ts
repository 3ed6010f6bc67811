// Databases that are exchanged between the native program and the browser.

import { Database, type Cipher, type Row } from '../src/database.js';
import { remove } from '../src/names.js';
import { bytesOf, created, engine, filesOf, nothingReadable, write } from './support.js';
import { equal } from './assert.js';

interface Place {
  readonly name: string;
  readonly passphrase: string;
}

export const exchangeTasks = {
  /** Takes a file as it is served. */
  async take({ name }: Place): Promise<number> {
    await remove(name);
    const response = await fetch(new URL(`../exchange/${name}`, import.meta.url));
    equal(response.status, 200, name);
    const bytes = new Uint8Array(await response.arrayBuffer());
    await write(name, bytes);
    return bytes.length;
  },

  /** Opens it, reads all rows, and closes it: no byte changes. */
  async read({ name, passphrase }: Place): Promise<Row[]> {
    const before = await bytesOf(name);
    const database = await Database.open(await engine(), name, { passphrase });
    const rows = database.selectArrays('SELECT id, text FROM rows ORDER BY id');
    equal(database.selectValue('PRAGMA integrity_check'), 'ok', name);
    await database.close();
    equal(await bytesOf(name), before, `${name} after reading`);
    return rows;
  },

  async change({ name, passphrase }: Place): Promise<void> {
    const database = await Database.open(await engine(), name, { passphrase });
    database.exec("INSERT INTO rows(text) VALUES('from the browser'); UPDATE rows SET text = text || '!'");
    await database.close();
    equal(await filesOf(name), [''], 'files that are left');
  },

  async make({ name, passphrase, cipher }: Place & { cipher: Cipher }): Promise<void> {
    const database = await created(await engine(), name, { passphrase, cipher });
    database.exec("CREATE TABLE rows(id INTEGER PRIMARY KEY, text TEXT); INSERT INTO rows(text) VALUES('made in the browser')");
    await database.close();
  },

  /** The raw bytes of the file in OPFS. */
  async give({ name }: Place): Promise<ArrayBuffer> {
    const bytes = await bytesOf(name);
    nothingReadable(bytes, name);
    return bytes.buffer;
  },
};

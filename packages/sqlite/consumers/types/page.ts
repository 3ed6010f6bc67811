// A page that uses the package, under strict settings.

import { Kysely, type Generated } from 'kysely';
import {
  createPasskey, importFile, open, StrongroomError, type Connection, type ErrorCode, type OpenOptions,
  type Row, type Slot, type Value,
} from '@strongroom/sqlite';
import { StrongroomDialect } from '@strongroom/sqlite/kysely';
import { Database, Engine, KeyValueFiles, type FileStore } from '@strongroom/sqlite/sync';

interface Note {
  id: Generated<number>;
  text: string;
}

export async function connected(options: OpenOptions): Promise<Connection> {
  return open('notes.db', { ...options, tabs: 'share' });
}

export async function used(db: Connection): Promise<Row[]> {
  const notes: Note[] = await db.query<Note>('SELECT * FROM note');
  const value: Value | undefined = await db.queryValue('SELECT 1');
  const count: number = await db.transaction(async (tx) => (await tx.run('DELETE FROM note')).changes);
  for await (const { text } of db.iterate<{ text: string }>('SELECT text FROM note')) text.trim();
  const slots: Slot[] = await db.keys();
  await importFile('copy.db', await db.export());
  return [[notes.length, value ?? null, count, slots.length]];
}

export async function keyed(): Promise<Connection> {
  const passkey = await createPasskey({ user: 'somebody', application: 'Notes' });
  return open('notes.db', { passkey });
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof StrongroomError ? error.code : undefined;
}

export async function typed(db: Connection): Promise<string[]> {
  const kysely = new Kysely<{ note: Note }>({ dialect: new StrongroomDialect(db) });
  const rows = await kysely.selectFrom('note').select('text').execute();
  return rows.map(({ text }) => text);
}

export async function synchronous(module: URL): Promise<number> {
  const engine: Engine<FileStore> = await Engine.load(module, new KeyValueFiles(localStorage));
  const database = await Database.open(engine, 'small.db', { passphrase: 'secret' });
  const rows = database.selectObjects('SELECT 1 AS one');
  await database.close();
  return rows.length;
}

// @ts-expect-error: the name must be a string
void open(1);
// @ts-expect-error: there is no such mode
void open('notes.db', { tabs: 'never' });

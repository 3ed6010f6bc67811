// The scenario of every consumer: creates, writes, closes and reopens a database, with a plain
// connection, with Kysely and with Drizzle.

import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/sqlite-proxy';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { Kysely } from 'kysely';

import { strongroom } from '@strongroom/sqlite/drizzle';
import { StrongroomDialect } from '@strongroom/sqlite/kysely';

import { connectionScenario } from './connection.js';

const notes = sqliteTable('note', {
  id: integer('id').primaryKey(),
  text: text('text').notNull(),
  stars: integer('stars'),
});

/** `open` opens the same database each time that it is called. */
export async function scenario(open) {
  const found = await connectionScenario(open);
  const kysely = await kyselyScenario(await open());
  const connection = await open();
  const drizzled = await drizzleScenario(connection);
  await connection.close();
  return { ...found, kysely, drizzle: drizzled };
}

async function kyselyScenario(connection) {
  const db = new Kysely({ dialect: new StrongroomDialect(connection) });
  const added = await db.insertInto('note').values({ text: 'third', stars: 3 }).executeTakeFirst();
  const undone = await db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('note').execute();
    throw new Error('undo it');
  }).catch((error) => error.message);
  const updated = await db.updateTable('note').set({ stars: 5 }).where('text', '=', 'third')
    .executeTakeFirst();
  const streamed = [];
  for await (const { id } of db.selectFrom('note').select('id').orderBy('id').stream()) streamed.push(id);
  const [table] = await db.introspection.getTables();
  const result = {
    added: Number(added.insertId),
    undone,
    updated: Number(updated.numUpdatedRows),
    streamed,
    columns: table.columns.map(({ name }) => name),
  };
  // Also closes the connection.
  await db.destroy();
  return result;
}

async function drizzleScenario(connection) {
  const db = drizzle(strongroom(connection));
  const [added] = await db.insert(notes).values({ text: 'fourth' }).returning();
  const undone = await db.transaction(async (transaction) => {
    await transaction.delete(notes);
    throw new Error('undo it');
  }).catch((error) => error.message);
  await db.update(notes).set({ stars: 1 }).where(eq(notes.text, 'fourth'));
  const all = await db.select().from(notes).orderBy(notes.id);
  const none = await db.select().from(notes).where(eq(notes.id, 99)).get();
  const [total] = await db.get(sql`SELECT sum(stars) FROM note`);
  return { added, undone, all, none: none ?? null, total };
}

// The part of the scenario that needs no other library.

export async function connectionScenario(open) {
  let db = await open();
  await db.exec('CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL, stars INTEGER)');
  await db.sql`INSERT INTO note (text, stars) VALUES (${'first'}, ${4})`;
  await db.transaction(async (transaction) => {
    await transaction.run('INSERT INTO note (text) VALUES (?)', ['second']);
  });
  await db.close();
  db = await open();
  const notes = await db.query('SELECT * FROM note ORDER BY id');
  const check = await db.queryValue('PRAGMA integrity_check');
  const slots = (await db.keys()).map(({ kind }) => kind);
  await db.close();
  return { notes, check, slots };
}

// A program of Node that uses the package, under strict settings.

import { connect, open, StrongroomError, type Cipher, type Connection, type Database } from '@strongroom/sqlite/node';

export async function counted(path: string, cipher: Cipher): Promise<number> {
  const database: Database = await open(path, { passphrase: 'secret', cipher });
  database.exec('CREATE TABLE IF NOT EXISTS note (text)');
  const count = Number(database.selectValue('SELECT count(*) FROM note'));
  await database.close();
  return count;
}

export async function connected(): Promise<Connection> {
  try {
    return await connect(':memory:');
  } catch (error) {
    if (error instanceof StrongroomError) console.error(error.code, error.extendedCode);
    throw error;
  }
}

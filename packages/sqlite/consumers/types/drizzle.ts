// Drizzle, whose own declarations name databases that are not installed: libraries go unchecked.

import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { Connection } from '@strongroom/sqlite';
import { strongroom } from '@strongroom/sqlite/drizzle';

export async function used(db: Connection): Promise<void> {
  await drizzle(strongroom(db)).run('SELECT 1');
}

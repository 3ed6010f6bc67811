// Drizzle's own declarations refer to databases that are not installed, so libraries are not
// checked here.

import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { Connection } from '@strongroom/sqlite';
import { strongroom } from '@strongroom/sqlite/drizzle';

export async function used(db: Connection): Promise<void> {
  await drizzle(strongroom(db)).run('SELECT 1');
}

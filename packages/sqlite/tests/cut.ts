// Workers that end in the middle of commits, and what the next one finds.

import { isTrue } from './assert.js';
import { ask, startWorker } from './work.js';

/** What a worker found that opened the database after another one had ended. */
export interface Found {
  readonly rows: number;
  readonly check: string;
}

/** Ends this many workers, each at another point; returns how many transactions they committed. */
export async function cutLoop(times: number): Promise<number> {
  const name = 'cut.db';
  await run('create', { name });
  let committed = 0;
  for (let time = 0; time < times; time += 1) {
    committed = await cut(name, committed, 1 + (time * 7) % 40);
    const found = (await run('look', { name })) as Found;
    isTrue(found.check === 'ok', `after ${time} ends: ${found.check}`);
    // One transaction may have been committed whose message was not delivered.
    const isThere = found.rows === committed || found.rows === committed + 1;
    isTrue(isThere, `after ${time} ends: ${found.rows} rows where ${committed} were committed`);
    committed = found.rows;
  }
  return committed;
}

/** Lets a worker commit for some milliseconds after its first commit, then ends it. */
function cut(name: string, before: number, milliseconds: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const worker = startWorker();
    let committed = before;
    let isEnding = false;
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }: MessageEvent<{ committed?: number; error?: string }>) => {
      if (data.error !== undefined) reject(new Error(data.error));
      committed = data.committed ?? committed;
      if (isEnding) return;
      isEnding = true;
      setTimeout(() => {
        worker.terminate();
        resolve(committed);
      }, milliseconds);
    };
    worker.postMessage({ name: 'commit', argument: { name } });
  });
}

async function run(name: string, argument: unknown): Promise<unknown> {
  const worker = startWorker();
  const { value, error } = await ask(worker, { name, argument });
  worker.terminate();
  if (error !== undefined) throw new Error(`${name}: ${error}`);
  return value;
}

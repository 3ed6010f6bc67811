// The page that asks for work and answers: each test runs in a worker of its own.
//
// Work is a JSON object. `test` runs a test by its name; `task` runs a step of a longer test, whose
// answer goes back as it is; `start` does so in a worker that stays; `cut` ends workers in the midst
// of commits.

import { cutLoop } from './cut.js';

interface Work {
  readonly kind: 'test' | 'task' | 'start' | 'cut';
  readonly name: string;
  readonly argument?: unknown;
}

/** What a worker answers; `bytes` goes back as it is. */
export interface Answer {
  readonly value?: unknown;
  readonly bytes?: ArrayBuffer;
  readonly error?: string;
}

let staying: Worker | undefined;

export function startWorker(): Worker {
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** Has a worker do something, and waits for its first message. */
export function ask(worker: Worker, work: Pick<Work, 'name' | 'argument'>): Promise<Answer> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data as Answer);
    worker.onerror = (event) => resolve({ error: `the worker failed: ${event.message}` });
    worker.postMessage(work);
  });
}

async function answer(work: Work): Promise<Answer> {
  if (work.kind === 'cut') return { value: await cutLoop(work.argument as number) };
  const worker = startWorker();
  const result = await ask(worker, work);
  if (work.kind === 'start') staying = worker;
  else worker.terminate();
  return result;
}

for (;;) {
  const response = await fetch('work').catch(() => undefined);
  if (!response) break;
  if (response.status !== 200) continue;
  const work = (await response.json()) as Work;
  const { bytes, ...rest } = await answer(work).catch((error) => ({ error: String(error), bytes: undefined }));
  const body = bytes ?? JSON.stringify(rest);
  await fetch(`answer?${response.headers.get('x-work')}`, { method: 'POST', body });
}

// A worker that nobody refers to may be collected.
addEventListener('pagehide', () => staying?.terminate());

// The page that asks for work and answers. Each test runs in a separate worker.
//
// Work is a JSON object. `test` runs a test by its name; `task` runs a step of a longer test and
// returns its answer; `step` runs one in the page itself; `start` runs one in a worker that stays;
// `cut` ends workers in the middle of commits. Tests of the page's interface run in the page
// itself.

import { described } from './assert.js';
import { clientTests } from './client.js';
import { cutLoop } from './cut.js';
import { passkeySteps } from './passkey.js';
import { ask, startWorker, type Answer, type Work } from './work.js';

let staying: Worker | undefined;

async function answer(work: Work): Promise<Answer> {
  if (work.kind === 'task' && work.name === 'client names') {
    return { value: Object.keys(clientTests) };
  }
  const own = work.kind === 'test' && clientTests[work.name];
  if (own) {
    await own();
    return { value: null };
  }
  if (work.kind === 'step') {
    const step = passkeySteps[work.name];
    return step ? { value: await step(work.argument as never) } : { error: `no step ${work.name}` };
  }
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
  const { bytes, ...rest } = await answer(work).catch((error) => ({ error: described(error), bytes: undefined }));
  const body = bytes ?? JSON.stringify(rest);
  await fetch(`answer?${response.headers.get('x-work')}`, { method: 'POST', body });
}

// A worker without references may be garbage-collected.
addEventListener('pagehide', () => staying?.terminate());

// Asks the lab for work, passes it to a host in a worker or in this page, and returns the answer.

import { Host } from './host.mjs';

const tell = (text) => fetch('said', { method: 'POST', body: String(text) });
addEventListener('error', (event) => tell(event.message ?? event.type));
addEventListener('unhandledrejection', (event) => tell(event.reason));

// A host in a separate worker: each request is a message, and so is its reply.
function hostInWorker() {
  const worker = new Worker('worker.mjs', { type: 'module' });
  return {
    do: (work) => new Promise((answer) => {
      worker.onmessage = (event) => answer(event.data);
      worker.onerror = (event) => {
        event.preventDefault?.();
        answer({ error: { message: `the worker failed: ${event.message ?? 'its script'}` } });
      };
      worker.postMessage(work);
    }),
  };
}

function newHost(thread) {
  if (thread === 'worker') return hostInWorker();
  const host = new Host();
  return { do: (work) => host.do(work) };
}

let host;
for (;;) {
  const response = await fetch('work');
  if (response.status === 204) continue;
  const work = await response.json();
  // One host for the whole session, since in-memory databases live in it.
  host ??= newHost(work.thread);
  const answer = JSON.stringify(await host.do(work));
  const number = response.headers.get('x-work');
  await fetch(`answer?${number}`, { method: 'POST', body: answer });
}

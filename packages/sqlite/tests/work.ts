// Work for a page, and the workers that do it.

export interface Work {
  readonly kind: 'test' | 'task' | 'step' | 'start' | 'cut';
  readonly name: string;
  readonly argument?: unknown;
}

/** A worker's answer; `bytes` is returned unchanged. */
export interface Answer {
  readonly value?: unknown;
  readonly bytes?: ArrayBuffer;
  readonly error?: string;
}

export function startWorker(): Worker {
  return new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
}

/** Gives a worker a task, and waits for its first message. */
export function ask(worker: Worker, work: Pick<Work, 'name' | 'argument'>): Promise<Answer> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data as Answer);
    worker.onerror = (event) => resolve({ error: `the worker failed: ${event.message}` });
    worker.postMessage(work);
  });
}

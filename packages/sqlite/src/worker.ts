// The worker: has the databases open, and executes the calls of clients.

import { Client } from './client.js';
import { Engine } from './engine.js';
import { StrongroomError } from './errors.js';
import { failureOf, type Answer, type Call, type Start } from './protocol.js';
import { Turns } from './turns.js';

/** How long a client waits for another's transaction, in milliseconds. */
const WAIT_MS = 5_000;

let engine: Promise<Engine> | undefined;
const clients = new Map<string, Client>();
const turns = new Turns(WAIT_MS);

async function done({ client: name, operation, arguments: args }: Call): Promise<Answer['result']> {
  if (!engine) throw new StrongroomError('misuse', 'the worker was not started');
  const loaded = await engine;
  const client = clients.get(name) ?? new Client(loaded);
  clients.set(name, client);
  return client.perform(operation, args, async (body) => {
    await turns.take(name);
    try {
      return await body();
    } finally {
      if (operation === 'close') clients.delete(name);
      if (!client.isUnderWay) turns.give(name);
    }
  });
}

onmessage = ({ data }: MessageEvent<Start | Call>) => {
  if ('module' in data) {
    engine = Engine.load(data.module);
    // The caller gets the error.
    engine.catch(() => undefined);
    return;
  }
  const { client, id } = data;
  done(data)
    .then((result): Answer => ({ client, id, result }))
    .catch((error: unknown): Answer => ({ client, id, error: failureOf(error) }))
    .then((answer) => postMessage(answer));
};

// Runs one test or task, and answers.

import { described } from './assert.js';
import { crashTasks } from './crash.js';
import { databaseTests } from './database.js';
import { exchangeTasks } from './exchange.js';
import { failureTests } from './failures.js';
import { measureTasks } from './measure.js';
import { quotaTasks } from './quota.js';
import { vectorTests } from './vectors.js';

/** Throws if an assertion fails; its result is returned to the caller of a task. */
export type Task = (argument: never) => Promise<unknown>;

const TESTS: Record<string, Task> = { ...vectorTests, ...databaseTests, ...failureTests };
const TASKS: Record<string, Task> = { ...crashTasks, ...exchangeTasks, ...measureTasks, ...quotaTasks };

async function answer(name: string, argument: unknown): Promise<unknown> {
  if (name === 'names') return { value: Object.keys(TESTS) };
  const task = TESTS[name] ?? TASKS[name];
  if (!task) return { error: `there is no test ${name}` };
  const value = await task(argument as never);
  return value instanceof ArrayBuffer ? { bytes: value } : { value };
}

onmessage = ({ data }: MessageEvent<{ name: string; argument?: unknown }>) => {
  answer(data.name, data.argument)
    .catch((error: unknown) => ({ error: described(error) }))
    .then((result) => postMessage(result));
};

// Environment variables that the extension reads while a database is opened.
import process from 'node:process';

/** Temporary values of variables; `undefined` unsets one. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Runs something with temporary environment variables, and restores the former ones. */
export function withVariables<Result>(variables: Variables, action: () => Result): Result {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  try {
    for (const [name, value] of Object.entries(variables)) set(name, value);
    return action();
  } finally {
    for (const [name, value] of before) set(name, value);
  }
}

function set(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

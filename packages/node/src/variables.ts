// Environment variables that the extension reads while a database is opened.
import process from 'node:process';

/** What a variable shall be meanwhile; `undefined`: not there. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Does something with other variables, and puts back what was there. */
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

// A page that asks the tests' server for its single piece of work, and answers.

import { open, remove } from '@strongroom/sqlite';

const NAME = 'consumer.db';
const secret = { passphrase: 'correct horse battery staple' };

async function found(scenario) {
  await remove(NAME);
  const result = await scenario(() => open(NAME, secret));
  const refused = await open(NAME, { passphrase: 'wrong' }).catch((error) => error.code);
  return { ...result, refused };
}

export async function answerWith(scenario) {
  let response;
  do response = await fetch('work'); while (response.status !== 200);
  const answer = await found(scenario).then(
    (value) => ({ value }), (error) => ({ error: `${error.stack ?? error}` }));
  const number = response.headers.get('x-work');
  await fetch(`answer?${number}`, { method: 'POST', body: JSON.stringify(answer) });
}

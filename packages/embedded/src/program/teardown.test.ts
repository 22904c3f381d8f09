import { expect, test } from '@jest/globals';
import { Teardown } from './teardown.ts';

test('stops everything once, in reverse order, and reports a stop that fails', async () => {
  const stopped: string[] = [];
  const program = new Teardown();
  const part = new Teardown(program);
  program.onStop(async () => stopped.push('program'));
  await part.start(Promise.resolve('part'), async (name) => stopped.push(name));
  part.onStop(() => Promise.reject(new Error('no luck')));
  expect(await program.run()).toBe(false);
  expect(await program.run()).toBe(false);
  expect(stopped).toEqual(['program', 'part']);
  expect(part.program).toBe(program);
});

test('a process that starts during or after the cleanup is stopped at once', async () => {
  const stopped: string[] = [];
  const teardown = new Teardown();
  expect(await teardown.run()).toBe(true);
  const late = teardown.start(Promise.resolve('late'), async (name) => stopped.push(name));
  await expect(late).rejects.toThrow('nothing more is started');
  expect(stopped).toEqual(['late']);
});

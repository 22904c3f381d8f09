import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import type { FaultKind } from './fault.ts';
import { fireAll } from './fire-all.ts';
import { failNames } from './names-and-receivers.ts';
import type { Scene } from './scene.ts';

/** A kind that takes effect at this attempt, and records each attempt. */
function kind(name: string, succeedsAt: number, tries: string[]): FaultKind {
  return {
    name,
    track: 'a track',
    lastsMs: [0, 0],
    fire: () => {
      tries.push(name);
      if (tries.filter((one) => one === name).length < succeedsAt)
        return Promise.reject(new Error('not its moment'));
      return Promise.resolve({ firedAt: 1, victim: 'api-1' });
    },
  };
}

test('a fault that cannot be fired is retried until it can, also after the window', async () => {
  const tries: string[] = [];
  const kinds = [kind('easy', 1, tries), kind('hard', 3, tries)];
  const fired = await fireAll({} as Scene, { kinds, seed: 1, windowMs: 1 });
  expect(tries.toSorted()).toEqual(['easy', 'hard', 'hard', 'hard']);
  const hard = fired.filter(({ name }) => name === 'hard');
  expect(hard.map(({ firedAt, note }) => [firedAt, note])).toEqual([
    [null, 'not its moment'],
    [null, 'not its moment'],
    [1, ''],
  ]);
});

test('a DNS fault counts only if a service looked up a name', async () => {
  const folder = await createTemporaryFolder();
  const scene = { dnsDownFile: join(folder.path, 'dns-down') } as Scene;
  const fired = failNames('fail')(scene, { turn: 0, lastsMs: 1, deadline: Date.now() });
  await expect(fired).rejects.toThrow('no service looked up a name');
  await folder.remove();
});

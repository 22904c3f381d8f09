import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import type { PlannedFault } from './fault.ts';
import { faultKinds } from './kinds.ts';
import { fireAll, fireFault } from './fire-all.ts';
import type { Scene } from './scene.ts';

const KINDS = faultKinds(2);

let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
let service: NodeJS.Timeout;
beforeEach(async () => {
  folder = await createTemporaryFolder();
  const downFile = join(folder.path, 'later', 'dns-down');
  // Like a service that looks up names all the time.
  service = setInterval(() => {
    if (existsSync(downFile)) writeFileSync(`${downFile}.met`, '');
  }, 5);
});
afterEach(async () => {
  clearInterval(service);
  await folder.remove();
});

/** A scene in which no DNS fault can be fired before its folder exists. */
function scene(): Scene {
  return { dnsDownFile: join(folder.path, 'later', 'dns-down'), libfaketime: null } as unknown as Scene;
}

const dns: PlannedFault = {
  name: 'dns-fail',
  track: 'dns',
  atMs: 0,
  lastsMs: 1,
  victim: null,
  offsetSeconds: null,
  write: null,
};

test('a fault that cannot be fired is retried until it can, also after the window', async () => {
  let tries = 0;
  const { dnsDownFile } = scene();
  const opening = {
    ...scene(),
    // Read at the beginning of each try.
    get dnsDownFile() {
      if (++tries === 3) mkdirSync(join(folder.path, 'later'));
      return dnsDownFile;
    },
  };
  const fired = await fireAll(opening, {
    kinds: KINDS,
    faults: [dns, dns],
    startedAt: Date.now(),
    windowMs: 1,
    // Longer than any test runs.
    lateMs: 600_000,
    retryMs: 10,
  });
  expect(fired.map(({ firedAt }) => firedAt === null)).toEqual([true, true, false]);
});

test('a DNS fault counts only if a service looked up a name', async () => {
  await mkdir(join(folder.path, 'later'));
  clearInterval(service);
  const kind = KINDS.find(({ name }) => name === dns.name);
  if (kind === undefined) throw new Error('unknown kind');
  const fault = await fireFault({ ...scene(), deadline: Date.now() }, kind, dns);
  expect([fault.firedAt, fault.note]).toEqual([null, 'no service looked up a name']);
});

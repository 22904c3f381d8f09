import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { fireFault } from '../faults/fire-fault.ts';
import type { PlannedFault } from '../plan/plan-faults.ts';
import { fireAll, type Firing } from './fire-all.ts';
import type { Scene } from './scene.ts';

/** Longer than any test runs. */
const NEVER_LATE_MS = 600_000;

let folder: string;
let service: NodeJS.Timeout;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chaos-'));
  const downFile = join(folder, 'later', 'dns-down');
  // As a service that asks for names all the time.
  service = setInterval(() => {
    if (existsSync(downFile)) writeFileSync(`${downFile}.met`, '');
  }, 5);
});
afterEach(async () => {
  clearInterval(service);
  await rm(folder, { recursive: true, force: true });
});

/** One that cannot be fired before this folder is there. */
function scene(): Scene {
  return { dnsDownFile: join(folder, 'later', 'dns-down'), libfaketime: null } as unknown as Scene;
}

function planned(name: string, action: PlannedFault['action']): PlannedFault {
  return { name, action, track: 'dns', atMs: 0, lastsMs: 1, victim: null, offsetSeconds: null, write: null };
}

function firing(faults: PlannedFault[], windowMs: number, lateMs: number = NEVER_LATE_MS): Firing {
  return { faults, startedAt: Date.now(), windowMs, lateMs, restMs: 10 };
}

const dns = planned('dns-fail', { type: 'dns', what: 'fail' });

test('a fault whose moment does not come is tried again until it does, after the window too', async () => {
  let tries = 0;
  const { dnsDownFile } = scene();
  const opening = {
    ...scene(),
    // Asked for at the beginning of each try.
    get dnsDownFile() {
      tries += 1;
      if (tries === 3) mkdirSync(join(folder, 'later'));
      return dnsDownFile;
    },
  };
  const fired = await fireAll(opening, firing([dns, dns], 1));
  expect(fired.map(({ firedAt }) => firedAt === null)).toEqual([true, true, false]);
});

test('it is given up when it is too late', async () => {
  const fired = await fireAll(scene(), firing([dns], 1, 50));
  expect(fired.every(({ firedAt }) => firedAt === null)).toBe(true);
});

test('nobody waits for a clock that cannot be set off', async () => {
  const clock = planned('clock-api', { type: 'clock', service: 'api', offsetsSeconds: [60] });
  const [fault, ...more] = await fireAll(scene(), firing([clock], 60_000));
  expect([fault?.firedAt, fault?.note, more]).toEqual([null, 'there is no libfaketime', []]);
});

test('what was fired is not repeated after the window', async () => {
  await mkdir(join(folder, 'later'));
  const fired = await fireAll(scene(), firing([dns, { ...dns, atMs: 5 }, { ...dns, atMs: 5 }], 2));
  expect(fired).toHaveLength(1);
});

test('names that nobody asked for were not broken', async () => {
  await mkdir(join(folder, 'later'));
  clearInterval(service);
  const fault = await fireFault({ ...scene(), deadline: Date.now() }, dns);
  expect([fault.firedAt, fault.note]).toEqual([null, 'nobody asked for a name']);
});

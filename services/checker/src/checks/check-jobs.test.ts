import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { SingleCheck } from '@tocsin/contracts/jobs';
import type { WaveMember } from '@tocsin/db/monitor-regions/schedules';
import { JobPostponedError, JobReturnedError } from '@tocsin/queue/job-worker';
import { CheckJobs, type CheckJobsOptions } from './check-jobs.ts';

const WAVE = { intervalSeconds: 60, offsetMs: 51 };
const OTHER = { intervalSeconds: 60, offsetMs: 101 };
const SLOT = Date.parse('2026-06-01T10:00:00Z');
const JOB = `repeat:wave-60-51:${SLOT}`;
const LATE_JOB = `repeat:wave-60-51:${SLOT - 76_000}`;
const NEXT_JOB = `repeat:wave-60-51:${SLOT + 60_000}`;

function membersOf(count: number): WaveMember[] {
  return Array.from({ length: count }, (_, index) => ({ monitorId: randomUUID(), revision: index + 1 }));
}

const worker = { exempt: () => () => undefined, noteProgress: () => undefined };
/** History of a job that no worker took before. */
const FIRST = { stalls: 0, again: false };

const idsOf = (checks: readonly SingleCheck[]): string[] => checks.map(({ monitorId }) => monitorId);

/** Checks in the order in which they ran. */
let ran: SingleCheck[];
let failed: [string, string, unknown][];
beforeEach(() => {
  ran = [];
  failed = [];
  // The clock is stopped, so that no slot becomes too late on a slow machine.
  jest.spyOn(Date, 'now').mockReturnValue(SLOT);
});
afterEach(() => {
  jest.restoreAllMocks();
});

function checkJobs(options: Partial<CheckJobsOptions> & { members?: readonly WaveMember[] }): CheckJobs {
  const { runCheck, members = [], ...rest } = options;
  return new CheckJobs({
    listMembers: async () => [...members],
    addRetries: async () => undefined,
    onFailed: ({ monitorId }, jobId, error) => failed.push([monitorId, jobId, error]),
    ...rest,
    runCheck: async (...args) => {
      ran.push(args[0]);
      await runCheck?.(...args);
    },
  });
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a wave', () => {
  test("runs each member's check once, with its revision, job and number of stalls", async () => {
    const members = membersOf(250);
    const seen: [string, number | null, number][] = [];
    const jobs = checkJobs({
      members,
      runCheck: async (_, jobId, intervalSeconds, stalls) => void seen.push([jobId, intervalSeconds, stalls]),
    });
    await jobs.run(WAVE, JOB, { stalls: 1, again: true }, worker);
    expect(ran).toEqual(members);
    expect(seen).toEqual(members.map(() => [JOB, WAVE.intervalSeconds, 1]));
    expect(failed).toEqual([]);
  });

  test('a failed check is reported, delays no other, and does not run again', async () => {
    const members = membersOf(3);
    const error = new TypeError('broken');
    const jobs = checkJobs({
      members,
      runCheck: async ({ revision }) => (revision === 1 ? Promise.reject(error) : undefined),
    });
    await jobs.run(WAVE, JOB, FIRST, worker);
    expect(ran).toEqual(members);
    expect(failed).toEqual([[members[0]?.monitorId, JOB, error]]);
  });
});

test('a single check runs without listing members of a wave', async () => {
  const check = { monitorId: randomUUID(), revision: 7 };
  const jobs = checkJobs({ listMembers: () => Promise.reject(new Error('not to be asked')) });
  await jobs.run(check, `first-${check.monitorId}-1`, FIRST, worker);
  expect(ran).toEqual([check]);
});

describe('while Postgres cannot list the members of a wave', () => {
  test.each([
    ['it is unavailable', () => Promise.reject(new Error('unavailable'))],
    ['it hangs', () => new Promise<never>(() => undefined)],
  ])('the known members are checked, or none if there are none: %s', async (_, down) => {
    const members = membersOf(3);
    let up = true;
    const jobs = checkJobs({
      listMembers: () => (up ? Promise.resolve(members) : down()),
      membersWithinMs: 20,
    });
    await jobs.run(WAVE, JOB, FIRST, worker);
    up = false;
    ran = [];
    await jobs.run(WAVE, NEXT_JOB, FIRST, worker);
    expect(ran).toEqual(members);
    ran = [];
    await expect(jobs.run(OTHER, `repeat:wave-60-101:${SLOT}`, FIRST, worker)).rejects.toThrow(
      JobPostponedError,
    );
    expect([ran, failed]).toEqual([[], []]);
  });

  test('monitors that left the wave earlier are not checked', async () => {
    let list: () => Promise<WaveMember[]> = async () => membersOf(2);
    const jobs = checkJobs({ listMembers: () => list() });
    await jobs.run(WAVE, JOB, FIRST, worker);
    list = async () => [];
    await jobs.run(WAVE, JOB, FIRST, worker);
    list = () => Promise.reject(new Error('unavailable'));
    await expect(jobs.run(WAVE, JOB, FIRST, worker)).rejects.toThrow(JobPostponedError);
    expect(ran).toHaveLength(2);
  });
});

describe.each([
  ['returned', new JobReturnedError('shutting down')],
  ['postponed', new JobPostponedError('not now')],
])('a wave with a check that is %s', (_, error) => {
  test('returns to the queue when all have ended, and its next run skips checks that are done or failed', async () => {
    const members = membersOf(4);
    const [again, , broken] = idsOf(members);
    let refused = 2;
    const jobs = checkJobs({
      members,
      runCheck: async ({ monitorId }) => {
        if (monitorId === broken) throw new TypeError('broken');
        if (monitorId === again && (refused -= 1) >= 0) throw error;
      },
    });
    await expect(jobs.run(WAVE, JOB, FIRST, worker)).rejects.toBe(error);
    expect(ran).toEqual(members);
    expect(failed).toHaveLength(1);
    ran = [];
    await expect(jobs.run(WAVE, JOB, FIRST, worker)).rejects.toBe(error);
    await jobs.run(WAVE, JOB, FIRST, worker);
    expect(failed).toHaveLength(1);
    expect(idsOf(ran)).toEqual([again, again]);
  });

  test('skips no check in its next slot, or in a later run of the same slot', async () => {
    const members = membersOf(3);
    let refuse = true;
    const jobs = checkJobs({
      members,
      runCheck: async ({ revision }) => {
        if (refuse && revision === 2) throw error;
      },
    });
    await expect(jobs.run(WAVE, JOB, FIRST, worker)).rejects.toBe(error);
    refuse = false;
    ran = [];
    await jobs.run(WAVE, NEXT_JOB, FIRST, worker);
    expect(ran).toEqual(members);
    await jobs.run(WAVE, JOB, FIRST, worker);
    ran = [];
    await jobs.run(WAVE, JOB, FIRST, worker);
    expect(ran).toEqual(members);
  });
});

describe('a wave that runs again', () => {
  const AGAIN = { stalls: 1, again: true };

  test('checks members whose slot is not recorded, even if it is too late, and keeps the known members', async () => {
    const members = membersOf(3);
    const asked: (number | undefined)[] = [];
    let up = true;
    const jobs = checkJobs({
      listMembers: async (_, unrecordedSlot) => {
        asked.push(unrecordedSlot);
        if (!up) throw new Error('unavailable');
        return unrecordedSlot === undefined ? members : members.slice(1);
      },
    });
    await jobs.run(WAVE, JOB, FIRST, worker);
    await jobs.run(WAVE, JOB, AGAIN, worker);
    expect(asked).toEqual([undefined, SLOT]);
    expect(ran).toEqual([...members, ...members.slice(1)]);
    ran = [];
    await jobs.run(WAVE, LATE_JOB, AGAIN, worker);
    expect(ran).toEqual(members.slice(1));
    up = false;
    ran = [];
    await jobs.run(WAVE, NEXT_JOB, FIRST, worker);
    expect(ran).toEqual(members);
  });

  test('adds the retries of recorded failures if its checker died and they are not too late', async () => {
    const added: unknown[] = [];
    const jobs = checkJobs({ addRetries: async (...args) => void added.push(args) });
    for (const [job, stalls] of [
      [JOB, 1],
      [JOB, 0],
      [LATE_JOB, 1],
    ] as const)
      await jobs.run(WAVE, job, { stalls, again: true }, worker);
    expect(added).toEqual([[WAVE, SLOT]]);
    const members = membersOf(2);
    const broken = checkJobs({ members, addRetries: () => Promise.reject(new Error('unavailable')) });
    await expect(broken.run(WAVE, JOB, AGAIN, worker)).rejects.toThrow(JobPostponedError);
    expect(ran).toEqual(members);
  });

  test('waits until Postgres lists them, and skips none if it is too late by then', async () => {
    const members = membersOf(3);
    const jobs = checkJobs({
      listMembers: async (_, slot) =>
        slot === undefined ? members : Promise.reject(new Error('unavailable')),
    });
    await jobs.run(WAVE, JOB, FIRST, worker);
    ran = [];
    await expect(jobs.run(WAVE, JOB, AGAIN, worker)).rejects.toThrow(JobPostponedError);
    await jobs.run(WAVE, LATE_JOB, AGAIN, worker);
    expect(ran).toEqual([]);
  });
});

test('a slot that is too late is skipped for the known members, without a query', async () => {
  const members = membersOf(3);
  let asked = 0;
  const jobs = checkJobs({
    listMembers: async () => {
      asked += 1;
      return members;
    },
  });
  await jobs.run(WAVE, LATE_JOB, FIRST, worker);
  expect([asked, ran]).toEqual([0, []]);
  await jobs.run(WAVE, JOB, FIRST, worker);
  ran = [];
  await jobs.run(WAVE, LATE_JOB, FIRST, worker);
  expect([asked, ran]).toEqual([1, members]);
});

test('waves without jobs are forgotten', async () => {
  let now = 0;
  const jobs = checkJobs({ members: membersOf(1), now: () => now });
  for (let minute = 1; minute <= 100; minute += 1) {
    now = minute * 60_000;
    await jobs.run({ intervalSeconds: 60, offsetMs: minute }, JOB, FIRST, worker);
  }
  expect(jobs.waves).toBeLessThan(6);
});

describe('a job only waits', () => {
  /** One function makes a check slow, and the other ends it. */
  let checks: { slow: () => void; end: () => void }[];
  let waiting: number;
  let jobs: CheckJobs;
  beforeEach(() => {
    checks = [];
    waiting = 0;
    jobs = checkJobs({
      members: membersOf(3),
      runCheck: (...args) => new Promise((end) => checks.push({ slow: args[4], end })),
    });
    jest.spyOn(worker, 'exempt').mockImplementation(() => {
      waiting += 1;
      return () => void (waiting -= 1);
    });
  });

  test('while each of its checks has ended or waits for a slow target', async () => {
    let isDone = false;
    const running = jobs.run(WAVE, JOB, FIRST, worker).then(() => (isDone = true));
    await settle();
    checks[0]?.slow();
    checks[1]?.end();
    await settle();
    expect(waiting).toBe(0);
    checks[2]?.slow();
    expect(waiting).toBe(1);
    checks[2]?.end();
    await settle();
    expect([waiting, isDone]).toEqual([1, false]);
    checks[0]?.end();
    await running;
    expect(waiting).toBe(0);
  });

  test('but not if its last check ends without waiting', async () => {
    const running = jobs.run(WAVE, JOB, FIRST, worker);
    await settle();
    for (const { end } of checks) end();
    await running;
    expect(waiting).toBe(0);
  });
});

import type { StatusChange } from '@tocsin/contracts/monitors/events';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { describeCause, listNames } from '../components/format.ts';

export type BurstChange = Pick<
  StatusChange,
  'monitorId' | 'monitorName' | 'previousStatus' | 'status' | 'errorReason' | 'errorDetail'
>;

interface Course {
  readonly id: string;
  readonly name: string;
  /** Status before the burst. */
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** Cause of the outage. Empty if the monitor is not down or no cause was recorded. */
  readonly cause: string;
}

/** Status changes in quick succession, by monitor ID. One notification shows them all. */
export type Burst = ReadonlyMap<string, Course>;

export function addToBurst(burst: Burst, changes: readonly BurstChange[]): Burst {
  const next = new Map(burst);
  for (const { monitorId, monitorName, previousStatus, status, errorReason, errorDetail } of changes) {
    const from = next.get(monitorId)?.from ?? previousStatus;
    const cause = errorReason === null ? '' : describeCause(errorReason, errorDetail);
    next.set(monitorId, { id: monitorId, name: monitorName, from, to: status, cause });
  }
  return next;
}

export interface BurstText {
  readonly title: string;
  readonly body: string;
  /** Page to open on a click. */
  readonly path: string;
}

/** The notification of a burst, or null if no monitor is down or has recovered at its end. */
export function describeBurst(burst: Burst): BurstText | null {
  const courses = [...burst.values()];
  const down = courses.filter(({ from, to }) => to === 'DOWN' && from !== 'DOWN');
  const up = courses.filter(({ from, to }) => to === 'UP' && from === 'DOWN');
  const [first] = [...down, ...up];
  if (first === undefined) return null;
  const upTitle = titleOf(up, 'up again');
  if (down.length + up.length === 1)
    return {
      title: down.length === 1 ? titleOf(down, 'down') : upTitle,
      body: down.length === 1 ? first.cause : '',
      path: `/monitors/${first.id}`,
    };
  if (down.length === 0) return { title: upTitle, body: listNames(up.map(({ name }) => name)), path: '/' };
  const recovered = up.length === 0 ? '' : `. ${upTitle}`;
  return {
    title: titleOf(down, 'down'),
    body: `${listNames(down.map(({ name }) => name))}${recovered}`,
    path: '/?status=DOWN',
  };
}

type Named = readonly { readonly name: string }[];

function titleOf(monitors: Named, state: string): string {
  const [first] = monitors;
  return monitors.length === 1 && first !== undefined
    ? `${first.name} is ${state}`
    : `${monitors.length} monitors ${state}`;
}

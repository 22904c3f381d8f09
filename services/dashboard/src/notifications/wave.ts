import type { StatusChange } from '@tocsin/contracts/monitors/events';
import type { MonitorStatus } from '@tocsin/contracts/vocabulary';
import { describeCause } from '../components/format.ts';

const MAX_NAMES = 3;

export type WaveChange = Pick<
  StatusChange,
  'monitorId' | 'monitorName' | 'previousStatus' | 'status' | 'errorReason' | 'errorDetail'
>;

interface Course {
  readonly id: string;
  readonly name: string;
  /** The status before the wave. */
  readonly from: MonitorStatus;
  readonly to: MonitorStatus;
  /** Why it is down; empty if it is not, or if no cause was recorded. */
  readonly cause: string;
}

/** Status changes close to each other, by monitor. One notification shows them all. */
export type Wave = ReadonlyMap<string, Course>;

export function addToWave(wave: Wave, changes: readonly WaveChange[]): Wave {
  const next = new Map(wave);
  for (const { monitorId, monitorName, previousStatus, status, errorReason, errorDetail } of changes) {
    const from = next.get(monitorId)?.from ?? previousStatus;
    const cause = errorReason === null ? '' : describeCause(errorReason, errorDetail);
    next.set(monitorId, { id: monitorId, name: monitorName, from, to: status, cause });
  }
  return next;
}

export interface WaveText {
  readonly title: string;
  readonly body: string;
  /** The page that shows it. */
  readonly path: string;
}

/** The notification of a wave; null if no monitor went down or recovered by its end. */
export function describeWave(wave: Wave): WaveText | null {
  const courses = [...wave.values()];
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
  if (down.length === 0) return { title: upTitle, body: namesOf(up), path: '/' };
  const recovered = up.length === 0 ? '' : `. ${upTitle}`;
  return { title: titleOf(down, 'down'), body: `${namesOf(down)}${recovered}`, path: '/?status=DOWN' };
}

type Named = readonly { readonly name: string }[];

function titleOf(monitors: Named, state: string): string {
  const [first] = monitors;
  return monitors.length === 1 && first !== undefined
    ? `${first.name} is ${state}`
    : `${monitors.length} monitors ${state}`;
}

function namesOf(monitors: Named): string {
  const names = monitors.slice(0, MAX_NAMES).map(({ name }) => name);
  const more = monitors.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

import type { Labels } from '@tocsin/contracts/labels/labels';
import { Random } from '../random.ts';
import { type ChannelScope, FAULTY_CHANNEL, LABELS, SCOPES, type World } from './world-plan.ts';

/** A request to the API during a campaign. Monitors and channels are given by key. */
type Call =
  | { readonly type: 'rename'; readonly monitor: string; readonly name: string }
  | { readonly type: 'tune'; readonly monitor: string; readonly failureThreshold: number }
  | { readonly type: 'move'; readonly monitor: string; readonly version: number }
  | { readonly type: 'relabel'; readonly monitor: string; readonly labels: Labels }
  | { readonly type: 'rescope'; readonly channel: string; readonly scope: ChannelScope }
  | { readonly type: 'trigger'; readonly monitor: string; readonly override: boolean }
  | { readonly type: 'delete'; readonly monitor: string }
  | { readonly type: 'disable' | 'enable'; readonly channel: string }
  | {
      readonly type: 'maintain';
      readonly window: string;
      readonly monitors: readonly string[];
      readonly lastsMs: number;
    }
  | { readonly type: 'end maintenance' | 'delete maintenance'; readonly window: string };
export type PlannedCall = Call & { readonly atMs: number };

const EDITS_APART_MS = 12_000;
const RELABELS_APART_MS = 4_000;
/** Channels take turns, so that most status changes are far from an edit of their channel. */
const RESCOPES_APART_MS = 25_000;
const TRIGGERS_APART_MS = 5_000;
/** Most windows end at their planned time. */
const WINDOW_FATES = ['ends', 'ends', 'ends', 'end maintenance', 'delete maintenance'] as const;
const WINDOW_MS = [24_000, 36_000] as const;
/** Windows overlap and share these numbers of monitors. */
const MAINTAINED = { monitors: 6, each: 3 } as const;

/** Plans the requests of people and programs during a campaign. Pure. */
export function planCalls(seed: number, windowMs: number, { monitors, channels }: World): PlannedCall[] {
  const random = new Random(seed, 'calls');
  const withFate = (fate: string): string[] =>
    monitors.filter((monitor) => monitor.fate === fate).map(({ key }) => key);
  const [kept, tuned, moved] = [withFate('kept'), withFate('tuned'), withFate('moved')];
  const relabeled = [...kept, ...tuned];
  const rescoped = channels
    .filter(({ key, scope }) => scope !== undefined && key !== FAULTY_CHANNEL)
    .map(({ key }) => key);
  /** Plans one call in each interval of this length. */
  const repeat = (apartMs: number, call: (index: number) => Call): PlannedCall[] =>
    Array.from({ length: Math.floor(windowMs / apartMs) }, (_, index) =>
      Math.round((index + random.next()) * apartMs),
    ).map((atMs, index) => Object.assign(call(index), { atMs }));
  const calls: PlannedCall[] = [
    ...repeat(EDITS_APART_MS, (index) => {
      return { type: 'rename', monitor: random.pick(kept), name: `renamed ${index}` };
    }),
    ...repeat(EDITS_APART_MS, () => {
      return { type: 'tune', monitor: random.pick(tuned), failureThreshold: random.integer(1, 3) };
    }),
    ...repeat(2 * EDITS_APART_MS, (index) => {
      return { type: 'move', monitor: random.pick(moved), version: index + 2 };
    }),
    ...repeat(RELABELS_APART_MS, (index) => {
      // Monitors take turns, because a late transaction must not undo a later edit.
      return {
        type: 'relabel',
        monitor: relabeled[index % relabeled.length] ?? '',
        labels: random.pick(LABELS),
      };
    }),
    ...repeat(RESCOPES_APART_MS, (index) => {
      return {
        type: 'rescope',
        channel: rescoped[index % rescoped.length] ?? '',
        scope: random.pick(SCOPES),
      };
    }),
    ...repeat(TRIGGERS_APART_MS, () => {
      return { type: 'trigger', monitor: random.pick([...kept, ...tuned]), override: random.chance(0.25) };
    }),
    ...withFate('deleted').map((monitor): PlannedCall => {
      return { type: 'delete', monitor, atMs: random.integer(Math.round(windowMs / 3), windowMs) };
    }),
    ...channels
      .filter(({ kind }) => kind === 'toggled')
      .flatMap(({ key: channel }): PlannedCall[] => {
        const disabledAt = random.integer(5_000, Math.round(windowMs / 2));
        const enabledAt = disabledAt + random.integer(8_000, 20_000);
        return [
          { type: 'disable', atMs: disabledAt, channel },
          { type: 'enable', atMs: enabledAt, channel },
        ];
      }),
    ...maintenance(new Random(seed, 'maintenance'), windowMs, kept),
  ];
  return calls.sort((one, other) => one.atMs - other.atMs);
}

function maintenance(random: Random, windowMs: number, monitors: readonly string[]): PlannedCall[] {
  const maintained = random.shuffle(monitors).slice(0, MAINTAINED.monitors);
  return random.shuffle(WINDOW_FATES).flatMap((fate, index): PlannedCall[] => {
    const window = `planned-${index}`;
    const lastsMs = random.integer(...WINDOW_MS);
    // All of them end before the faults do.
    const atMs = random.integer(2_000, windowMs - lastsMs);
    const covered = random.shuffle(maintained).slice(0, MAINTAINED.each);
    const planned: PlannedCall = { type: 'maintain', atMs, window, monitors: covered, lastsMs };
    if (fate === 'ends') return [planned];
    return [planned, { type: fate, atMs: atMs + random.integer(8_000, lastsMs - 6_000), window }];
  });
}

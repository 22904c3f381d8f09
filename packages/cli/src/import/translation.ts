import { LIMITS } from '@tocsin/contracts/limits';
import { monitorSetEntrySchema } from '@tocsin/contracts/monitor-sets/monitor-set';
import { validateMonitor } from '@tocsin/contracts/monitors/monitor';
import { z } from 'zod';
import { keyFor } from '../files/write-monitors.ts';
import type { PlainMonitor } from '../files/write-monitors.ts';

/** Header fields of another tool's file, where numbers may stand without quotes. */
export const headerValues = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean()]).transform(String),
);

/** What became of one monitor of another tool. */
export interface Translation {
  readonly name: string;
  /** Null: it cannot be checked by Tocsin; `remarks` say why. */
  readonly fields: Readonly<Record<string, unknown>> | null;
  /** What could not be taken over, for people. */
  readonly remarks: readonly string[];
}

/** What another tool's file came to. */
export interface Imported {
  readonly monitors: readonly PlainMonitor[];
  /** By monitor, those with something to tell. */
  readonly remarks: readonly { readonly name: string; readonly remarks: readonly string[] }[];
  readonly skipped: number;
}

/**
 * Gives each monitor a key, and leaves out what the API would refuse.
 * @param toJudged of a URL that holds variables, which have no value yet; null: the tool has none
 */
export function gather(
  translations: readonly Translation[],
  toJudged: ((url: string) => string) | null,
): Imported {
  const taken = new Set<string>();
  const monitors: PlainMonitor[] = [];
  const remarks: { name: string; remarks: readonly string[] }[] = [];
  for (const { name, fields, remarks: said } of translations) {
    const all = [...said];
    if (fields !== null) {
      const externalId = keyFor(name, taken);
      const { url } = fields;
      const judged =
        toJudged !== null && typeof url === 'string' ? { ...fields, url: toJudged(url) } : fields;
      const { errors } = validateMonitor(monitorSetEntrySchema, { externalId, ...judged });
      if (errors.length === 0) monitors.push({ externalId, fields });
      else all.push(...errors.map(({ path, message }) => `left out: ${path} ${message}`));
    }
    if (all.length > 0) remarks.push({ name, remarks: all });
  }
  return { monitors, remarks, skipped: translations.length - monitors.length };
}

/** A number of seconds within the bounds of a field, in whole ones; says where it had to give way. */
export function seconds(
  given: unknown,
  field: 'interval' | 'timeout',
  remarks: string[],
): number | undefined {
  if (typeof given !== 'number' || !Number.isFinite(given)) return undefined;
  const bounds = field === 'interval' ? LIMITS.intervalSeconds : LIMITS.timeoutSeconds;
  const fitting = Math.min(Math.max(Math.round(given), bounds.min), bounds.max);
  if (fitting !== given) remarks.push(`${field} of ${given} s became ${fitting} s`);
  return fitting;
}

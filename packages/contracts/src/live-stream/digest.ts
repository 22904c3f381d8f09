import { z } from 'zod';
import { component } from '../fields.ts';
import type { MonitorOverview } from '../monitors/overview.ts';

const hash = z.string().regex(/^[0-9a-f]{16}$/);

export const digestSchema = component(
  'Digest',
  'Hashes over all monitors of the account, to compare with a list that was read before.',
  {
    statuses: hash.describe('Over the status of each monitor, and since when.'),
    configuration: hash.describe('Over the ids of the monitors, and when each was last edited.'),
    details: hash.describe(
      'Over the other details in a list: causes, failures in maintenance, open incidents and certificates.',
    ),
  },
);
export type Digest = z.infer<typeof digestSchema>;

/** Fields that a digest includes. */
export type DigestedMonitor = Pick<
  MonitorOverview,
  'id' | 'status' | 'statusSince' | 'errorDetail' | 'updatedAt' | 'certificateExpiresAt' | 'failing'
> & { readonly incident: Pick<NonNullable<MonitorOverview['incident']>, 'id' | 'acknowledgedAt'> | null };

/** Digest of an account. It does not depend on the order of the monitors. */
export function digestOf(monitors: Iterable<DigestedMonitor>): Digest {
  const statuses = new HashSum();
  const configuration = new HashSum();
  const details = new HashSum();
  for (const { id, status, statusSince, ...other } of monitors) {
    statuses.add(`${id} ${status} ${statusSince}`);
    const { updatedAt, certificateExpiresAt, errorDetail, failing, incident } = other;
    configuration.add(`${id} ${updatedAt}`);
    const { id: incidentId, acknowledgedAt } = incident ?? {};
    details.add([id, certificateExpiresAt, errorDetail, failing, incidentId, acknowledgedAt].join(' '));
  }
  return {
    statuses: statuses.toString(),
    configuration: configuration.toString(),
    details: details.toString(),
  };
}

/** Sums 64-bit hashes of texts in two halves with different factors. Not secure against forgery. */
class HashSum {
  #low = 0;
  #high = 0;

  add(text: string): void {
    let [low, high] = [0x9e3779b9, 0x85ebca6b];
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      low = Math.imul(low ^ code, 0x01000193);
      high = Math.imul(high ^ code, 0x5bd1e995);
      high ^= high >>> 15;
    }
    this.#low = (this.#low + mix(low)) >>> 0;
    this.#high = (this.#high + mix(high)) >>> 0;
  }

  toString(): string {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(8, '0')).join('');
  }
}

/** Mixes all bits, so that differences of similar texts do not cancel out in the sum. */
function mix(hashed: number): number {
  let mixed = Math.imul(hashed ^ (hashed >>> 16), 0x7feb352d);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}

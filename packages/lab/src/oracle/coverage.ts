import { outagesOf } from './outages.ts';
import {
  AGENT_CUT_KINDS,
  CUT_KINDS,
  type Evidence,
  type FaultRecord,
  type NetworkRecord,
  type SteadyRecord,
} from './record.ts';

/* A run proves nothing unless something could have been lost in it. */

/** Minimum share of the outages that last long enough for an alert to be due. */
const MIN_DUE_SHARE = 0.8;

export function unfiredFaults({ kinds, faults }: FaultRecord): string[] {
  return kinds
    .filter((kind) => !faults.some(({ name, firedAt }) => name === kind && firedAt !== null))
    .map((kind) => `${kind} was not: ${faults.find(({ name }) => name === kind)?.note ?? 'not planned'}`);
}

/** At least half of the failing targets must be noticed. */
export function unnoticedTargets({ monitors, database }: Evidence): string[] {
  const changed = new Set(database.statusChanges.map(({ monitorId, to }) => `${monitorId} ${to}`));
  const failing = monitors.filter(({ plan }) => plan.turns.some(({ state }) => state !== 'up'));
  const down = failing.filter(({ id }) => changed.has(`${id} DOWN`)).length;
  const isEnough = failing.length > 0 && 2 * down >= failing.length;
  return isEnough ? [] : [`${down} of ${failing.length} monitors were DOWN`];
}

export function idleFaults({ monitors, database, receipts, channels, windows }: FaultRecord): string[] {
  const changed = new Set(database.statusChanges.map(({ monitorId }) => monitorId));
  const wasMaintained = database.statusChanges.some(({ to }) => to === 'MAINTENANCE');
  // A monitor that was deleted may never have been checked.
  const unchanged = monitors.filter(({ id, deletedAt }) => deletedAt === null && !changed.has(id));
  const idle = channels.filter(({ plan }) => !receipts.some(({ key }) => key === plan.key));
  return [
    ...(windows.length > 0 && !wasMaintained ? ['no monitor was in maintenance'] : []),
    ...unchanged.map(({ plan }) => `${plan.key} never changed its status`),
    ...idle.map(({ plan }) => `${plan.key} received nothing`),
  ];
}

export function idleNetworks(record: NetworkRecord): string[] {
  const { plannedCuts, database, hasCanaries, agents } = record;
  const { cuts } = agents ?? record;
  const missing = (agents === null ? CUT_KINDS : AGENT_CUT_KINDS)
    .slice(0, plannedCuts)
    .filter((kind) => !cuts.some((cut) => cut.kind === kind));
  const outages = outagesOf(record);
  const due = outages.filter(({ dueAt }) => dueAt !== Infinity).length;
  const isEnough = due > 0 && due >= MIN_DUE_SHARE * outages.length;
  const hasDoubt = !hasCanaries || database.events.some(({ inconclusive }) => inconclusive);
  return [
    ...(cuts.length === plannedCuts ? [] : [`${cuts.length} of ${plannedCuts} cuts took place`]),
    ...missing.map((kind) => `no cut was ${kind}`),
    ...(isEnough ? [] : [`${due} of ${outages.length} outages lasted long enough`]),
    ...(hasDoubt ? [] : ['no result was inconclusive']),
  ];
}

export function idleSteady(record: SteadyRecord): string[] {
  const { slots, eventCounts, database, receipts, api, stream } = record;
  const changes = database.statusChanges.filter(({ webhookEvents }) => webhookEvents.length > 0);
  const needed = {
    'planned checks': slots.planned,
    events: eventCounts.size,
    'status changes': changes.length,
    webhooks: receipts.length,
    'API calls': api.responses,
    'records on the live stream': stream.records,
  };
  return Object.entries(needed).flatMap(([what, count]) => (count === 0 ? [`there were no ${what}`] : []));
}

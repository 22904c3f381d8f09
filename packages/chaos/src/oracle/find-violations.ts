import { ASSIGNMENT_CHECKS } from './assignments.ts';
import { CAMPAIGN_EVENT_CHECKS, EVENT_CHECKS } from './checks.ts';
import { CAMPAIGN_DELIVERY_CHECKS, DELIVERY_CHECKS } from './deliveries.ts';
import { MAINTENANCE_CHECKS } from './maintenance.ts';
import { wrongNeighbor } from './neighbor.ts';
import type { CampaignRecord, Check, Evidence, Violation } from './record.ts';
import { SCRAPE_CHECKS } from './scrapes.ts';
import { STATUS_CHECKS, wrongFinalStatuses } from './statuses.ts';

/** What must hold in every run. */
export const EVIDENCE_CHECKS: readonly Check<Evidence>[] = [
  ...EVENT_CHECKS,
  ...STATUS_CHECKS,
  ...DELIVERY_CHECKS,
];

const CAMPAIGN_CHECKS: readonly Check<CampaignRecord>[] = [
  ['every kind of fault is fired', unfiredFaults],
  ['the campaign has alerts to lose', idleCampaign],
  ['services recover by themselves', ({ serviceProblems }) => [...serviceProblems]],
  ['the API responds with no 5xx but 503 and 504', internalErrors],
  ...CAMPAIGN_EVENT_CHECKS,
  ...MAINTENANCE_CHECKS,
  ...ASSIGNMENT_CHECKS,
  ...SCRAPE_CHECKS,
  ['each monitor shows the state of its target', wrongFinalStatuses],
  ...CAMPAIGN_DELIVERY_CHECKS,
  ['the neighbor affects no other account', wrongNeighbor],
  ...EVIDENCE_CHECKS,
];

/** The violations of a fault campaign. */
export function findViolations(record: CampaignRecord): Violation[] {
  return runChecks(CAMPAIGN_CHECKS, record);
}

export function runChecks<Of>(checks: readonly Check<Of>[], record: Of): Violation[] {
  return checks.flatMap(([invariant, find]) => find(record).map((detail) => ({ invariant, detail })));
}

function unfiredFaults({ kinds, faults }: CampaignRecord): string[] {
  return kinds
    .filter((kind) => !faults.some(({ name, firedAt }) => name === kind && firedAt !== null))
    .map((kind) => `${kind} was not: ${faults.find(({ name }) => name === kind)?.note ?? 'not planned'}`);
}

/** A campaign without alerts proves nothing: each monitor came up, and half of those whose target fails went DOWN. */
function idleCampaign({ monitors, database, receipts, channels, windows }: CampaignRecord): string[] {
  const changes = new Set(
    database.statusChanges.flatMap(({ monitorId, to }) => [monitorId, `${monitorId} ${to}`]),
  );
  const failing = monitors.filter(({ plan }) => plan.turns.some(({ state }) => state !== 'up'));
  const down = failing.filter(({ id }) => changes.has(`${id} DOWN`)).length;
  const wasMaintained = database.statusChanges.some(({ to }) => to === 'MAINTENANCE');
  // A monitor that was deleted may never have been checked.
  const unchanged = monitors.filter(({ id, deletedAt }) => deletedAt === null && !changes.has(id));
  const idle = channels.filter(({ plan }) => !receipts.some(({ key }) => key === plan.key));
  return [
    ...(windows.length > 0 && !wasMaintained ? ['no monitor was in maintenance'] : []),
    ...unchanged.map(({ plan }) => `${plan.key} never changed its status`),
    ...(failing.length > 0 && 2 * down >= failing.length
      ? []
      : [`${down} of ${failing.length} monitors were DOWN`]),
    ...idle.map(({ plan }) => `${plan.key} received nothing`),
  ];
}

function internalErrors({ apiStatuses }: CampaignRecord): string[] {
  return [...apiStatuses]
    .filter(([status]) => status >= 500 && status !== 503 && status !== 504)
    .map(([status, count]) => `${count} responses had status ${status}`);
}

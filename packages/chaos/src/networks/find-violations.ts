import { runChecks } from '../oracle/find-violations.ts';
import type { Check, Violation } from '../oracle/record.ts';
import { ALERT_CHECKS, outagesOf } from './alerts.ts';
import { ISOLATION_CHECKS } from './isolations.ts';
import { CUT_KINDS, type NetworkRecord } from './record.ts';

const CAMPAIGN_CHECKS: readonly Check<NetworkRecord>[] = [
  ['the campaign has something to lose', idleCampaign],
  ['each monitor is UP at the end', notUp],
];
/** The share of the outages that must last long enough to be due. */
const MIN_DUE_SHARE = 0.8;

/** The violations of a campaign. Without canaries no region is isolated. */
export function findNetworkViolations(record: NetworkRecord): Violation[] {
  const isolationChecks = record.hasCanaries ? ISOLATION_CHECKS : [];
  return runChecks([...CAMPAIGN_CHECKS, ...ALERT_CHECKS, ...isolationChecks], record);
}

function idleCampaign(record: NetworkRecord): string[] {
  const { cuts, plannedCuts, events, hasCanaries } = record;
  const kinds = CUT_KINDS.slice(0, plannedCuts).filter((kind) => !cuts.some((cut) => cut.kind === kind));
  const outages = outagesOf(record);
  const due = outages.filter(({ dueAt }) => dueAt !== Infinity).length;
  return [
    ...(cuts.length === plannedCuts ? [] : [`${cuts.length} of ${plannedCuts} cuts took place`]),
    ...kinds.map((kind) => `no cut was ${kind}`),
    ...(due > 0 && due >= MIN_DUE_SHARE * outages.length
      ? []
      : [`${due} of ${outages.length} outages lasted long enough`]),
    ...(hasCanaries && !events.some(({ inconclusive }) => inconclusive)
      ? ['no result was inconclusive']
      : []),
  ];
}

function notUp({ monitors, notUp }: NetworkRecord): string[] {
  return monitors.filter(({ id }) => notUp.includes(id)).map(({ key }) => `${key} is not UP`);
}

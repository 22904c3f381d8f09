import { GRACE_MS, slotOffsetMs } from '@tocsin/core/schedule/slots';
import { gapsOver, historiesOf, iso, overlaps } from './history.ts';
import { regionOfAgent, SLACK_MS } from './reachability.ts';
import type { AgentFacts, Check, EventFacts, MonitorFacts, NetworkMonitor, NetworkRecord } from './record.ts';

/** Checks of a campaign in which agents probe. */
export const AGENT_CHECKS: readonly Check<NetworkRecord>[] = [
  ['every result of a surviving agent is recorded', lostResults],
  ['a healthy target is checked, except while agents are disconnected', unexplainedGaps],
];

/** After the end of a disturbance, checks are in time again. */
const SETTLED_WITHIN_MS = 30_000;
/** An agent may repeat a check whose first result has just been recorded. Shorter than every interval. */
const REPEATED_WITHIN_MS = 2_000;
/** A response takes less than this to reach its agent. */
const IN_FLIGHT_MS = 1_000;
/** Later visits may not be recorded at the end. */
const LAST_RESULTS_MS = 20_000;

/** The slot of each response that an agent received must have an event. Canaries are also probed without a check. */
function lostResults(record: NetworkRecord): string[] {
  const { agents, endedAt } = record;
  if (agents === null) return [];
  const histories = historiesOf(record).filter(({ monitor }) => !monitor.plan.key.startsWith('canary'));
  return histories.flatMap(({ monitor, events, visits }) =>
    visits.flatMap(({ at, client, respondedAt }) => {
      const name = agents.addresses.get(client) ?? '';
      const isReceived =
        respondedAt !== null &&
        at < endedAt - LAST_RESULTS_MS &&
        !isCutOff(agents, name, at) &&
        survives(agents, name, at);
      const own = events.filter(({ region }) => region === regionOfAgent(name));
      if (!isReceived || own.some((event) => explains(event, monitor, at))) return [];
      return [`${monitor.plan.key}: the response of ${iso(at)} to ${name} has no event`];
    }),
  );
}

/** True if the event is of the last slot before a request, or of an earlier check that may have sent it. */
function explains({ slot, timestamp }: EventFacts, { id, plan }: MonitorFacts, at: number): boolean {
  if (slot === null) return false;
  const intervalMs = plan.intervalSeconds * 1_000;
  const isOfSlot = slot === at - ((at - slotOffsetMs(id, intervalMs)) % intervalMs);
  const maxLateMs = intervalMs + GRACE_MS + 2 * plan.timeoutSeconds * 1_000;
  return isOfSlot || (slot <= at && at <= Math.min(timestamp + REPEATED_WITHIN_MS, slot + maxLateMs));
}

/** True if a response may not have reached its agent. */
function isCutOff({ cuts }: AgentFacts, name: string, at: number): boolean {
  return cuts.some(
    ({ region, kind, from, until }) =>
      region === name && kind !== 'gateway' && from - IN_FLIGHT_MS < at && at < until,
  );
}

/** True if an agent was not killed before it could return a result. */
function survives({ cuts, kills }: AgentFacts, name: string, at: number): boolean {
  const own = cuts.filter(({ region }) => region === name);
  return !kills.some(({ region, from: killedAt }) => {
    const isCutOff = own.some(({ from, until }) => from - SLACK_MS < at && killedAt < until + 2 * SLACK_MS);
    return region === name && killedAt >= at && (isCutOff || killedAt < at + SLACK_MS);
  });
}

/** Right after a cut or kill, checks wait for the agent or gateway that is gone, and the next ones are missed, too. */
function unexplainedGaps(record: NetworkRecord): string[] {
  const disturbed = [...(record.agents?.cuts ?? []), ...(record.agents?.kills ?? [])];
  return historiesOf(record).flatMap(({ monitor: { plan }, events }) => {
    const own = disturbed.filter(({ region }) =>
      ['gateway', ...plan.regions].includes(regionOfAgent(region)),
    );
    const { outages, sleeps, intervalSeconds } = plan as NetworkMonitor;
    if (record.agents === null || outages.length > 0 || sleeps) return [];
    const slots = events.flatMap(({ slot }) => slot ?? []).toSorted((one, other) => one - other);
    return gapsOver(intervalSeconds * 1_000, slots)
      .filter(
        (gap) => !own.some(({ from, until }) => overlaps(gap, { from, until: until + SETTLED_WITHIN_MS })),
      )
      .map(({ from, until }) => `${plan.key} was not checked between ${iso(from)} and ${iso(until)}`);
  });
}

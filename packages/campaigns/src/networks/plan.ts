import { plainMonitor, type MonitorPlan } from '@tocsin/lab/load/world-plan';
import { disturbancesOfRegions, downBy, NOTICED_WITHIN_MS, upBy } from '@tocsin/lab/oracle/reachability';
import {
  AGENT_CUT_KINDS,
  CUT_KINDS,
  type Cut,
  type Disturbances,
  type Loss,
  type NetworkMonitor,
  type Outage,
  type RegionSpan,
} from '@tocsin/lab/oracle/record';
import { Random } from '@tocsin/lab/random';

export const REGIONS = ['r1', 'r2', 'r3'] as const;
/** Each has a network, whose name begins with the region. Only the second region has canaries. */
const AGENTS = ['r1-a', 'r1-b', 'r2-a', 'r2-b'] as const;
export const GATEWAYS = ['gateway-a', 'gateway-b'] as const;
/** Each region has two canaries with a host name, and one with an address. */
const CANARIES = 3;
const MIN_CUT_MS = 5_000;
const MIN_AGENT_CUT_MS = 1_000;
const FIRST_CUT_MS = [2_000, 12_000] as const;
/** Their links lose packets between every second cut and the next one. */
const LOSSY_REGIONS: ReadonlySet<string> = new Set(['r2', 'r3']);
const LOST_PERCENT = [5, 10] as const;
/**
 * Within this time, Linux sends the first packet of a connection five times. At a loss of 10 %, one check in 4,000 gets no response. Only
 * one in several millions gets no response to its second probe either.
 */
const LOSSY_TIMEOUT_SECONDS = 5;
/** The pause between two cuts of a region. Each monitor can be checked before the next cut only after a long pause. */
const GAP_MS = [6_000, 60_000] as const;
/** Share of the cuts during which the checker is killed, either soon after the start, while results wait, or around the end. */
const KILLED_SHARE = 1 / 3;
const KILL_AFTER_MS = [500, 9_000] as const;
const KILL_AROUND_END_MS = [-2_000, 3_000] as const;
const GATEWAY_KILL_EVERY_MS = [30_000, 90_000] as const;
/** Allowances for a busy machine, which may start checkers and cuts late. Outages must still last long enough. */
const START_MS = 20_000;
const CUT_LATENESS_MS = 1_000;
/** Shares of the monitors that have outages, and of those with an interval so long that checks after an isolation are extra. */
const FAILING_SHARE = 0.4;
const SLOW = { share: 0.1, intervalSeconds: 60 } as const;
const FIRST_OUTAGE_MS = [2_000, 60_000] as const;
const CALM_MS = [20_000, 120_000] as const;
/** An outage lasts this much longer than its detection may take. */
const EXTRA_MS = [8_000, 20_000] as const;
const OUTAGE_KINDS = ['down', 'reset', 'hang', 'hang', 'gone'] as const;
/** Share of the outages that are cold if the monitor permits it, and share of the healthy targets that sleep if the threshold is 3. */
const COLD_SHARE = 0.75;
const SLEEPING_SHARE = 0.4;
/** The interval exceeds the timeout by at least this much, so that every check finds a cold target asleep. */
const COLD_PAUSE_SECONDS = 5;

export interface NetworkPlan extends Disturbances {
  readonly seed: number;
  readonly hasAgents: boolean;
  /** Names of the networks, each with a checker or an agent. */
  readonly networks: readonly string[];
  readonly losses: readonly Loss[];
  readonly monitors: readonly NetworkMonitor[];
  /** End of the campaign. Everything must have recovered by then. */
  readonly endsAt: number;
}

export interface NetworkPlanOptions {
  readonly seed: number;
  readonly targets: number;
  readonly cuts: number;
  readonly maxCutMs: number;
  /** Lets agents probe instead of checkers. */
  readonly hasAgents?: boolean;
}

/** Plans a campaign. Times are milliseconds since its start. */
export function planNetworks(options: NetworkPlanOptions): NetworkPlan {
  const { seed, targets, hasAgents = false } = options;
  const networks = hasAgents ? AGENTS : REGIONS;
  const planned = planDisturbances(new Random(seed, 'cuts'), networks, options);
  const late = { kills: planned.kills, cuts: planned.cuts.map(withLateness) };
  const lastCutAt = Math.max(...late.cuts.map(({ until }) => until));
  const disturbances = hasAgents ? disturbancesOfRegions(late) : late;
  const random = new Random(seed, 'monitors');
  const watched = Array.from({ length: targets }, (_, index) => {
    const monitor = planMonitor(random, index, hasAgents);
    const outages = planOutages(random, monitor, disturbances, lastCutAt);
    const isHealthy = outages.length === 0;
    // With a threshold of 1, the check that wakes the target would be a reason for an alert.
    const sleeps = isHealthy && monitor.failureThreshold > 1 && random.chance(SLEEPING_SHARE);
    return { ...monitor, outages, sleeps };
  });
  const ends = watched.flatMap((monitor) =>
    monitor.outages.map(({ until }) => upBy(disturbances, monitor, until)),
  );
  return {
    seed,
    hasAgents,
    networks,
    ...planned,
    kills: [
      ...planned.kills,
      ...(hasAgents ? planGatewayKills(new Random(seed, 'gateways'), lastCutAt) : []),
    ],
    monitors: [
      ...(hasAgents ? ['r2'] : REGIONS).flatMap((region) => planCanaries(region, !hasAgents)),
      ...watched,
    ],
    endsAt: Math.max(lastCutAt + SLOW.intervalSeconds * 1_000, ...ends),
  };
}

function withLateness(cut: Cut): Cut {
  return { ...cut, until: cut.until + CUT_LATENESS_MS };
}

function planDisturbances(
  random: Random,
  networks: readonly string[],
  { cuts: count, maxCutMs, hasAgents = false }: NetworkPlanOptions,
): Disturbances & Pick<NetworkPlan, 'losses'> {
  const all: Cut[] = [];
  const kills: RegionSpan[] = [];
  const losses: Loss[] = [];
  const kinds = hasAgents ? AGENT_CUT_KINDS : CUT_KINDS;
  for (const [number, region] of networks.entries()) {
    let at = random.integer(...FIRST_CUT_MS);
    for (let index = number; index < count; index += networks.length) {
      // Kinds take turns, so that even a few cuts include every kind.
      const kind = kinds[(index + Math.floor(index / kinds.length)) % kinds.length] ?? 'silent';
      const until = at + random.integer(hasAgents ? MIN_AGENT_CUT_MS : MIN_CUT_MS, maxCutMs);
      all.push({ region, kind, from: at, until });
      if (random.chance(KILLED_SHARE)) {
        const from = random.chance(1 / 2)
          ? Math.min(until, at + random.integer(...KILL_AFTER_MS))
          : until + random.integer(...KILL_AROUND_END_MS);
        kills.push({ region, from, until: from + START_MS });
      }
      at = until + random.integer(...GAP_MS);
      if (LOSSY_REGIONS.has(region) && Math.floor(index / networks.length) % 2 === 0)
        losses.push({ region, percent: random.integer(...LOST_PERCENT), from: until, until: at });
    }
  }
  return { cuts: all, kills, losses };
}

function planGatewayKills(random: Random, until: number): RegionSpan[] {
  const kills: RegionSpan[] = [];
  for (let from = 0; from < until; from += random.integer(...GATEWAY_KILL_EVERY_MS))
    kills.push({ region: random.pick(GATEWAYS), from, until: from + START_MS });
  return kills;
}

/** @param isCanary false if they must not alert for their region, because agents need no canaries to notice that it is cut off */
function planCanaries(region: string, isCanary: boolean): NetworkMonitor[] {
  return Array.from({ length: CANARIES }, (_, index) => ({
    ...plainMonitor(`canary-${region}-${index}`, region),
    failureThreshold: 1,
    byName: index < CANARIES - 1,
    isCanary,
    sleeps: false,
    outages: [],
  }));
}

/** Every combination of settings has the same share. */
function planMonitor(
  random: Random,
  index: number,
  hasAgents: boolean,
): Omit<NetworkMonitor, 'outages' | 'sleeps'> {
  const bit = (position: number): boolean => Math.floor(index / 2 ** position) % 2 === 1;
  const all = hasAgents ? (['r1', 'r2'] as const) : REGIONS;
  // Two regions would seldom have an agent together.
  const regions = bit(1) && !hasAgents ? all : [all[Math.floor(index / 16) % all.length] ?? REGIONS[0]];
  const timeoutSeconds = regions.some((region) => LOSSY_REGIONS.has(region))
    ? LOSSY_TIMEOUT_SECONDS
    : random.integer(2, 5);
  const isSlow = !hasAgents && random.chance(SLOW.share);
  const intervalSeconds = isSlow ? SLOW.intervalSeconds : random.integer(Math.max(5, timeoutSeconds + 1), 10);
  return {
    ...plainMonitor(`monitor-${index}`, ''),
    isCanary: false,
    byName: bit(0),
    regions,
    failureThreshold: bit(2) && !isSlow ? 3 : 1,
    recoveryThreshold: bit(3) && !isSlow ? 2 : 1,
    retryIntervalSeconds: bit(3) ? 5 : null,
    intervalSeconds,
    timeoutSeconds,
  };
}

function planOutages(
  random: Random,
  monitor: MonitorPlan,
  disturbances: Disturbances,
  lastCutAt: number,
): Outage[] {
  if (!random.chance(FAILING_SHARE)) return [];
  if (monitor.intervalSeconds === SLOW.intervalSeconds)
    return planHiddenOutage(random, monitor, disturbances);
  const outages: Outage[] = [];
  let from = random.integer(...FIRST_OUTAGE_MS);
  while (from < lastCutAt) {
    const outage = planOutage(random, monitor, disturbances, from);
    outages.push(outage);
    from = upBy(disturbances, monitor, outage.until) + random.integer(...CALM_MS);
  }
  return outages;
}

/** Plans an outage that begins while the region is cut off, so that only the check after the isolation detects it in time. */
function planHiddenOutage(random: Random, monitor: MonitorPlan, disturbances: Disturbances): Outage[] {
  const long = disturbances.cuts.filter(
    ({ region, kind, from, until }) =>
      kind !== 'dns' &&
      monitor.regions.length === 1 &&
      monitor.regions[0] === region &&
      until - from > NOTICED_WITHIN_MS + CUT_LATENESS_MS,
  );
  if (long.length === 0) return [];
  const { from, until } = random.pick(long);
  return [planOutage(random, monitor, disturbances, random.integer(from, until - CUT_LATENESS_MS))];
}

function planOutage(random: Random, monitor: MonitorPlan, disturbances: Disturbances, from: number): Outage {
  const kind = planOutageKind(random, monitor);
  const until = downBy(disturbances, monitor, { kind, from }) + random.integer(...EXTRA_MS);
  return { kind, from, until };
}

function planOutageKind(
  random: Random,
  { byName, intervalSeconds, timeoutSeconds, retryIntervalSeconds }: MonitorPlan,
): Outage['kind'] {
  const kind = random.pick(OUTAGE_KINDS);
  // Every check must find the target asleep, except the second probe.
  const canBeCold = retryIntervalSeconds === null && intervalSeconds >= timeoutSeconds + COLD_PAUSE_SECONDS;
  if (canBeCold && intervalSeconds !== SLOW.intervalSeconds && random.chance(COLD_SHARE)) return 'cold';
  return kind === 'gone' && !byName ? 'reset' : kind;
}

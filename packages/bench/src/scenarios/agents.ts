import { TcpProxy, type TcpProxyOptions } from '@tocsin/embedded/testing/tcp-proxy';
import { insertMonitors, untilApplied, untilChecked } from '@tocsin/lab/monitors';
import {
  lagFigures,
  measureChecks,
  measureInTurns,
  untilSettled,
  type CheckWindow,
} from '../measure/checks.ts';
import { cpuPerCheck } from '../measure/usage.ts';
import { atMost, figure, type Figure } from '../report/figure.ts';
import { openStage, type Stage } from '../stage.ts';
import { measureOutages } from './load.ts';
import type { Bench, Measurement } from './scenario.ts';

const REGIONS = { agent: 'branch-office', checker: 'default' } as const;
const OUTAGES = 200;

export interface AgentsPlan {
  /** Planned checks per second. */
  readonly rate: number;
  /** Upper limits of figures, by key. */
  readonly maximums: Readonly<Record<string, number>>;
}

/** The same load in turns through an agent, which is beside its targets, and through a checker beside the stores. */
export async function runAgents(bench: Bench, plan: AgentsPlan & TcpProxyOptions): Promise<Measurement> {
  const { interval = 10, seconds = 20, rate = plan.rate, monitors = rate * interval } = bench.options;
  const { delay: roundTripMs = plan.roundTripMs ?? 0, stalls = plan.stalls ?? 0 } = bench.options;
  const stage = await openStage(bench);
  await Promise.all([stage.startService('api'), stage.startService('notifier')]);
  const token = await stage.system.createAgentRegion(REGIONS.agent);
  const ids = { agent: [''], checker: [''] };
  for (const side of ['agent', 'checker'] as const) {
    bench.say(`Scheduling ${monitors} monitors of the ${side} …`);
    const url = (number: number): string => `${stage.targetUrl}/${number < OUTAGES ? 'f' : 'm'}/${number}`;
    const all = { count: monitors, intervalSeconds: interval, url, region: REGIONS[side] };
    ids[side] = await insertMonitors(stage.system, all);
    await stage.system.createChannel(stage.receiver.url, ids[side].slice(0, OUTAGES));
  }
  await untilApplied(stage.system);
  const webhooks: Record<string, Figure[]> = {};
  const windows = await measureInTurns(['agent', 'checker'], async (side) => {
    const startedAt = Date.now();
    if (side === 'checker') await stage.startCheckers(1);
    else await startAgent(bench, stage, token, { roundTripMs, stalls });
    await untilChecked(stage.system, startedAt, ids[side]);
    await untilSettled(stage, seconds);
    bench.say(`Measuring the ${side} for ${seconds} s …`);
    const window = await measureChecks(stage, ids[side], interval, seconds);
    webhooks[side] ??= await measureOutages(bench, stage, { interval }, ids[side].slice(0, OUTAGES));
    await stage.stopServices('agent');
    await stage.stopServices('checker');
    return window;
  });
  const memory = (windows.agent.usage.get('agent')?.rssBytes ?? Number.NaN) / 1e6;
  const figures = [
    ...(['agent', 'checker'] as const).flatMap((side) =>
      [...figuresOf(windows[side]), ...(webhooks[side] ?? [])].map(({ key, label, value, unit }) =>
        figure(`${side}-${key}`, `${side}: ${label}`, value, unit),
      ),
    ),
    figure('cpu-ratio', 'CPU per check, agent ÷ checker', cpuOf(windows.agent) / cpuOf(windows.checker), '×'),
    figure('memory', 'memory of the agent', memory, 'MB'),
  ].map(({ key, label, value, unit }) => figure(key, label, value, unit, atMost(plan.maximums[key])));
  return { settings: { rate, interval, monitors, seconds, delay: roundTripMs, stalls }, figures };
}

/** Starts an agent with a gateway and a proxy between them. */
async function startAgent(
  { teardown }: Bench,
  stage: Stage,
  token: string,
  distance: TcpProxyOptions,
): Promise<void> {
  const gateway = await stage.startService('checker gateway', { AGENT_PORT: '0' });
  const url = `http://127.0.0.1:${gateway.agentPort}`;
  const proxy = await teardown.start(TcpProxy.start(url, distance), (one) => one.stop());
  const TOCSIN_URL = (distance.roundTripMs ?? 0) > 0 ? proxy.through(url) : url;
  await stage.startService('agent', { TOCSIN_URL, AGENT_TOKEN: token });
}

function figuresOf({ recorded, seconds, missed, lag, usage }: CheckWindow): Figure[] {
  return [
    figure('done', 'checks recorded', recorded / seconds, '/s'),
    figure('missed', 'slots without an event', missed, ''),
    ...lagFigures(lag),
    ...cpuPerCheck(usage, recorded),
  ];
}

function cpuOf({ usage, recorded }: CheckWindow): number {
  return cpuPerCheck(usage, recorded)[0]?.value ?? Number.NaN;
}

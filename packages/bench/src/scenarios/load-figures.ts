import type { RecordedChecks } from '../measure/events.ts';
import { histogramPercentile, type Histogram } from '../measure/histogram.ts';
import type { Usage } from '../measure/proc.ts';
import type { Span } from '../measure/slots.ts';
import type { WebhookLag } from '../measure/webhook-lag.ts';
import type { FloorReport } from '../processes/floor-client.ts';
import type { Figure } from '../report/figure.ts';

export interface Load {
  /** Checks per second that the schedules ask for. */
  readonly rate: number;
  /** Seconds. */
  readonly interval: number;
  readonly monitors: number;
  /** Length of the measured window. */
  readonly seconds: number;
  readonly checkers: number;
  readonly protocol: 'http' | 'https';
  readonly queue: 'redis' | 'postgres';
  /** Monitors whose target goes down and up again once. */
  readonly outages: number;
}

/** What was read at both ends of the measured window. */
export interface WindowReading {
  readonly span: Span;
  /** The same on the monotonic clock, nanoseconds. */
  readonly clock: { readonly from: bigint; readonly to: bigint };
  readonly usageBefore: ReadonlyMap<string, Usage>;
  readonly usageAfter: ReadonlyMap<string, Usage>;
  /** Of the checkers' schedule lag, seconds. */
  readonly lag: Histogram;
  readonly checks: RecordedChecks;
  readonly redisBytesPerMonitor: number;
  readonly postgresBytesPerCheck: number;
  /** Of the outages after the window; null for none. */
  readonly webhooks: WebhookLag | null;
}

const SYSTEM = ['redis', 'postgres', 'api', 'notifier'];

export function loadFigures(load: Load, reading: WindowReading, floors: readonly FloorReport[]): Figure[] {
  const { checks, span } = reading;
  const seconds = (span.to - span.from) / 1_000;
  const cost = (name: string): number => cpuMs(reading, name) * 1_000;
  const checkers = [...reading.usageAfter.keys()].filter((name) => name.startsWith('checker'));
  const perCheck = (names: readonly string[]): number =>
    names.reduce((total, name) => total + cost(name), 0) / checks.recorded;
  const checker = perCheck(checkers);
  const stores = ['redis', 'postgres'].filter((name) => reading.usageAfter.has(name));
  const floor = floorMicros(floors);
  return [
    { key: 'offered', label: 'checks asked for', value: checks.expected / seconds, unit: '/s' },
    { key: 'done', label: 'checks recorded', value: checks.recorded / seconds, unit: '/s' },
    { key: 'missed', label: 'slots without an event', value: checks.missed, unit: '' },
    ...lagFigures(reading),
    {
      key: 'cpu',
      label: 'CPU per check, checker and stores',
      value: perCheck([...checkers, ...stores]),
      unit: 'µs',
    },
    { key: 'cpu-checker', label: '  checker', value: checker, unit: 'µs' },
    ...SYSTEM.filter((name) => reading.usageAfter.has(name)).map((name): Figure => ({
      key: `cpu-${name}`,
      label: `  ${name}`,
      value: perCheck([name]),
      unit: 'µs',
    })),
    {
      key: 'cpu-target',
      label: '  (the target, not of the system)',
      value: perCheck(['web-target']),
      unit: 'µs',
    },
    { key: 'floor', label: 'CPU of a bare request', value: floor, unit: 'µs' },
    { key: 'checker-to-floor', label: 'checker ÷ bare request', value: checker / floor, unit: '×' },
    ...memoryFigures(reading, [...checkers, ...SYSTEM]),
    ...(load.queue === 'redis'
      ? [figure('redis-bytes', 'Redis memory per monitor', reading.redisBytesPerMonitor, 'B')]
      : []),
    figure('postgres-bytes', 'Postgres bytes per check, with index', reading.postgresBytesPerCheck, 'B'),
    ...webhookFigures(reading.webhooks),
  ];
}

function lagFigures({ lag, checks }: WindowReading): Figure[] {
  const started = (percent: number): number => histogramPercentile(lag, percent) * 1_000;
  return [
    figure('lag-p50', 'schedule lag p50', started(50), 'ms'),
    figure('lag-p95', 'schedule lag p95', started(95), 'ms'),
    figure('lag-p99', 'schedule lag p99', started(99), 'ms'),
    figure('recorded-p50', 'slot to recorded, without probe, p50', checks.recordedAfterMs.p50, 'ms'),
    figure('recorded-p99', 'slot to recorded, without probe, p99', checks.recordedAfterMs.p99, 'ms'),
    figure('recorded-max', 'slot to recorded, without probe, max', checks.recordedAfterMs.max, 'ms'),
  ];
}

function memoryFigures({ usageAfter }: WindowReading, names: readonly string[]): Figure[] {
  return names
    .filter((name) => usageAfter.has(name))
    .map((name) => figure(`rss-${name}`, `memory of ${name}`, megabytes(usageAfter.get(name)), 'MB'));
}

function webhookFigures(lag: WebhookLag | null): Figure[] {
  if (lag === null) return [];
  return [
    figure('webhook-p50', "target's answer to webhook p50", lag.sinceAnswerMs.p50, 'ms'),
    figure('webhook-p99', "target's answer to webhook p99", lag.sinceAnswerMs.p99, 'ms'),
    figure('webhook-stamp-p99', 'recorded to webhook p99', lag.sinceStampMs.p99, 'ms'),
    figure('webhook-count', 'webhooks measured', lag.sinceAnswerMs.count, ''),
    figure('webhook-missing', 'webhooks that did not come', lag.missing, ''),
  ];
}

function figure(key: string, label: string, value: number, unit: Figure['unit']): Figure {
  return { key, label, value, unit };
}

function cpuMs({ usageBefore, usageAfter }: WindowReading, name: string): number {
  return (usageAfter.get(name)?.cpuMs ?? Number.NaN) - (usageBefore.get(name)?.cpuMs ?? Number.NaN);
}

/** The mean of those before and after, per request that worked. */
function floorMicros(floors: readonly FloorReport[]): number {
  const requests = floors.reduce((sum, { requests, failures }) => sum + requests - failures, 0);
  return (floors.reduce((sum, floor) => sum + floor.cpuMs, 0) * 1_000) / requests;
}

function megabytes(usage: Usage | undefined): number {
  return usage === undefined ? Number.NaN : usage.rssBytes / 1_000_000;
}

import type { RecordedChecks } from '../measure/events.ts';
import { histogramPercentile, type Histogram } from '../measure/histogram.ts';
import { cpuPerCheck, memoryFigures } from './usage-figures.ts';
import type { Window } from '../measure/window.ts';
import type { WebhookLag } from '../measure/webhook-lag.ts';
import type { FloorReport } from '../processes/floor-client.ts';
import { figure, type Figure } from '../report/figure.ts';

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
  readonly window: Window;
  /** Of the checkers' schedule lag, seconds. */
  readonly lag: Histogram;
  readonly checks: RecordedChecks;
  readonly redisBytesPerMonitor: number;
  readonly postgresBytesPerCheck: number;
  /** Of the outages after the window; null for none. */
  readonly webhooks: WebhookLag | null;
}

export function loadFigures(load: Load, reading: WindowReading, floors: readonly FloorReport[]): Figure[] {
  const { checks, window } = reading;
  const seconds = (window.span.to - window.span.from) / 1_000;
  const cpu = cpuPerCheck(window.usage, checks.recorded);
  const floor = floorMicros(floors);
  const checker = cpu.find(({ key }) => key === 'cpu-checker')?.value ?? Number.NaN;
  return [
    figure('offered', 'checks asked for', checks.expected / seconds, '/s'),
    figure('done', 'checks recorded', checks.recorded / seconds, '/s'),
    figure('missed', 'slots without an event', checks.missed, ''),
    figure('failed', 'checks that failed', checks.failed, ''),
    ...lagFigures(reading),
    ...cpu,
    figure('floor', 'CPU of a bare request', floor, 'µs'),
    figure('checker-to-floor', 'checker ÷ bare request', checker / floor, '×'),
    ...memoryFigures(window.usage),
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

/** The mean of those before and after, per request that worked. */
function floorMicros(floors: readonly FloorReport[]): number {
  const requests = floors.reduce((sum, { requests, failures }) => sum + requests - failures, 0);
  return (floors.reduce((sum, floor) => sum + floor.cpuMs, 0) * 1_000) / requests;
}

import { distributionOf } from '@tocsin/bench/measure/percentiles';
import type { Violation } from '../oracle/record.ts';
import { describeViolations, markdownTable, sum } from '../report.ts';
import { alertsOf, falseAlerts, outagesOf } from './alerts.ts';
import { busiestSecond, doubtfulOf, noticeTimes, rechecksOf, waitsOf } from './isolations.ts';
import { CUT_KINDS, type NetworkRecord, type Span } from './record.ts';

/** A campaign as text for a terminal. */
export function describeNetworks(record: NetworkRecord, violations: readonly Violation[]): string {
  return [markdownTable(['what', 'value'], rowsOf(record)), ...describeViolations(violations)].join('\n\n');
}

function rowsOf(record: NetworkRecord): string[][] {
  const { cuts, kills, losses, events, monitors, startedAt, endedAt, longestStallMs } = record;
  const alerts = alertsOf(record);
  const canaries = alerts.filter(({ monitor }) => monitor.isCanary);
  const outages = outagesOf(record);
  const due = outages.filter(({ dueAt }) => dueAt !== Infinity);
  const cold = due.filter(({ outage }) => outage.kind === 'cold');
  const rechecks = rechecksOf(record);
  const delays = due.flatMap(({ outage, downs: [first] }) => (first ? [first.timestamp - outage.from] : []));
  const notices = noticeTimes(record).flatMap(({ ms }) => ms ?? []);
  const waits = waitsOf(record).map(({ ms }) => ms);
  const firstChecks = rechecks.map(({ isolation, events: checks }) => {
    const first = new Map(checks.toReversed().map(({ monitorId, timestamp }) => [monitorId, timestamp]));
    return Math.max(0, ...first.values()) - isolation.until;
  });
  const extra = rechecks.map(busiestSecond);
  return [
    [
      'minutes; monitors; canaries',
      `${((endedAt - startedAt) / 60_000).toFixed(1)}; ${count(monitors.length - canaries.length)}; ${count(canaries.length)}`,
    ],
    [
      `cuts: ${CUT_KINDS.join(', ')}`,
      CUT_KINDS.map((kind) => cuts.filter((cut) => cut.kind === kind).length).join(', '),
    ],
    ['time cut off, all regions together', `${secondsOf(cuts)} s`],
    ['lossy links; time', `${count(losses.length)}; ${secondsOf(losses)} s`],
    ['kills of checkers', count(kills.length)],
    [
      'checks; inconclusive; doubtful',
      `${count(events.length)}; ${count(events.filter(({ inconclusive }) => inconclusive).length)}; ${count(doubtfulOf(record).length)}`,
    ],
    ['false alerts', count(falseAlerts(record).length)],
    ["canaries' own alerts", count(sum(canaries.map(({ downs }) => downs.length)))],
    [
      'outages; due; detected',
      `${count(outages.length)}; ${count(due.length)}; ${count(outages.filter(({ downs }) => downs.length > 0).length)}`,
    ],
    [
      'targets that sleep; outages that start cold and are due; detected',
      `${count(monitors.filter(({ sleeps }) => sleeps).length)}; ${count(cold.length)}; ${count(cold.filter(({ downs }) => downs.length > 0).length)}`,
    ],
    ['from the start of an outage until DOWN', describeTimes(delays)],
    ['from the start of a cut until the region is isolated', describeTimes(notices)],
    [
      'reconnected regions; until every monitor was checked',
      `${count(rechecks.length)}; ${describeTimes(firstChecks)}`,
    ],
    [
      'extra checks in the busiest second, of',
      `${Math.max(0, ...extra.map(({ checks }) => checks))}, ${Math.max(0, ...extra.map(({ of }) => of))}`,
    ],
    ['from a slot to its result, without the check', describeTimes(waits)],
    ['longest stall of this process', `${(longestStallMs / 1_000).toFixed(1)} s`],
  ];
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function secondsOf(spans: readonly Span[]): number {
  return Math.round(sum(spans.map(({ from, until }) => until - from)) / 1_000);
}

function describeTimes(ms: readonly number[]): string {
  if (ms.length === 0) return 'none';
  const { p50, p99, max } = distributionOf(ms);
  return `p50 ${seconds(p50)}, p99 ${seconds(p99)}, max ${seconds(max)} s`;
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

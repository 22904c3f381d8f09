import { metricLabelOf } from '@tocsin/contracts/monitors/metrics';
import { MONITOR_STATUSES } from '@tocsin/contracts/vocabulary';
import { DURATION_BOUNDS_MS } from '@tocsin/core/stats/latency-histogram';
import type { MonitorMetrics, RegionMetrics } from '@tocsin/db/monitor-regions/read-metrics';

/** Minimum characters of a chunk, except the last one. */
const CHUNK_CHARACTERS = 256 * 1024;

/** The metrics of a monitor in little memory, because an account may have tens of thousands. */
export interface MonitorSeries extends Pick<
  MonitorMetrics,
  'status' | 'incidents' | 'certificateExpiresAt' | 'regions'
> {
  /** Labels of all its series, without braces. */
  readonly labels: string;
}

/** @param keys labels to copy. A missing one is empty, which Prometheus treats as absent */
export function toSeries(monitor: MonitorMetrics, keys: readonly string[]): MonitorSeries {
  const { id, name, externalId, source, status, incidents, certificateExpiresAt, regions } = monitor;
  const copied = keys.map(
    (key) => `,${metricLabelOf(key)}="${(Object.hasOwn(monitor.labels, key) && monitor.labels[key]) || ''}"`,
  );
  const own = `monitor_id="${id}",name="${escape(name)}",external_id="${escape(externalId ?? '')}"`;
  const labels = `${own},source="${escape(source ?? '')}"${copied.join('')}`;
  return { labels, status, incidents, certificateExpiresAt, regions };
}

function escape(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** Returns the lines for one monitor, each with a line feed. */
  readonly write: (series: MonitorSeries) => string;
}

const FAMILIES: readonly Family[] = [
  {
    name: 'tocsin_monitor_status',
    type: 'gauge',
    help: 'Whether the monitor has this status: 1 or 0.',
    write: ({ labels, status }) =>
      MONITOR_STATUSES.map(
        (each) => `tocsin_monitor_status{${labels},status="${each}"} ${each === status ? 1 : 0}\n`,
      ).join(''),
  },
  {
    name: 'tocsin_monitor_checks_total',
    type: 'counter',
    help: 'Recorded checks by result. Inconclusive: the checker or its network failed.',
    write: forRegions('tocsin_monitor_checks_total', (head, region) =>
      [
        `${head},result="up"} ${region.upChecks}\n`,
        `${head},result="down"} ${region.downChecks}\n`,
        `${head},result="inconclusive"} ${region.inconclusiveChecks}\n`,
      ].join(''),
    ),
  },
  {
    name: 'tocsin_monitor_check_duration_seconds',
    type: 'histogram',
    help: 'Duration of the checks that got a response.',
    write: writeHistograms,
  },
  {
    name: 'tocsin_monitor_certificate_expiry_timestamp_seconds',
    type: 'gauge',
    help: 'When the certificate expires that the last checks saw, the earliest of all regions.',
    write: ({ labels, certificateExpiresAt: expiry }) =>
      expiry === null
        ? ''
        : `tocsin_monitor_certificate_expiry_timestamp_seconds{${labels}} ${expiry / 1_000}\n`,
  },
  {
    name: 'tocsin_monitor_last_check_timestamp_seconds',
    type: 'gauge',
    help: 'When the last check was recorded.',
    write: forRegions('tocsin_monitor_last_check_timestamp_seconds', (head, { lastCheckedAt }) =>
      lastCheckedAt === null ? '' : `${head}} ${lastCheckedAt / 1_000}\n`,
    ),
  },
  {
    name: 'tocsin_monitor_incidents_total',
    type: 'counter',
    help: 'Incidents opened.',
    write: ({ labels, incidents }) => `tocsin_monitor_incidents_total{${labels}} ${incidents}\n`,
  },
];

/** @param write gets the name with all labels of the region, without the closing brace */
function forRegions(name: string, write: (head: string, region: RegionMetrics) => string): Family['write'] {
  return ({ labels, regions }) => {
    let lines = '';
    for (const each of regions) lines += write(`${name}{${labels},region="${each.region}"`, each);
    return lines;
  };
}

const BOUNDS = [...DURATION_BOUNDS_MS.map((bound) => String(bound / 1_000)), '+Inf'];

function writeHistograms({ labels, regions }: MonitorSeries): string {
  let lines = '';
  for (const { region, durationCounts, durationSumMs } of regions) {
    const own = `${labels},region="${region}"`;
    let total = 0;
    for (const [index, bound] of BOUNDS.entries()) {
      total += durationCounts[index] ?? 0;
      lines += `tocsin_monitor_check_duration_seconds_bucket{${own},le="${bound}"} ${total}\n`;
    }
    lines += `tocsin_monitor_check_duration_seconds_sum{${own}} ${durationSumMs / 1_000}\n`;
    lines += `tocsin_monitor_check_duration_seconds_count{${own}} ${total}\n`;
  }
  return lines;
}

/** Writes the Prometheus text format 0.0.4 in chunks. Other metrics must not interrupt the lines of a metric. */
export function* writeMetrics(monitors: readonly MonitorSeries[]): Generator<string> {
  for (const { name, type, help, write } of FAMILIES) {
    let chunk = `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const monitor of monitors) {
      chunk += write(monitor);
      if (chunk.length < CHUNK_CHARACTERS) continue;
      yield chunk;
      chunk = '';
    }
    if (chunk !== '') yield chunk;
  }
}

import { distributionOf } from '@tocsin/bench/measure/percentiles';
import type { ApiTally } from '../load/api-clients.ts';
import type { StallTally } from '../load/stall-watch.ts';
import type { StreamTally } from '../load/stream-client.ts';
import { faultsOf as faultsFound, type Findings } from '../oracle/judge.ts';
import type { MonitorHistory } from '../oracle/read-history.ts';
import type { LogTally } from '../oracle/read-logs.ts';
import type { Restart } from './restart-service.ts';

/** What a run of restarts has seen. */
export interface RestartReport {
  readonly seed: number;
  readonly seconds: number;
  readonly restarts: readonly Restart[];
  readonly stalls: StallTally;
  readonly findings: Findings;
  readonly api: ApiTally;
  readonly stream: StreamTally;
  readonly logs: LogTally;
  readonly histories: readonly MonitorHistory[];
}

/** A service has so long to stop (design §4 "Jobs"). */
const STOP_WITHIN_MS = 30_000;

/** What is wrong, in words; nothing where no restart harmed anything. */
export function faultsOf(report: RestartReport): string[] {
  const { restarts, stalls, api, stream, logs } = report;
  const faults: [number, string][] = [
    [restarts.filter(({ exitCode }) => exitCode !== 0).length, 'restarts ended with another code than 0'],
    [restarts.filter(({ stopMs }) => stopMs > STOP_WITHIN_MS).length, 'services took over 30 s to stop'],
    [stalls.stalled.length, 'jobs stalled'],
    [stalls.seen === 0 ? 1 : 0, 'queue watch saw nothing at all'],
    [stalls.unseen, 'events of the queues were not seen, and may have been stalls'],
    [api.broken.length, 'calls of the API were broken off'],
    [api.unexpected.length, 'calls of the API had an unexpected answer'],
    [stream.broken, 'live streams were broken off'],
    [stream.unexpected, 'live streams had an unexpected answer'],
    [stream.resets, 'times a live stream had to begin anew'],
    [logs.errors.length, 'lines in the logs are errors'],
  ];
  return [
    ...faults.filter(([count]) => count !== 0).map(([count, what]) => `${count} ${what}`),
    ...faultsFound(report.findings),
  ];
}

/** Examples of what is wrong, to begin a search with. */
export function evidenceOf({ restarts, stalls, findings, api, logs }: RestartReport): string[] {
  return [
    ...restarts.filter(({ exitCode }) => exitCode !== 0).map((one) => JSON.stringify(one)),
    ...stalls.stalled,
    ...api.broken,
    ...api.unexpected,
    ...logs.errors,
    ...(findings.missed > 0 ? [`missed, as checkers say: ${JSON.stringify(findings.missReasons)}`] : []),
    ...Object.entries(findings).flatMap(([what, ids]) =>
      Array.isArray(ids)
        ? ids.slice(0, 3).map((id) => `${what}: ${typeof id === 'string' ? id : JSON.stringify(id)}`)
        : [],
    ),
  ].slice(0, 40);
}

/** The report as a table in Markdown. */
export function tableOf(report: RestartReport): string {
  const rows = [
    ['service', 'restarts', 'exit code 0', 'stop p50, max', 'start p50, max'],
    ['--', '--', '--', '--', '--'],
    ...['api', 'checker', 'notifier'].map((service) => rowOf(service, report.restarts)),
  ];
  return `${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n${totalsOf(report)}`;
}

function rowOf(service: string, all: readonly Restart[]): string[] {
  const restarts = all.filter(({ name }) => name.startsWith(service));
  const stop = distributionOf(restarts.map(({ stopMs }) => stopMs));
  const start = distributionOf(restarts.flatMap(({ startMs }) => startMs ?? []));
  const clean = restarts.filter(({ exitCode }) => exitCode === 0).length;
  return [
    service,
    String(restarts.length),
    String(clean),
    `${seconds(stop.p50)}, ${seconds(stop.max)} s`,
    `${seconds(start.p50)}, ${seconds(start.max)} s`,
  ];
}

function totalsOf({ findings, stalls, api, stream, logs, seconds: duration }: RestartReport): string {
  const rows: [string, string][] = [
    ['under load', `${Math.round(duration)} s`],
    ['checks planned, missed, with two events', list(findings.slots, findings.missed, findings.repeated)],
    ['events; monitors asked otherwise', list(findings.events, findings.askedOtherwise.length)],
    ['events of the queues, unseen, stalled', list(stalls.seen, stalls.unseen, stalls.stalled.length)],
    ['status changes announced; told otherwise', list(findings.statusChanges, findings.toldOtherwise.length)],
    [
      'webhooks due, received, twice, lost; failed attempts',
      list(
        findings.deliveries,
        findings.received,
        findings.duplicates.length,
        findings.lost.length,
        findings.failures.length,
      ),
    ],
    [
      'API calls answered; broken; with an unexpected status',
      list(api.answered, api.broken.length, api.unexpected.length),
    ],
    ['connections refused; reset before they were taken', list(api.refused, api.notTaken)],
    [
      'live stream opened, told to come later, broken; records, events not brought',
      list(stream.opened, stream.unavailable, stream.broken, stream.records, findings.notStreamed.length),
    ],
    ['lines in the logs: errors, warnings', list(logs.errors.length, logs.warnings.length)],
  ];
  return ['| what | count |', '| -- | -- |', ...rows.map(([what, count]) => `| ${what} | ${count} |`)].join(
    '\n',
  );
}

function list(...numbers: number[]): string {
  return numbers.map((number) => number.toLocaleString('en-US')).join(', ');
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(2);
}

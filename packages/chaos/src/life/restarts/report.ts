import { distributionOf } from '@tocsin/bench/measure/percentiles';
import type { StallTally } from '../load/stall-watch.ts';
import { inWords } from '../oracle/in-words.ts';
import type { MonitorHistory } from '../oracle/read-history.ts';
import { evidenceOf as evidenceOfLoad, faultsOf as faultsUnderLoad, type LoadReport } from '../report.ts';
import type { Restart } from './restart-service.ts';

/** What a run of restarts has seen. */
export interface RestartReport extends LoadReport {
  readonly seconds: number;
  readonly stops: readonly Restart[];
  readonly stalls: StallTally;
  readonly histories: readonly MonitorHistory[];
}

/** What is wrong, in words; nothing where no restart harmed anything. */
export function faultsOf(report: RestartReport): string[] {
  const { stalled, unseen, silent } = report.stalls;
  const faults = inWords([
    [stalled.length, 'jobs stalled'],
    [silent.length, 'queues had no event that the watch saw'],
    [unseen, 'events of the queues were not seen, and may have been stalls'],
  ]);
  return [...faults, ...faultsUnderLoad(report)];
}

/** Examples of what is wrong, to begin a search with. */
export function evidenceOf(report: RestartReport): string[] {
  return [...report.stalls.stalled, ...report.stalls.silent, ...evidenceOfLoad(report)];
}

/** The report as a table in Markdown. */
export function tableOf(report: RestartReport): string {
  const rows = [
    ['service', 'restarts', 'exit code 0', 'stop p50, max', 'start p50, max'],
    ['--', '--', '--', '--', '--'],
    ...['api', 'checker', 'notifier'].map((service) => rowOf(service, report.stops)),
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

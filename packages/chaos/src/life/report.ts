import type { ApiTally } from './load/api-clients.ts';
import type { Stop } from './load/stop-service.ts';
import type { StreamTally } from './load/stream-client.ts';
import { inWords } from './oracle/in-words.ts';
import { faultsOf as faultsFound, type Findings } from './oracle/judge.ts';
import type { LogTally } from './oracle/read-logs.ts';

/** What any run under load has seen. */
export interface LoadReport {
  readonly seed: number;
  /** Every end of a service by SIGTERM. */
  readonly stops: readonly (Stop & { readonly name: string })[];
  readonly findings: Findings;
  readonly api: ApiTally;
  readonly stream: StreamTally;
  readonly logs: LogTally;
}

/** A service has so long to stop (design §4 "Jobs"). */
const STOP_WITHIN_MS = 30_000;

/** What is wrong, in words; nothing where nothing was lost, repeated or broken. */
export function faultsOf({ stops, findings, api, stream, logs }: LoadReport): string[] {
  const faults = inWords(
    [
      [stops.filter(({ exitCode }) => exitCode !== 0).length, 'services ended with another code than 0'],
      [stops.filter(({ stopMs }) => stopMs > STOP_WITHIN_MS).length, 'services took over 30 s to stop'],
      [api.broken.length, 'calls of the API were broken off'],
      [api.unexpected.length, 'calls of the API had an unexpected answer'],
      [stream.broken, 'live streams were broken off'],
      [stream.unexpected, 'live streams had an unexpected answer'],
      [stream.resets, 'times a live stream had to begin anew'],
      [logs.errors.length, 'lines in the logs are errors'],
    ],
    [
      [api.answered, 'calls of the API'],
      [stream.records, 'records over the live stream'],
    ],
  );
  return [...faults, ...faultsFound(findings)];
}

/** Examples of what is wrong, to begin a search with. */
export function evidenceOf({ stops, findings, api, logs }: LoadReport): string[] {
  return [
    ...stops.filter(({ exitCode }) => exitCode !== 0).map((one) => JSON.stringify(one)),
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

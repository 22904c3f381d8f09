import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import type { monitorLookupRoutes } from '@tocsin/contracts/monitors/routes';
import { readMonitorMetrics } from '@tocsin/db/monitor-regions/read-metrics';
import { FairLimiter } from '@tocsin/runtime/fair-limiter';
import type { ApiContext } from '../context.ts';
import { unavailable } from '../http/errors.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { type MonitorSeries, toSeries, writeMetrics } from './metrics-text.ts';

/** Responses in progress: each holds the metrics of an account in memory. Two, because two Prometheus servers are common. */
const MAX_AT_ONCE = { process: 8, account: 2 } as const;
/** Half of Prometheus' default timeout. */
const WAIT_MS = 5_000;

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type MetricsRequest = Pick<
  ApiRequest<(typeof monitorLookupRoutes)['getMonitorMetrics']>,
  'caller' | 'query' | 'req' | 'res'
>;

/**
 * The handler of the metrics of monitors. It reads them completely before it sends the first byte: a slow client keeps no connection
 * to Postgres, and an error becomes a response.
 */
export function metricsHandler({
  db,
}: Pick<ApiContext, 'db'>): (request: MetricsRequest) => Promise<typeof SENT> {
  const limiter = new FairLimiter({
    limit: MAX_AT_ONCE.process,
    limits: { account: MAX_AT_ONCE.account },
    sharedBy: 'account',
  });
  return async ({ caller: { accountId }, query: { source, labels }, req, res }) => {
    if (req.method === 'HEAD') {
      res.set('Content-Type', CONTENT_TYPE).end();
      return SENT;
    }
    // A response that waits behind another one gets no event when its connection closes.
    const left = new AbortController();
    const leave = (): void => left.abort();
    req.socket.once('close', leave);
    const release = await limiter.acquire({ account: accountId }, WAIT_MS);
    try {
      if (release === null) {
        throw unavailable('Other requests for the metrics of this account are in progress. Try again later.');
      }
      const series: MonitorSeries[] = [];
      for await (const page of readMonitorMetrics(db, accountId, { source, withLabels: labels.length > 0 })) {
        if (left.signal.aborted) return SENT;
        for (const monitor of page) series.push(toSeries(monitor, labels));
      }
      res.set('Content-Type', CONTENT_TYPE);
      const chunks = Readable.from(inTurns(writeMetrics(series)));
      await pipeline(chunks, res, { signal: left.signal }).catch((error: unknown) => {
        if (!left.signal.aborted && !res.destroyed) throw error;
      });
      return SENT;
    } finally {
      req.socket.off('close', leave);
      release?.();
    }
  };
}

/** Lets other requests be handled between two chunks, however fast the client reads. */
async function* inTurns(chunks: Iterable<string>): AsyncGenerator<string> {
  for (const chunk of chunks) {
    yield chunk;
    await setImmediate();
  }
}

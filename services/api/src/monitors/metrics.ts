import type { monitorLookupRoutes } from '@tocsin/contracts/monitors/routes';
import { readMonitorMetrics } from '@tocsin/db/monitor-regions/read-metrics';
import type { ApiContext } from '../context.ts';
import { type ApiRequest, SENT } from '../http/implement.ts';
import { createChunkSender } from '../http/send-chunks.ts';
import { type MonitorSeries, toSeries, writeMetrics } from './metrics-text.ts';

/** Each response holds the metrics of an account in memory. */
const MAX_CONCURRENT_RESPONSES = 4;

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

type MetricsRequest = ApiRequest<typeof monitorLookupRoutes.getMonitorMetrics>;

/** Reads all metrics before it sends the first byte, so that a slow client keeps no connection to Postgres. */
export function metricsHandler({
  db,
  heavyReads,
}: Pick<ApiContext, 'db' | 'heavyReads'>): (request: MetricsRequest) => Promise<typeof SENT> {
  const sendChunks = createChunkSender({
    heavyReads,
    maxConcurrent: MAX_CONCURRENT_RESPONSES,
    content: 'the metrics of this account',
  });
  return async ({ caller: { accountId }, query: { source, labels }, req, res }) => {
    if (req.method === 'HEAD') {
      res.set('Content-Type', CONTENT_TYPE).end();
      return SENT;
    }
    await sendChunks(res, accountId, readMetrics(), () => res.set('Content-Type', CONTENT_TYPE));
    return SENT;

    async function* readMetrics(): AsyncGenerator<string> {
      const series: MonitorSeries[] = [];
      for await (const page of readMonitorMetrics(db, accountId, { source, withLabels: labels.length > 0 })) {
        for (const monitor of page) series.push(toSeries(monitor, labels));
        yield '';
      }
      yield* writeMetrics(series);
    }
  };
}

import type { Logger } from '@tocsin/runtime/logger';
import type { Metrics } from '@tocsin/runtime/metrics';
import { failSpan, runInSpan, SpanKind, startSpan } from '@tocsin/runtime/tracing';
import type { RequestHandler } from 'express';
import { Histogram } from 'prom-client';
import { stateOf } from './request-state.ts';

const PROBES = new Set(['/healthz', '/readyz', '/metrics']);

/** Logs and measures each request when its response ends or its client disconnects. Live streams are not measured. */
export function observeRequests(logger: Logger, metrics: Metrics): RequestHandler {
  const seconds = new Histogram({
    name: 'tocsin_http_request_duration_seconds',
    help: 'How long the API took to respond.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 65],
    registers: [metrics],
  });
  return function observe(req, res, next) {
    const startedAt = performance.now();
    const { method } = req;
    const path = req.originalUrl.split('?', 1)[0];
    res.once('close', () => {
      const durationMs = performance.now() - startedAt;
      const { requestId, route, caller, isStream } = stateOf(res);
      const status = res.statusCode;
      if (isStream !== true || status !== 200)
        seconds.observe({ method, route: route ?? 'none', status }, durationMs / 1_000);
      logger.log(PROBES.has(route ?? '') ? 'debug' : 'info', 'Request', {
        requestId,
        method,
        route,
        path,
        status,
        durationMs: Math.round(durationMs),
        apiKeyId: caller?.apiKeyId ?? undefined,
        userId: caller?.userId ?? undefined,
        ...(!res.writableFinished && { aborted: true }),
      });
    });
    next();
  };
}

/** Starts a span for each API request, named by the path pattern, because paths, queries and headers may contain secrets. */
export const traceRequests: RequestHandler = (req, res, next) => {
  if (!req.path.startsWith('/api/')) {
    next();
    return;
  }
  const state = stateOf(res);
  const { method } = req;
  const attributes = { 'http.request.method': method, 'tocsin.request.id': state.requestId };
  const parent = req.get('traceparent') ?? null;
  const span = startSpan(method, { kind: SpanKind.SERVER, parent, attributes });
  res.once('close', () => {
    const { route } = state;
    if (route !== undefined) span.updateName(`${method} ${route}`);
    span.setAttributes({ 'http.route': route, 'http.response.status_code': res.statusCode });
    if (res.statusCode >= 500) failSpan(span, `responded with ${res.statusCode}`);
    span.end();
  });
  runInSpan(span, next);
};

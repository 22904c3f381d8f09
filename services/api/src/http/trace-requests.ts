import type { Tracer } from '@tocsin/runtime/tracing';
import type { RequestHandler } from 'express';
import { stateOf } from './request-state.ts';

/**
 * A span for each request to the API, in the trace of its `traceparent` where it has one. Named after the pattern of its path:
 * what stands in its place, its query and its headers are not told.
 */
export function traceRequests(tracer: Tracer): RequestHandler {
  return function traceRequest(req, res, next) {
    if (!req.path.startsWith('/api/')) {
      next();
      return;
    }
    const state = stateOf(res);
    const { method } = req;
    const attributes = { 'http.request.method': method, 'tocsin.request.id': state.requestId };
    const span = tracer.start(method, { kind: 'server', parent: req.get('traceparent'), attributes });
    state.traceparent = span.traceparent;
    res.once('close', () => {
      const { route } = state;
      if (route !== undefined) span.rename(`${method} ${route}`);
      span.set({ 'http.route': route, 'http.response.status_code': res.statusCode });
      if (res.statusCode >= 500) span.fail(`answered ${res.statusCode}`);
      span.end();
    });
    next();
  };
}

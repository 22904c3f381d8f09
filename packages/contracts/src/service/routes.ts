import { z } from 'zod';
import { DASHBOARD, many } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';

const tag = 'Operation';

const healthy = z.strictObject({ status: z.literal('ok') });
const failing = z.strictObject({
  status: z.literal('failing'),
  failing: z.record(z.string(), z.string()).describe('What fails, and whether it said no or nothing.'),
});

/** What needs neither key nor session. */
export const serviceOperations: Operations = {
  'GET /api/cli/openapi.json': {
    id: 'getOpenApi',
    tag: 'Documentation',
    summary: 'Get this document',
    description:
      'OpenAPI 3.1. Send the `ETag` of the one you have as `If-None-Match` to learn whether it changed.',
    needs: 'anyone',
    ok: 200,
    answer: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document.'),
    answerHeaders: ['ETag'],
    further: [{ status: 304, description: 'It is the one you have.', answer: null }],
  },
  'GET /schemas/tocsin.json': {
    id: 'getFileSchema',
    tag: 'Documentation',
    summary: 'Get the schema of a file of monitors',
    description: 'The JSON Schema of a `tocsin.yaml`, which editors complete and check it by.',
    needs: 'anyone',
    ok: 200,
    answer: z.looseObject({ $schema: z.string() }).describe('A JSON Schema, draft 7.'),
    answerHeaders: ['ETag'],
    further: [{ status: 304, description: 'It is the one you have.', answer: null }],
  },
  [`GET ${DASHBOARD}/sign-in-methods`]: {
    id: 'listSignInMethods',
    tag: 'Signing in',
    summary: 'List ways to sign in',
    needs: 'anyone',
    ok: 200,
    answer: many('methods', z.literal(['password', 'oidc'])),
    answerExample: { methods: ['password', 'oidc'] },
  },
  'GET /healthz': {
    id: 'getHealth',
    tag,
    summary: 'Ask whether this server works',
    needs: 'anyone',
    ok: 200,
    answer: healthy,
    answerExample: { status: 'ok' },
    further: [{ status: 503, description: 'It does not: restart it.', answer: failing }],
  },
  'GET /readyz': {
    id: 'getReadiness',
    tag,
    summary: 'Ask whether this server can answer',
    description:
      'It cannot while its stores do not answer. `?exclude=queue` leaves a store out: without the one of the queue it answers most requests still.',
    needs: 'anyone',
    ok: 200,
    answer: healthy,
    answerExample: { status: 'ok' },
    further: [{ status: 503, description: 'It cannot: send requests elsewhere.', answer: failing }],
  },
  'GET /metrics': {
    id: 'getMetrics',
    tag,
    summary: 'Get metrics',
    description: 'In the text format of Prometheus.',
    needs: 'anyone',
    ok: 200,
    answer: 'text/plain',
  },
};

import { z } from 'zod';
import { defineRoutes } from '../routes/route.ts';

const common = { tag: 'Operation', access: 'anyone' } as const;

const healthy = z.strictObject({ status: z.literal('ok') });
const failing = z.strictObject({
  status: z.literal('failing'),
  failing: z
    .record(z.string(), z.string())
    .describe('What fails, and whether it returned an error or did not respond.'),
});

/** Routes that need neither an API key nor a session. */
export const serviceRoutes = defineRoutes(common, {
  getOpenApi: {
    endpoint: 'GET /api/cli/openapi.json',
    tag: 'Documentation',
    summary: 'Get this document',
    description:
      'OpenAPI 3.1. Send the `ETag` of your copy as `If-None-Match` to find out whether it has changed.',
    response: z.looseObject({ openapi: z.string() }).describe('An OpenAPI 3.1 document.'),
    responseHeaders: ['ETag'],
    otherResponses: [{ status: 304, description: 'Not modified.', response: null }],
  },
  getFileSchema: {
    endpoint: 'GET /schemas/tocsin.json',
    tag: 'Documentation',
    summary: 'Get the schema of a file of monitors',
    description: 'The JSON Schema of `tocsin.yaml`, for completion and validation in editors.',
    response: z.looseObject({ $schema: z.string() }).describe('A JSON Schema, draft 7.'),
    responseHeaders: ['ETag'],
    otherResponses: [{ status: 304, description: 'Not modified.', response: null }],
  },
  listSignInMethods: {
    endpoint: 'GET /api/dashboard/sign-in-methods',
    tag: 'Signing in',
    summary: 'List sign-in methods',
    response: z.strictObject({
      methods: z.array(z.literal(['password', 'oidc'])),
      hasUsers: z.boolean().describe('False until the setup link has created the first user.'),
      origins: z
        .array(z.string())
        .describe(
          'Where the dashboard may be open, that of `PUBLIC_URL` first. Elsewhere, changes are refused.',
        ),
    }),
    responseExample: { methods: ['password', 'oidc'], hasUsers: true, origins: ['https://tocsin.example'] },
  },
  getHealth: {
    endpoint: 'GET /healthz',
    summary: 'Check liveness',
    response: healthy,
    responseExample: { status: 'ok' },
    otherResponses: [{ status: 503, description: 'Not alive: restart this server.', response: failing }],
  },
  getReadiness: {
    endpoint: 'GET /readyz',
    summary: 'Check readiness',
    description:
      'Not ready while PostgreSQL or the queue does not respond. `?exclude=queue` ignores the queue: without it, the server still handles most requests.',
    response: healthy,
    responseExample: { status: 'ok' },
    otherResponses: [
      { status: 503, description: 'Not ready: send requests to another server.', response: failing },
    ],
  },
  getMetrics: {
    endpoint: 'GET /metrics',
    summary: 'Get metrics',
    description: 'In the Prometheus text format.',
    response: 'text/plain',
  },
});

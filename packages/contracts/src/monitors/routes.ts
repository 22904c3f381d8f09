import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { EVENT, MONITOR } from '../routes/examples.ts';
import { DASHBOARD, ifMatchWith, many, one } from '../routes/route.ts';
import type { Access, Operation, Operations } from '../routes/route.ts';
import type { Tag } from '../routes/routes.ts';
import { eventSchema, eventsQuerySchema, triggerSchema } from './events.ts';
import { createMonitorSchema, monitorSchema, updateMonitorSchema } from './monitor.ts';

/** One of the two roots under which the monitors API stands. */
interface Root {
  readonly base: string;
  readonly read: Access;
  readonly write: Access;
  readonly tags: { readonly monitors: Tag; readonly checks: Tag };
  /** Ends the names of its operations. */
  readonly suffix: string;
}

const kind = 'monitor';
const answer = one('monitor', monitorSchema);
const answerExample = { monitor: MONITOR };

const ifMatch = ifMatchWith(
  'The `ETag` of the monitor as you know it: if somebody has changed it since, this is refused with 412.',
);

const idempotencyKey = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .describe(
      `A name for this request, such as a UUID: visible ASCII, at most ${LIMITS.idempotencyKeyCharacters} characters. The same request with it is answered with the first answer for ${LIMITS.idempotencyKeyHours} hours, and creates nothing; another request with it is refused with 422, and one sent while the first is being answered with 409 and \`Retry-After\`.`,
    ),
});

type Rest = Omit<Operation, 'needs' | 'tag'>;

const list: Rest = {
  id: 'listMonitors',
  summary: 'List monitors',
  description: 'Every monitor of the account, the newest first.',
  ok: 200,
  answer: many('monitors', monitorSchema),
  answerExample: { monitors: [MONITOR] },
};

const create: Rest = {
  id: 'createMonitor',
  summary: 'Create a monitor',
  description: 'It is checked at once, and `PENDING` until then.',
  headers: idempotencyKey,
  body: createMonitorSchema,
  bodyExample: {
    name: 'Shop',
    url: 'https://shop.example/health',
    interval: 60,
    assertions: { statusCode: 200, bodyContains: '"ok"' },
    failureThreshold: 2,
    regions: ['eu-west-1', 'us-east-1'],
    runbookUrl: 'https://runbooks.example/shop',
    externalId: 'shop',
  },
  ok: 201,
  answer,
  answerExample: { monitor: { ...MONITOR, status: 'PENDING', lastCheckedAt: null } },
  refusals: ['request_in_flight', 'idempotency_key_reused', 'conflict'],
  answerHeaders: ['Location', 'ETag', 'Idempotency-Replayed'],
};

const get: Rest = {
  id: 'getMonitor',
  summary: 'Get a monitor',
  description: `With its ${LIMITS.recentEvents} latest events, the newest first.`,
  kind,
  ok: 200,
  answer: z.strictObject({
    monitor: monitorSchema,
    events: z.array(eventSchema).max(LIMITS.recentEvents),
  }),
  answerExample: { monitor: MONITOR, events: [EVENT] },
  answerHeaders: ['ETag'],
};

const update: Rest = {
  id: 'updateMonitor',
  summary: 'Update a monitor',
  description:
    'Only the fields that are given change. Another URL, method, body, timeout, set of headers or assertions starts the counts of failures anew.',
  kind,
  headers: ifMatch,
  body: updateMonitorSchema,
  bodyExample: { interval: 30, assertions: { statusCode: 200, maxLatency: 800 } },
  ok: 200,
  answer,
  answerExample,
  refusals: ['precondition_failed', 'conflict'],
  answerHeaders: ['ETag'],
};

const remove: Rest = {
  id: 'deleteMonitor',
  summary: 'Delete a monitor',
  description: 'Its events and incidents go with it. Webhooks that were due are still sent.',
  kind,
  headers: ifMatch,
  ok: 204,
  answer: null,
  refusals: ['precondition_failed'],
};

const trigger: Rest = {
  id: 'triggerMonitor',
  summary: 'Check at once',
  description:
    'Waits for the result, which is an event like any other. With a `url` (for programs: a key with the scope `write`) that URL is checked this once, and the status does not move. 409 where no key of the server opens its headers or body; 504 where no checker of its first region answers in time.',
  kind,
  body: triggerSchema,
  bodyExample: { url: 'https://preview-42.shop.example/health' },
  ok: 200,
  answer: one('event', eventSchema),
  answerExample: { event: { ...EVENT, source: 'trigger', url: 'https://preview-42.shop.example/health' } },
  refusals: ['not_triggerable', 'check_not_answered', 'conflict'],
};

const events: Rest = {
  id: 'listMonitorEvents',
  summary: 'List events of a monitor',
  description:
    'In chronological order. With `since`: the first `limit` events after it; without: the latest. To tail, pass the `timestamp` of the last event you have: nothing is missed and nothing comes twice.',
  kind,
  query: eventsQuerySchema,
  ok: 200,
  answer: one('events', z.array(eventSchema).max(LIMITS.eventsPerRequest.max)),
  answerExample: { events: [EVENT] },
};

function underRoot({ base, read, write, tags, suffix }: Root): Operations {
  const of = (tag: Tag, needs: Access, rest: Rest): Operation => ({
    ...rest,
    id: rest.id + suffix,
    tag,
    needs,
  });
  return {
    [`GET ${base}`]: of(tags.monitors, read, list),
    [`POST ${base}`]: of(tags.monitors, write, create),
    [`GET ${base}/:id`]: of(tags.monitors, read, get),
    [`PUT ${base}/:id`]: of(tags.monitors, write, update),
    [`DELETE ${base}/:id`]: of(tags.monitors, write, remove),
    [`POST ${base}/:id/trigger`]: withScope(of(tags.checks, read, trigger)),
    [`GET ${base}/:id/events`]: of(tags.checks, read, events),
  };
}

/** A key may lack what a trigger with a URL needs; who is signed in does not. */
function withScope(operation: Operation): Operation {
  if (operation.needs !== 'key') return operation;
  return { ...operation, needsWriteIf: ({ url = null }) => url !== null };
}

/** The monitors API (specification "Endpoints"), for programs and for people. */
export const monitorOperations: Operations = {
  ...underRoot({
    base: '/api/cli/monitors',
    read: 'key',
    write: 'write key',
    tags: { monitors: 'Monitors', checks: 'Checks' },
    suffix: '',
  }),
  ...underRoot({
    base: `${DASHBOARD}/monitors`,
    read: 'member',
    write: 'member',
    tags: { monitors: 'Monitors in the dashboard', checks: 'Monitors in the dashboard' },
    suffix: 'InDashboard',
  }),
};

import { LIMITS } from '../limits.ts';
import { MONITOR } from '../routes/examples.ts';
import { ifMatchWith } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import { monitorSetResultSchema, monitorSetSchema } from './monitor-set.ts';

const source = 'platform/monitors';

/** Sets of monitors (docs/api.md "Sets of monitors"), for programs alone. */
export const monitorSetOperations: Operations = {
  'PUT /api/cli/monitors': {
    id: 'applyMonitors',
    tag: 'Monitors',
    summary: 'Apply a set of monitors',
    description: `Makes the monitors of a \`source\` what the set says: all of them or, after any error, none. What an entry leaves out has its default, not what
it was. A set that is applied again changes nothing. An \`externalId\` that a monitor of another source has, or one of none, is refused with 409;
other sources' monitors are never touched. All but a dry run needs a key with the scope \`write\`. The body may have ${LIMITS.monitorSetBytes} bytes; of its faults at most a hundred are told at once.`,
    needs: 'key',
    needsWriteIf: ({ dryRun }) => dryRun !== true,
    headers: ifMatchWith(
      'The `ETag` of a dry run of this set: if anything else is to be done by now than it said, this is refused with 412.',
    ),
    body: monitorSetSchema,
    bodyBytes: LIMITS.monitorSetBytes,
    bodyExample: {
      source,
      monitors: [
        { externalId: 'shop', name: 'Shop', url: 'https://shop.example/health', interval: 30 },
        { externalId: 'cart', name: 'Cart', url: 'https://shop.example/cart' },
      ],
      prune: true,
    },
    ok: 200,
    answer: monitorSetResultSchema,
    answerExample: {
      source,
      dryRun: false,
      changed: true,
      created: [{ id: '019a9f13-1b2c-7d3e-8f4a-5b6c7d8e9fa0', externalId: 'cart' }],
      updated: [{ id: MONITOR.id, externalId: 'shop', fields: ['interval'] }],
      deleted: [],
      unchanged: [],
      unlisted: [],
    },
    refusals: ['conflict', 'precondition_failed'],
    answerHeaders: ['ETag'],
  },
};

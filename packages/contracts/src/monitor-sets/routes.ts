import { LIMITS } from '../limits.ts';
import { CHANNEL, MONITOR, SECRET } from '../routes/examples.ts';
import { defineRoutes, ifMatch } from '../routes/route.ts';
import { monitorSetResultSchema, monitorSetSchema } from './monitor-set.ts';

const source = 'platform/monitors';

const common = { tag: 'Monitors', access: 'key' } as const;

/** Sets of monitors and channels, for programs only. */
export const monitorSetRoutes = defineRoutes(common, {
  applyMonitors: {
    endpoint: 'PUT /api/cli/monitors',
    summary: 'Apply a set of monitors',
    description: `Makes the monitors of a \`source\` match the set: all of them or, after any error, none. A field that an entry omits gets its default, not its previous value. Applying a set again changes nothing. An \`externalId\` that belongs to a monitor of another source, or of no source, is refused with 409; monitors of other sources are never changed. To give a monitor another \`externalId\`, update it first: in a set, the new one creates a monitor without history, whose \`probablyRenamedFrom\` names the old one. The same holds for \`channels\`; without this field, the channels of the source stay untouched. Every request except a dry run needs a key with the scope \`write\` that may change this source. The body may be at most ${LIMITS.monitorSetBytes} bytes. At most a hundred errors are returned at once.`,
    requiresWriteScope: ({ dryRun }) => dryRun !== true,
    headers: ifMatch(
      'The `ETag` of a dry run of this set. If the plan has changed since, the request returns 412.',
    ),
    body: monitorSetSchema,
    maxBodyBytes: LIMITS.monitorSetBytes,
    bodyExample: {
      source,
      monitors: [
        { externalId: 'shop', name: 'Shop', url: 'https://shop.example/health', interval: 30 },
        { externalId: 'cart', name: 'Cart', url: 'https://shop.example/cart' },
      ],
      channels: [
        {
          externalId: 'on-call',
          name: 'On call',
          url: 'https://hooks.example/tocsin',
          monitorExternalIds: ['shop'],
        },
      ],
      prune: true,
    },
    response: monitorSetResultSchema,
    responseExample: {
      source,
      dryRun: false,
      changed: true,
      created: [{ id: '019a9f13-1b2c-7d3e-8f4a-5b6c7d8e9fa0', externalId: 'cart' }],
      updated: [{ id: MONITOR.id, externalId: 'shop', fields: ['interval'] }],
      deleted: [],
      unchanged: [],
      unlisted: [],
      channels: {
        created: [{ id: CHANNEL.id, externalId: 'on-call', secret: SECRET }],
        updated: [],
        deleted: [],
        unchanged: [],
        unlisted: [],
      },
    },
    showsSecret: true,
    errors: ['owner_required', 'conflict', 'precondition_failed', 'quota_exceeded'],
    responseHeaders: ['ETag'],
  },
});

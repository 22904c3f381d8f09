import { regionSchema } from '../regions/region.ts';
import { MONITOR } from '../routes/examples.ts';
import { DASHBOARD, many, one } from '../routes/route.ts';
import type { Operations } from '../routes/route.ts';
import { monitorRegionSchema, recentChecksQuerySchema, recentChecksSchema } from './events.ts';
import { monitorStatsSchema, statsQuerySchema } from './stats.ts';

const tag = 'Monitors in the dashboard';

/** What the dashboard shows of monitors and regions (design §3 "Dashboard API"). */
export const monitorViewOperations: Operations = {
  [`GET ${DASHBOARD}/monitors/recent-checks`]: {
    id: 'listRecentChecks',
    tag,
    summary: 'List recent checks of several monitors',
    description:
      'In the order of the ids, at most 30 checks of the last 14 days each; checks of another URL are left out. Ids that name no monitor of the account are left out, too.',
    needs: 'member',
    query: recentChecksQuerySchema,
    ok: 200,
    answer: many('recentChecks', recentChecksSchema),
    answerExample: {
      recentChecks: [
        {
          monitorId: MONITOR.id,
          checks: [{ timestamp: '2026-11-20T12:00:00.123Z', status: 'UP', latency: 31, region: 'eu-west-1' }],
        },
      ],
    },
  },
  [`GET ${DASHBOARD}/monitors/:id/regions`]: {
    id: 'listMonitorRegions',
    tag,
    summary: 'List what each region last said of a monitor',
    needs: 'member',
    kind: 'monitor',
    ok: 200,
    answer: many('regions', monitorRegionSchema),
    answerExample: {
      regions: [
        {
          region: 'eu-west-1',
          status: 'UP',
          failing: false,
          consecutiveFailures: 0,
          lastCheckedAt: '2026-11-20T12:00:00.123Z',
          hasSay: true,
          certificateExpiresAt: '2027-02-01T00:00:00.000Z',
        },
      ],
    },
  },
  [`GET ${DASHBOARD}/monitors/:id/stats`]: {
    id: 'getMonitorStats',
    tag,
    summary: 'Get statistics of a monitor',
    description: 'Uptime, gaps, latency and timings, as a whole, by region, and over time.',
    needs: 'member',
    kind: 'monitor',
    query: statsQuerySchema,
    ok: 200,
    answer: one('stats', monitorStatsSchema),
  },
  [`GET ${DASHBOARD}/regions`]: {
    id: 'listRegions',
    tag: 'Regions',
    summary: 'List regions',
    description:
      "The regions of the account's monitors and those of the settings, at most five seconds old. A region with monitors that is not `served` is checked by nobody.",
    needs: 'member',
    ok: 200,
    answer: many('regions', regionSchema),
    answerExample: {
      regions: [{ region: 'eu-west-1', workers: 2, waiting: 0, lagSeconds: 0, monitors: 12, served: true }],
    },
  },
};

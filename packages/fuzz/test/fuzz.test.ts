import { ACCESS_ROWS, OPEN_ROUTES } from '@tocsin/api/testing/access-rows';
import { listRoutes } from '@tocsin/api/testing/list-routes';
import { openTestApi } from '@tocsin/api/testing/test-api';
import { runCampaign } from '@tocsin/fuzz/campaign/run';
import { Tally } from '@tocsin/fuzz/campaign/tally';
import { AUTH_ROUTES, ROUTES } from '@tocsin/fuzz/routes/catalogue';
import { openSystem } from '@tocsin/fuzz/world/system';
import { expect, test } from '@jest/globals';

test('every route is asked', async () => {
  expect(Object.keys(ROUTES).toSorted()).toEqual([...Object.keys(ACCESS_ROWS), ...OPEN_ROUTES].toSorted());
  const api = await openTestApi();
  const routes = new Set(listRoutes(api.context));
  await api.close();
  expect([...Object.keys(ROUTES), ...Object.keys(AUTH_ROUTES)].filter((route) => !routes.has(route))).toEqual(
    [],
  );
});

test('nothing of a few hundred requests goes wrong', async () => {
  const system = await openSystem();
  try {
    const tally = new Tally();
    const findings = await runCampaign(system, tally, {
      requests: 500,
      // A machine that does much else asks fewer.
      seconds: 45,
      seed: 7,
      lanes: 2,
      path: null,
      all: true,
    });
    expect(findings).toEqual([]);
    // Some of what is asked works, and some does not.
    expect(tally.countFrom(400)).toBeGreaterThan(0);
    expect(tally.requests - tally.countFrom(300)).toBeGreaterThan(0);
  } finally {
    await system.close();
  }
}, 240_000);

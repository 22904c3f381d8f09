import { listRoutes } from '@tocsin/api/testing/list-routes';
import { openTestApi } from '@tocsin/api/testing/test-api';
import { runCampaign } from '@tocsin/fuzz/campaign/run';
import { Tally } from '@tocsin/fuzz/campaign/tally';
import { AUTH_ROUTES, ROUTES } from '@tocsin/fuzz/routes/routes';
import { TRIALS } from '@tocsin/fuzz/routes/trials';
import { openSystem } from '@tocsin/fuzz/world/system';
import { expect, test } from '@jest/globals';

test('every route is asked, and no other has its own weight', async () => {
  const api = await openTestApi();
  const routes = listRoutes(api.context);
  await api.close();
  expect([...Object.keys(ROUTES), ...Object.keys(AUTH_ROUTES)].toSorted()).toEqual(routes.toSorted());
  expect(Object.keys(TRIALS).filter((route) => !routes.includes(route))).toEqual([]);
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

import { expect, test } from '@jest/globals';
import { listRoutes } from '@tocsin/api/testing/list-routes';
import { openTestApi } from '@tocsin/api/testing/test-api';
import { ROUTES, TUNING } from '@tocsin/fuzz/requests/routes';

test('the fuzzer requests every route of the api, and no other', async () => {
  const api = await openTestApi();
  const routes = listRoutes(api.context);
  await api.close();
  expect(Object.keys(ROUTES).toSorted()).toEqual(routes.toSorted());
  expect(Object.keys(TUNING).filter((route) => !routes.includes(route))).toEqual([]);
});

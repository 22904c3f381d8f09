import { expect, test } from '@jest/globals';
import { newChannel } from '@tocsin/api/testing/channels';
import { listRoutes } from '@tocsin/api/testing/list-routes';
import { newMonitor } from '@tocsin/api/testing/monitors';
import { signIn } from '@tocsin/api/testing/sign-in';
import { openTestApi, type TestApi } from '@tocsin/api/testing/test-api';
import { changesAsKey } from '@tocsin/contracts/routes/route';
import { Model } from '@tocsin/campaigns/fuzz/model';
import { plansFor } from '@tocsin/campaigns/fuzz/plan';
import { printable, resolvePlan } from '@tocsin/campaigns/fuzz/resolve';
import { MAY_REFUSE, ROUTES } from '@tocsin/campaigns/fuzz/routes';
import type { Account } from '@tocsin/campaigns/fuzz/account';
import { WireClient } from '@tocsin/campaigns/fuzz/send';
import * as fc from 'fast-check';

const REQUESTS = 300;
const SEED = 17;
/** The fuzzer uses this value and `one` for the field `source`. */
const OWN = 'terraform';

/** Every request of a key that may change something, and only of a key that may write. */
const writes = Object.entries(ROUTES)
  .filter(([name, route]) => changesAsKey(route) && name.includes(' /api/cli/'))
  .map(([name, route]) => plansFor(name, route));

const IS_FOREIGN = `source is distinct from '${OWN}'`;
/** Everything that a key bound to `OWN` must not change. */
const FOREIGN = [
  `select m::text as row from monitors m where ${IS_FOREIGN}`,
  `select c::text from channels c where ${IS_FOREIGN}`,
  `select w::text from maintenance_windows w where name = 'foreign'`,
  `select w::text from maintenance_window_monitors w join monitors m on m.id = w.monitor_id where m.${IS_FOREIGN}`,
  `select t.id::text from triggers t join monitors m on m.id = t.monitor_id where t.url is not null and m.${IS_FOREIGN}`,
].join(' union all ');

type Owner = Awaited<ReturnType<typeof signIn>>;

async function readForeign(api: TestApi): Promise<unknown> {
  return (await api.database.pool.query(`select row from (${FOREIGN}) rows order by row`)).rows;
}

/** Gives the account monitors of another source and of none, and a channel and a window of the dashboard. */
async function addForeign(api: TestApi, model: Model, owner: Owner): Promise<void> {
  for (const fields of [{ externalId: 'one', source: 'one' }, { externalId: 'Ö' }, { source: 'one' }])
    model.add('monitor', (await newMonitor(api, fields)).id);
  const { channel } = await newChannel(owner, { name: 'foreign' });
  model.add('channel', channel.id);
  const hours = (count: number): string => new Date(Date.now() + count * 3_600_000).toISOString();
  const window = { name: 'foreign', startsAt: hours(1), endsAt: hours(2), monitorIds: model.ids('monitor') };
  const { body } = await owner.post('/api/dashboard/maintenance-windows').send(window);
  model.add('maintenanceWindow', (body as { maintenanceWindow: { id: string } }).maintenanceWindow.id);
}

/** Replaces monitors and channels of the source that the key has deleted. */
async function addOwn(api: TestApi, model: Model, owner: Owner): Promise<void> {
  const live = await api.database.pool.query<{ id: string }>(
    `select id from channels where source = '${OWN}' and deleted_at is null`,
  );
  for (const { id } of live.rows) model.add('channel', id);
  for (let count = live.rows.length; count < 3; count += 1)
    model.add('channel', (await newChannel(owner, { name: 'own', source: OWN })).channel.id);
  const { rows } = await api.database.pool.query<{ id: string }>(
    `select id from monitors where source = '${OWN}'`,
  );
  const ids = rows.map(({ id }) => id);
  while (ids.length < 3) ids.push((await newMonitor(api, { source: OWN })).id);
  const known = model.ids('monitor').filter((id) => !ids.includes(id));
  for (const id of known.slice(3)) model.remove('monitor', id);
  for (const id of ids.slice(0, 3)) model.add('monitor', id);
}

test('the fuzzer requests every route of the api, and no other', async () => {
  const api = await openTestApi();
  const routes = listRoutes(api.context);
  await api.close();
  expect(Object.keys(ROUTES).toSorted()).toEqual(routes.toSorted());
  expect([...MAY_REFUSE].filter((route) => !routes.includes(route))).toEqual([]);
});

test(`${REQUESTS} requests of a key that is bound to a source change nothing of other sources`, async () => {
  const api = await openTestApi();
  const client = new WireClient(api.port);
  try {
    const model = new Model();
    const owner = await signIn(api);
    await addForeign(api, model, owner);
    const { key } = await api.newKey('read,write', null, [OWN]);
    const credentials = { full: key, lesser: api.account.readKey, stale: 'stale', garbage: 'garbage' };
    const access = { keys: credentials, cookies: credentials, actors: [], secrets: [] };
    const sender: Account = { id: api.account.id, model, ...access };
    const before = await readForeign(api);
    const counts = { allowed: 0, refused: 0 };
    for (const plan of fc.sample(fc.oneof(...writes), { seed: SEED, numRuns: REQUESTS })) {
      await addOwn(api, model, owner);
      const resolved = resolvePlan(plan, sender, sender);
      const { status, text } = await client.send(resolved.wire);
      if (status < 300) counts.allowed += 1;
      if (text.includes('source-not-allowed')) counts.refused += 1;
      expect({ sent: printable(resolved), foreign: await readForeign(api) }).toMatchObject({
        foreign: before,
      });
    }
    // Otherwise the requests prove nothing.
    expect(Math.min(counts.allowed, counts.refused)).toBeGreaterThan(REQUESTS / 30);
  } finally {
    client.close();
    await api.close();
  }
});

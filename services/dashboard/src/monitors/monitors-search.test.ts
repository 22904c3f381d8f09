import { expect, test } from '@jest/globals';
import { monitorsSearchSchema } from './monitors-search.ts';

test.each([
  [{}, {}],
  [
    { q: 'shop', status: 'DOWN', region: 'eu', order: 'name' },
    { q: 'shop', status: 'DOWN', region: 'eu', order: 'name' },
  ],
  [
    { show: 'expiring', order: 'certificate', reverse: true, group: 'team', columns: 'checks,p95' },
    { show: 'expiring', order: 'certificate', reverse: true, group: 'team', columns: 'checks,p95' },
  ],
  [
    { q: 404, group: 5 },
    { q: '404', group: '5' },
  ],
  [{ selector: 'app in (shop,blog),!old' }, { selector: 'app in (shop,blog),!old' }],
  [{ q: ['a'], status: 'BROKEN', region: null, order: '', show: 'x', reverse: 'yes', other: 1 }, {}],
])('parses %j as %j', (address, search) => {
  expect(JSON.parse(JSON.stringify(monitorsSearchSchema.parse(address)))).toEqual(search);
});

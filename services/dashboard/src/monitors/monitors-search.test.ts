import { expect, test } from '@jest/globals';
import { monitorsSearchSchema } from './monitors-search.ts';

test.each([
  [{}, {}],
  [
    { q: 'shop', status: 'DOWN', region: 'eu', order: 'name' },
    { q: 'shop', status: 'DOWN', region: 'eu', order: 'name' },
  ],
  [{ q: 404 }, { q: '404' }],
  [{ selector: 'app in (shop,blog),!old' }, { selector: 'app in (shop,blog),!old' }],
  [{ q: ['a'], status: 'BROKEN', region: null, order: '', other: 1 }, {}],
])('parses %j as %j', (address, search) => {
  expect(JSON.parse(JSON.stringify(monitorsSearchSchema.parse(address)))).toEqual(search);
});

import { expect, test } from '@jest/globals';
import { ownershipNote } from './ownership-note.ts';

test.each([
  [null, null, /makes a second one/],
  [null, 'shop', /makes a second one/],
  ['checkout', null, /is refused/],
  ['checkout', 'shop', /^$/],
])('external id %s, source %s', (externalId, source, note) => {
  expect(ownershipNote({ externalId, source }) ?? '').toMatch(note);
});

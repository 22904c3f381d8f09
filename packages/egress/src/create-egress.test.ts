import { expect, test } from '@jest/globals';
import { createEgress } from './create-egress.ts';
import type { LookupAll } from './dns/name-resolver.ts';

test('checkUrl refuses the own addresses that it was given', async () => {
  const lookup: LookupAll = (_hostname, _options, callback) =>
    callback(null, [{ address: '8.8.8.8', family: 4 }]);
  const own = createEgress({ allowCidrs: [], lookup, ownAddresses: () => ['8.8.8.8'] });
  expect(await own.checkUrl('https://public.test/', 'account')).toBe(
    'address 8.8.8.8 of public.test is an address of this machine; allow it with EGRESS_ALLOW_CIDRS',
  );
});

test('an invalid range is an error', () => {
  expect(() => createEgress({ allowCidrs: ['everything'] })).toThrow('"everything" is not a CIDR range');
});

test.each([
  ['nothing here', 'the extra CA contains no PEM certificate'],
  [
    '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n',
    'certificate 1 of the extra CA is not valid',
  ],
])('an invalid extra CA is an error: %j', (extraCa, message) => {
  expect(() => createEgress({ allowCidrs: [], extraCa })).toThrow(message);
});

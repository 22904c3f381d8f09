import { describe, expect, test } from '@jest/globals';
import { createEgress } from './create-egress.ts';
import type { LookupAll } from './dns/name-resolver.ts';

const NAMES: Readonly<Record<string, readonly string[]>> = {
  'public.test': ['8.8.8.8'],
  'mixed.test': ['10.0.0.1', '8.8.8.8'],
};
const lookup: LookupAll = (hostname, _options, callback) => {
  const addresses = (NAMES[hostname] ?? []).map((address) => ({ address, family: 4 }));
  if (addresses.length > 0) callback(null, addresses);
  else callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
};

describe('checkUrl', () => {
  const egress = createEgress({ allowCidrs: ['192.168.0.0/16'], lookup });

  test.each([
    ['https://0x7f.1/', 'address 127.0.0.1 is in a loopback range; allow it with EGRESS_ALLOW_CIDRS'],
    ['nonsense', 'not a valid URL'],
    ['ftp://public.test/', 'the scheme must be http or https'],
  ])('%s: %s', async (url, reason) => {
    expect(await egress.checkUrl(url, 'account')).toBe(reason);
  });

  test.each(['mixed.test', 'unknown.test', '8.8.8.8', '192.168.1.1', '[2606:4700::1111]'])(
    'https://%s/ may be reached',
    async (host) => expect(await egress.checkUrl(`https://${host}/`, 'account')).toBeNull(),
  );

  test('refuses the own addresses that it was given', async () => {
    const own = createEgress({ allowCidrs: [], lookup, ownAddresses: () => ['8.8.8.8'] });
    expect(await own.checkUrl('https://public.test/', 'account')).toBe(
      'address 8.8.8.8 of public.test is an address of this machine; allow it with EGRESS_ALLOW_CIDRS',
    );
  });
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

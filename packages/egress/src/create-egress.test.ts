import { isIPv6 } from 'node:net';
import os from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { createEgress } from './create-egress.ts';
import type { LookupAll } from './dns/name-resolver.ts';

const list = (text: string): string[] => text.trim().split(/\s+/);

const lookup: LookupAll = (hostname, _options, callback) => {
  if (hostname === 'private.test') return callback(null, [{ address: '10.0.0.1', family: 4 }]);
  if (hostname === 'public.test') return callback(null, [{ address: '8.8.8.8', family: 4 }]);
  if (hostname === 'mixed.test') {
    return callback(null, [
      { address: '10.0.0.1', family: 4 },
      { address: '8.8.8.8', family: 4 },
    ]);
  }
  return callback(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
};

describe('checkUrl', () => {
  const egress = createEgress({ allowCidrs: ['192.168.0.0/16'], lookup });

  test.each([
    ['https://private.test/hook', 'address 10.0.0.1 of private.test is in a private range'],
    ['https://10.0.0.1/', 'address 10.0.0.1 is in a private range'],
    ['https://0x7f.1:8443/', 'address 127.0.0.1 is in a loopback range'],
    ['https://[::1]/', 'address ::1 is in a loopback range'],
    ['https://[::ffff:169.254.169.254]/', 'address ::ffff:a9fe:a9fe is a cloud metadata address'],
  ])('%s: %s', async (url, reason) => {
    expect(await egress.checkUrl(url, 'account')).toBe(`${reason}; allow it with EGRESS_ALLOW_CIDRS`);
  });

  test.each([
    ['nonsense', 'not a valid URL'],
    ['ftp://public.test/', 'the scheme must be http or https'],
  ])('%s: %s', async (url, reason) => {
    expect(await egress.checkUrl(url, 'account')).toBe(reason);
  });

  test.each(
    list(`
    https://public.test/hook https://mixed.test/ https://unknown.test/ https://8.8.8.8/
    https://192.168.1.1/ https://[2606:4700::1111]/
  `),
  )('%s may be reached', async (url) => {
    expect(await egress.checkUrl(url, 'account')).toBeNull();
  });
});

describe("the machine's own public addresses", () => {
  const ownAddresses = (): string[] => ['8.8.8.8', '2606:4700:0:0:0:0:0:1111'];
  const own = [
    'https://8.8.8.8/',
    'https://public.test/',
    'https://[::ffff:8.8.8.8]/',
    'https://[2606:4700::1111]/',
  ];

  test.each(own)('%s is refused, because no firewall protects it', async (url) => {
    const egress = createEgress({ allowCidrs: [], lookup, ownAddresses });
    expect(await egress.checkUrl(url, 'account')).toMatch(
      / is an address of this machine; allow it with EGRESS_ALLOW_CIDRS$/,
    );
  });

  test.each(own)('%s is reachable if it is allowed', async (url) => {
    const egress = createEgress({ allowCidrs: ['8.8.8.8', '2606:4700::/32'], lookup, ownAddresses });
    expect(await egress.checkUrl(url, 'account')).toBeNull();
  });

  test('includes each range, but not its neighbors', async () => {
    const egress = createEgress({ allowCidrs: [], lookup, ownAddresses: () => ['8.8.4.5/24'] });
    expect(await egress.checkUrl('https://8.8.4.0/', 'account')).toContain('is an address of this machine');
    expect(await egress.checkUrl('https://[::ffff:8.8.4.255]/', 'account')).toContain(
      'is an address of this machine',
    );
    expect(await egress.checkUrl('https://8.8.3.255/', 'account')).toBeNull();
    expect(await egress.checkUrl('https://8.8.5.0/', 'account')).toBeNull();
  });

  test('includes addresses that appear later', async () => {
    let own = ['8.8.8.8'];
    const egress = createEgress({ allowCidrs: [], lookup, ownAddresses: () => own });
    expect(await egress.checkUrl('https://8.8.8.8/', 'account')).not.toBeNull();
    own = ['8.8.4.4'];
    expect(await egress.checkUrl('https://8.8.8.8/', 'account')).toBeNull();
    expect(await egress.checkUrl('https://8.8.4.4/', 'account')).not.toBeNull();
  });

  test('its neighbors are reachable', async () => {
    const egress = createEgress({ allowCidrs: [], lookup, ownAddresses });
    expect(await egress.checkUrl('https://8.8.8.9/', 'account')).toBeNull();
    expect(await egress.checkUrl('https://[2606:4700::1112]/', 'account')).toBeNull();
  });

  test('by default includes the addresses of the interfaces', async () => {
    for (const addresses of Object.values(os.networkInterfaces())) {
      for (const { address } of addresses ?? []) {
        expect(
          await createEgress({ allowCidrs: [] }).checkUrl(
            `http://${isIPv6(address) ? `[${address}]` : address}/`,
            'account',
          ),
        ).not.toBeNull();
      }
    }
  });
});

describe('the options', () => {
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
});

import { expect, test } from '@jest/globals';
import { configOf, parseCounts, zoneFile } from './name-servers.ts';

test('zoneFile gives each host an address with its TTL', () => {
  const hosts = [{ name: 's0.fleet.test', ttlSeconds: 30, address: '127.80.0.1' }];
  expect(zoneFile(hosts)).toMatch(
    /^fleet\.test\. 3600 IN SOA [\s\S]+\ns0\.fleet\.test\. 30 IN A 127\.80\.0\.1\n$/,
  );
});

test('the resolver asks the authoritative server for the zone', () => {
  const [, address] = /interface: (\S+)/.exec(configOf('authoritative', '/folder')) ?? [];
  expect(configOf('authoritative', '/folder')).toContain('zonefile: "/folder/zone"');
  expect(configOf('resolver', '/folder')).toContain(`stub-addr: ${address}\n`);
});

test('parseCounts reads the totals of all threads', () => {
  const text = 'thread0.num.queries=7\ntotal.num.queries=12\ntotal.num.cachehits=9\ntotal.num.cachemiss=3\n';
  expect(parseCounts(text)).toEqual({ queries: 12, misses: 3 });
});

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { parseCidrs } from './address-policy.ts';
import { createEgress } from './create-egress.ts';
import { words } from './testing/attack-vectors/attack-vector.ts';
import { testOwner } from './testing/test-owner.ts';

/** `EGRESS_ALLOW_CIDRS`, hosts that it opens and hosts that it leaves closed; all of them are this machine. */
const TABLE: readonly (readonly [setting: string, open: string, closed: string])[] = [
  ['', '', '127.0.0.1 127.0.0.2 [::1] [::ffff:127.0.0.1] 0.0.0.0 [::]'],
  ['127.0.0.2', '127.0.0.2 [::ffff:127.0.0.2]', '127.0.0.1 127.0.0.3 127.0.2.0 [::1] [::127.0.0.2]'],
  ['127.0.0.2/32', '127.0.0.2 2130706434', '127.0.0.1 127.0.0.3'],
  ['127.0.0.2/31', '127.0.0.2 127.0.0.3', '127.0.0.1 127.0.0.4'],
  ['127.0.0.4/30', '127.0.0.4 127.0.0.7', '127.0.0.3 127.0.0.8 127.0.1.4'],
  ['127.0.0.128/25', '127.0.0.128 127.0.0.254', '127.0.0.127 127.0.1.128'],
  ['127.1.0.0/16', '127.1.0.1 127.1.255.255', '127.0.255.255 127.2.0.0'],
  ['127.16.0.0/12', '127.16.0.1 127.31.255.255', '127.15.255.255 127.32.0.0'],
  ['127.128.0.0/9', '127.128.0.0 127.255.255.254', '127.127.255.255'],
  [
    '127.0.0.0/8',
    '127.0.0.1 127.9.9.9 127.1 0x7f.1 [::ffff:7f00:1]',
    '[::1] 0.0.0.0 [::] [::127.0.0.1] [64:ff9b::7f00:1]',
  ],
  ['127.0.0.0/8', 'localhost', '[2002:7f00:1::1] [::ffff:0:127.0.0.1] [2001:0:7f00:1::]'],
  ['::1', '[::1] [0:0:0:0:0:0:0:1]', '127.0.0.1 [::] [::2] [::ffff:127.0.0.1]'],
  ['::1/128', '[::1]', '127.0.0.1 [::2] 10.0.0.1'],
  ['::/127', '[::1] [::]', '127.0.0.1 [::2] 0.0.0.0'],
  ['::/0', '[::1] [::]', '127.0.0.1 [::ffff:127.0.0.1] 0.0.0.0'],
  [
    '::ffff:127.0.0.2',
    '127.0.0.2 [::ffff:127.0.0.2] [::ffff:7f00:2]',
    '127.0.0.1 127.0.0.3 [::1] [::127.0.0.2]',
  ],
  ['::ffff:7f00:0/104', '127.0.0.1 127.255.255.254 [::ffff:127.0.0.1]', '0.0.0.0 [::1] 10.0.0.1'],
  ['::ffff:127.0.0.4/126', '127.0.0.4 127.0.0.7', '127.0.0.3 127.0.0.8'],
  ['::ffff:0:0/96', '127.0.0.1 0.0.0.0 [::ffff:127.0.0.1]', '[::1] [::] [::127.0.0.1]'],
  ['::127.0.0.2', '', '127.0.0.2 [::ffff:127.0.0.2] [::1]'],
  ['64:ff9b::/96', '', '127.0.0.1 [::1] [64:ff9b:1::7f00:1]'],
  ['0.0.0.0', '0.0.0.0 0', '127.0.0.1 0.0.0.1 [::] [::1]'],
  ['0.0.0.0/0', '127.0.0.1 127.9.9.9 0.0.0.0 [::ffff:127.0.0.1]', '[::1] [::]'],
  ['127.0.0.0/8,127.0.0.2', '127.0.0.1 127.0.0.2 127.0.0.3', '[::1]'],
  ['127.0.0.2,127.0.0.0/30', '127.0.0.1 127.0.0.2 127.0.0.3', '127.0.0.4 127.1.0.2'],
  [' 127.0.0.2 , ::1/128 ,', '127.0.0.2 [::1]', '127.0.0.1 127.0.0.3 [::2]'],
  ['10.0.0.0/8,192.168.0.0/16,fd00::/8', '', '127.0.0.1 [::1] 172.16.0.1 169.254.169.254 [fe80::1]'],
];

let server: http.Server;
let connections = 0;
beforeAll(async () => {
  server = http.createServer((_request, response) => response.end());
  server.on('connection', () => (connections += 1));
  server.listen({ port: 0, host: '::', ipv6Only: false });
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  connections = 0;
});

/** 200, or the code of the error. */
function get(setting: string, host: string): Promise<number | string | undefined> {
  const { port } = server.address() as AddressInfo;
  const egress = createEgress({ allowCidrs: parseCidrs(setting) });
  const createConnection = egress.connectionTo(new URL(`http://${host}:${port}/`), testOwner('test'));
  return new Promise((resolve) => {
    const request = http.get({ createConnection }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

const hosts = (text: string): string[] => (text === '' ? [] : words(text));

describe('EGRESS_ALLOW_CIDRS opens only its own addresses, with real connections', () => {
  test.each(TABLE)('%j opens %j but not %j', async (setting, open, closed) => {
    for (const host of hosts(open)) expect([host, await get(setting, host)]).toEqual([host, 200]);
    expect(connections).toBe(hosts(open).length);
    for (const host of hosts(closed)) {
      expect([host, await get(setting, host)]).toEqual([host, 'EGRESS_BLOCKED']);
    }
    expect(connections).toBe(hosts(open).length);
  });

  test('the table covers more than 100 hosts', () => {
    expect(TABLE.flatMap(([, open, closed]) => [...hosts(open), ...hosts(closed)]).length).toBeGreaterThan(
      100,
    );
  });
});

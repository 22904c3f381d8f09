import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { until } from '@tocsin/embedded/testing/until';
import { OpenRequests } from './open-requests.ts';

test('responses that wait behind another are removed with their connection', async () => {
  const open = new OpenRequests();
  const server = createServer((req, res) => open.add(req, res)).listen(0);
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3));
  await until('the requests are open', () => [...open.responses()].length === 3);
  expect([...open.lastResponses()]).toEqual([...open.responses()].slice(2));
  socket.destroy();
  await until('they are forgotten', () => [...open.responses()].length === 0);
  server.close();
});

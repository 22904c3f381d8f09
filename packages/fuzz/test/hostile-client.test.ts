import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { countConnections, describeOnLinux } from './hostile-client.ts';

describeOnLinux('a connection', () => {
  test('counts until its server closes it, even after its client has closed it', async () => {
    const server = createServer({ allowHalfOpen: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    expect(await countConnections(port)).toBe(0);

    const client = connect(port, '127.0.0.1');
    const [accepted] = (await once(server, 'connection')) as [Socket];
    expect(await countConnections(port)).toBe(1);

    client.destroy();
    await once(accepted.resume(), 'end');
    expect(await countConnections(port)).toBe(1);

    accepted.destroy();
    await once(accepted, 'close');
    expect(await countConnections(port)).toBe(0);
    server.close();
  });
});

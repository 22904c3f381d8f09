import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A connection to a server that can be cut. */
export class Gate {
  readonly port: number;
  readonly #sockets: Set<Socket>;
  #isOpen = true;

  private constructor(port: number, sockets: Set<Socket>) {
    this.port = port;
    this.#sockets = sockets;
  }

  static async start(targetPort: number): Promise<Gate & { stop(): Promise<void> }> {
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      if (!gate.#isOpen) {
        client.destroy();
        return;
      }
      const target = connect(targetPort, '127.0.0.1');
      for (const socket of [client, target]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => {
          sockets.delete(socket);
          client.destroy();
          target.destroy();
        });
      }
      client.pipe(target).pipe(client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const gate: Gate = new Gate((server.address() as AddressInfo).port, sockets);
    return Object.assign(gate, {
      stop: async () => {
        gate.close();
        server.close();
      },
    });
  }

  open(): void {
    this.#isOpen = true;
  }

  close(): void {
    this.#isOpen = false;
    for (const socket of this.#sockets) socket.destroy();
  }
}

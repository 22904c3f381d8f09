import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { NeighbourKind } from '../plan/plan-neighbour.ts';
import { listenOn, type Listeners } from './listen.ts';

const TARGETS_NAME = 'neighbour.tocsin.test';
/** `fake-resolver.ts` never answers for names below it. */
const HANGING_ZONE = 'hang.tocsin.test';

/** A request that a target of the neighbour got. */
export interface NeighbourVisit {
  readonly key: string;
  readonly at: number;
  /** Where it came to: which checker sent it. */
  readonly address: string;
}

/** The web servers that the neighbour's monitors watch: hostile ones, and healthy ones of monitors that are faulty themselves. */
export class NeighbourTargets {
  readonly visits: NeighbourVisit[] = [];
  readonly #server: Server;
  #listeners: Listeners | undefined;

  private constructor() {
    this.#server = createServer({ keepAlive: false }, (request, response) => {
      const [, key = '', kind] = /^\/((\w+)-\d+)$/.exec(request.url ?? '') ?? [];
      request.resume();
      this.visits.push({ key, at: Date.now(), address: request.socket.localAddress ?? '' });
      switch (kind as NeighbourKind) {
        case 'redirecting':
          response.writeHead(302, { Location: `http://${randomUUID()}.${HANGING_ZONE}/` }).end();
          return;
        case 'silent':
          return;
        case 'unreadable':
        case 'poison':
          response.end('up');
      }
    });
  }

  static async start(addresses: readonly string[]): Promise<NeighbourTargets> {
    const targets = new NeighbourTargets();
    targets.#listeners = await listenOn(addresses, (socket) => {
      targets.#server.emit('connection', socket);
      socket.resume();
    });
    return targets;
  }

  urlOf(key: string): string {
    return `http://${TARGETS_NAME}:${this.#listeners?.port ?? 0}/${key}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await this.#listeners?.close();
  }
}

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { LocalServer } from '@tocsin/embedded/local-web/local-server';
import type { TargetState } from '../load/world-plan.ts';
import { Checkpoint } from './checkpoint.ts';

/** Resolves to the address of the replica that looks it up (`fake-resolver.ts`). */
export const TARGETS_NAME = 'targets.tocsin.test';
/** Names below it never resolve (`fake-resolver.ts`). */
const HANGING_ZONE = 'hang.tocsin.test';

/** A request to a target with its response. Times are epoch milliseconds. */
export interface TargetVisit {
  readonly key: string;
  /** Address of the target, which identifies the replica if the URL has a name. */
  readonly address: string;
  /** Address of the client. */
  readonly client: string;
  readonly at: number;
  readonly state: TargetState;
  /** Null if there was no response, or the client did not read it. */
  respondedAt: number | null;
}

export interface TargetsOptions {
  /** Returns the current state of a target for a client, which is an IP address. */
  readonly stateOf: (key: string, client: string) => TargetState;
  /** Milliseconds until the response. Defaults to none. */
  readonly delayMs?: () => number;
  readonly addresses?: readonly string[];
}

/** The web servers that monitors watch. Each target has a path, and all requests are logged. */
export class Targets {
  readonly visits: TargetVisit[] = [];
  /** Holds requests before their response. */
  readonly requests = new Checkpoint<{ readonly key: string; readonly address: string }>();
  readonly #options: TargetsOptions;
  #server!: LocalServer;

  private constructor(options: TargetsOptions) {
    this.#options = options;
  }

  static async start(options: TargetsOptions): Promise<Targets> {
    const { addresses } = options;
    const targets = new Targets(options);
    targets.#server = await LocalServer.start(
      (request, response) => void targets.#respond(request, response),
      addresses && { addresses },
    );
    return targets;
  }

  /** @param version gives the same target another URL */
  url(key: string, host = '127.0.0.1', version = 1): string {
    return this.#server.url(`/${key}?v=${version}`, host);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now();
    request.resume();
    const key = /^\/([\w-]+)/.exec(request.url ?? '')?.[1] ?? '';
    const { localAddress: address = '', remoteAddress: client = '' } = request.socket;
    await this.requests.pass({ key, address });
    const delayMs = this.#options.delayMs?.() ?? 0;
    if (delayMs > 0) await wait(delayMs);
    const state = this.#options.stateOf(key, client);
    const visit: TargetVisit = { key, address, client, at, state, respondedAt: null };
    this.visits.push(visit);
    response.on('finish', () => (visit.respondedAt = Date.now()));
    switch (state) {
      case 'hang':
        return;
      case 'reset':
        return this.#server.reset(request);
      case 'redirect':
        response.writeHead(302, { Location: `http://${randomUUID()}.${HANGING_ZONE}/` }).end();
        return;
      case 'up':
      case 'down':
        response.writeHead(state === 'up' ? 200 : 500, { Connection: 'close' }).end(state);
    }
  }
}

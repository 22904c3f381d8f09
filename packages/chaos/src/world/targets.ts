import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { MonitorPlan, TargetState } from '../plan/plan-world.ts';
import { Checkpoint } from './checkpoint.ts';
import { listenOn, type Listeners } from './listen.ts';

/** What the targets are called; who asks by another name than their address can be named, see `fake-resolver.ts`. */
const TARGETS_NAME = 'targets.tocsin.test';

/** A request that a target got. */
export interface TargetVisit {
  readonly key: string;
  /** Where it came to: whose it is, for those who asked by name. */
  readonly address: string;
}

/** A request with what came of it. */
export interface TargetAnswer extends TargetVisit {
  readonly at: number;
  readonly state: TargetState;
  /** When the answer was out, epoch milliseconds; null where none was given, or nobody took it. */
  answeredAt: number | null;
}

/** The web servers that monitors watch, each in turn up and down, with a log of what they answered. */
export class Targets {
  readonly answers: TargetAnswer[] = [];
  /** Requests pass it before they are answered. */
  readonly requests = new Checkpoint<TargetVisit>();
  readonly #monitors: ReadonlyMap<string, MonitorPlan>;
  readonly #server: Server;
  #listeners: Listeners | undefined;
  readonly #failures = new Map<string, { readonly from: number; readonly until: number }>();
  #startedAt = Infinity;
  #final = false;

  private constructor(monitors: readonly MonitorPlan[]) {
    this.#monitors = new Map(monitors.map((monitor) => [monitor.key, monitor]));
    this.#server = createServer({ keepAlive: false });
    this.#server.on('request', (request, response) => void this.#answer(request, response));
  }

  static async start(monitors: readonly MonitorPlan[], addresses: readonly string[]): Promise<Targets> {
    const targets = new Targets(monitors);
    targets.#listeners = await listenOn(addresses, (socket) => {
      targets.#server.emit('connection', socket);
      socket.resume();
    });
    return targets;
  }

  /** @param version makes another URL of the same target */
  urlOf({ key, byName }: Pick<MonitorPlan, 'key' | 'byName'>, version = 1): string {
    const host = byName ? TARGETS_NAME : '127.0.0.1';
    return `http://${host}:${this.#listeners?.port ?? 0}/${key}?v=${version}`;
  }

  /** From now on they take their turns; before that all are up. */
  begin(): void {
    this.#startedAt = Date.now();
  }

  /** Lets a target that takes no turns be down for a while: epoch milliseconds. */
  failBetween(key: string, from: number, until: number): void {
    this.#failures.set(key, { from, until });
  }

  failNoMore(key: string): void {
    this.#failures.delete(key);
  }

  /** From now on each stays as it ends. */
  finish(): void {
    this.#final = true;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await this.#listeners?.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now();
    request.resume();
    const key = /^\/([\w-]+)/.exec(request.url ?? '')?.[1] ?? '';
    const address = request.socket.localAddress ?? '';
    await this.requests.pass({ key, address });
    const state = this.#stateOf(key);
    const answer: TargetAnswer = { key, address, at, state, answeredAt: null };
    this.answers.push(answer);
    response.on('finish', () => (answer.answeredAt = Date.now()));
    if (state === 'hang') return;
    if (state === 'reset') request.socket.resetAndDestroy();
    else response.writeHead(state === 'up' ? 200 : 500, { Connection: 'close' }).end(state);
  }

  #stateOf(key: string): TargetState {
    const monitor = this.#monitors.get(key);
    if (monitor === undefined) return 'up';
    if (this.#final) return monitor.finalState;
    const now = Date.now();
    const failure = this.#failures.get(key);
    if (failure !== undefined && now >= failure.from && now < failure.until) return 'down';
    const elapsedMs = now - this.#startedAt;
    return monitor.turns.findLast(({ atMs }) => atMs <= elapsedMs)?.state ?? 'up';
  }
}

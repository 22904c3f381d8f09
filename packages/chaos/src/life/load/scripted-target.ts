import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Random } from '../../plan/random.ts';

export interface TargetScript {
  readonly seed: number;
  /** The first so many targets go up and down, the others are always up. */
  readonly flapping: number;
  /** Of the targets that go up and down: how long each is up, or down, at a time; a length of its own between the two. */
  readonly turnMs: { readonly least: number; readonly most: number };
}

/** Of all requests, the share that is answered late, so that some are always under way. */
const LATE_SHARE = 0.1;
const LATEST_MS = 800;

/** The targets of all monitors, as paths of one web server: each behaves as the script says, and is counted. */
export class ScriptedTarget {
  /** When each request came, epoch milliseconds, by the number of the target. */
  readonly requests = new Map<number, number[]>();
  /** How many of them were answered with 500, by the number of the target. */
  readonly failures = new Map<number, number>();
  readonly #script: TargetScript;
  readonly #random: Random;
  readonly #turns: readonly number[];
  readonly #server: Server;
  #flappingSince: number | null = null;

  private constructor(server: Server, script: TargetScript) {
    this.#server = server;
    this.#script = script;
    this.#random = new Random(script.seed, 'targets');
    const { least, most } = script.turnMs;
    this.#turns = Array.from({ length: script.flapping }, () => least + this.#random.next() * (most - least));
    server.on('request', (request, response) => {
      request.resume();
      this.#take(Number((request.url ?? '').slice('/m/'.length)), response);
    });
  }

  static async start(script: TargetScript): Promise<ScriptedTarget> {
    const server = createServer({ keepAlive: false });
    server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
    await once(server, 'listening');
    return new ScriptedTarget(server, script);
  }

  url(number: number): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/m/${number}`;
  }

  /** Lets those that are to go up and down do so from now on. */
  flap(): void {
    this.#flappingSince = Date.now();
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #take(number: number, response: ServerResponse): void {
    const known = this.requests.get(number);
    if (known) known.push(Date.now());
    else this.requests.set(number, [Date.now()]);
    const answer = (): void => {
      const down = this.#isDown(number);
      if (down) this.failures.set(number, (this.failures.get(number) ?? 0) + 1);
      response.writeHead(down ? 500 : 200, { 'Content-Type': 'text/plain' }).end('ok');
    };
    if (this.#random.chance(LATE_SHARE)) setTimeout(answer, this.#random.next() * LATEST_MS);
    else answer();
  }

  #isDown(number: number): boolean {
    const turn = this.#turns[number];
    if (turn === undefined || this.#flappingSince === null || number >= this.#script.flapping) return false;
    return Math.floor((Date.now() - this.#flappingSince) / turn) % 2 === 1;
  }
}

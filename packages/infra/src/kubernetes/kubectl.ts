import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { runTool } from '../run-tool.ts';

const RESTART_MS = 500;

/** Runs `kubectl` in one namespace of the cluster that KUBECONFIG names. */
export class Kubectl {
  readonly namespace: string;

  constructor(namespace: string) {
    this.namespace = namespace;
  }

  /** Returns the output. @param input for stdin @throws Error with what it printed */
  async run(args: readonly string[], input = ''): Promise<string> {
    return (await runTool('kubectl', ['--namespace', this.namespace, ...args], { input })).stdout;
  }

  /** Creates or changes these objects. */
  async apply(...objects: readonly object[]): Promise<void> {
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    await this.run(['apply', '--filename', '-'], JSON.stringify(list));
  }

  /** The items of `kubectl get … --output json`. */
  async list<Item>(item: z.ZodType<Item>, args: readonly string[]): Promise<Item[]> {
    const output = await this.run(['get', ...args, '--output', 'json']);
    return z.object({ items: z.array(item) }).parse(JSON.parse(output)).items;
  }

  /** Forwards a free port of this machine. It is opened again, with another port, when its pod is gone. */
  async forward(target: string, port: number): Promise<PortForward> {
    return PortForward.open(['--namespace', this.namespace, 'port-forward', target, `:${port}`]);
  }
}

/** A port of this machine that leads into the cluster. */
export class PortForward {
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #port = 0;
  #closed = false;

  private constructor(args: readonly string[]) {
    this.#args = args;
  }

  static async open(args: readonly string[]): Promise<PortForward> {
    const forward = new PortForward(args);
    await forward.#start();
    return forward;
  }

  get port(): number {
    return this.#port;
  }

  close(): Promise<void> {
    this.#closed = true;
    this.#child?.kill();
    return Promise.resolve();
  }

  /** Resolves when kubectl has printed its port. @throws Error with what it printed, if it ended before */
  async #start(): Promise<void> {
    const child = spawn('kubectl', this.#args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (bytes) => {
      errors += String(bytes);
      // kubectl keeps running after it loses its pod, and only prints an error.
      if (/lost connection to pod|error forwarding port/.test(errors)) child.kill();
    });
    for await (const line of createInterface(child.stdout)) {
      const [, port] = /^Forwarding from 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
      if (port === undefined) continue;
      this.#port = Number(port);
      child.stdout.resume();
      child.on('exit', () => this.#restart());
      return;
    }
    throw new Error(`kubectl ${this.#args.join(' ')} ended:\n${errors}`);
  }

  #restart(): void {
    if (this.#closed) return;
    const again = (): void => void this.#start().catch(() => this.#restart());
    setTimeout(again, RESTART_MS).unref();
  }
}

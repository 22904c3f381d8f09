import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export type HelperName = 'web-target' | 'webhook-sink' | 'floor-client' | 'api-client';

/** One of the programs in `processes/`: apart from ours, so that its CPU time is not counted as anybody else's. */
export class HelperProcess<Message extends object> {
  readonly #name: HelperName;
  readonly #child: ChildProcess;

  private constructor(name: HelperName, child: ChildProcess) {
    this.#name = name;
    this.#child = child;
  }

  static async start<Message extends object>(name: HelperName): Promise<HelperProcess<Message>> {
    const file = fileURLToPath(new URL(`../processes/${name}.js`, import.meta.url));
    const child = fork(file, [], { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } });
    await once(child, 'spawn');
    return new HelperProcess(name, child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a message and gives the reply. One at a time. */
  async ask<Reply>(message: Message): Promise<Reply> {
    const ended = once(this.#child, 'exit').then(() => [{ failure: 'it ended' }]);
    this.#child.send(message);
    const [answer] = (await Promise.race([once(this.#child, 'message'), ended])) as [
      { reply: Reply } | { failure: string },
    ];
    if ('failure' in answer) throw new Error(`${this.#name}: ${answer.failure}`);
    return answer.reply;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }
}

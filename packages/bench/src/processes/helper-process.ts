import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a program from this folder as a separate process, so that its CPU time is measured separately. */
export class HelperProcess<Message extends object> {
  readonly #child: ChildProcess;
  readonly #ended: Promise<[{ failure: string }]>;

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, 'exit').then(() => [{ failure: 'the process ended' }]);
  }

  static async start<Message extends object>(
    name: 'target' | 'bare-client',
  ): Promise<HelperProcess<Message>> {
    const file = fileURLToPath(new URL(`${name}.js`, import.meta.url));
    const child = fork(file, [], { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } });
    await once(child, 'spawn');
    return new HelperProcess(child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Sends a message and returns the reply. Supports one request at a time. @throws Error if the program fails or ends */
  async request<Reply>(message: Message): Promise<Reply> {
    this.#child.send(message);
    const [response] = (await Promise.race([once(this.#child, 'message'), this.#ended])) as [
      { reply: Reply } | { failure: string },
    ];
    if ('failure' in response) throw new Error(`${this.#child.spawnargs.join(' ')}: ${response.failure}`);
    return response.reply;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** Replies to each message of the parent process, and ends with it. */
export function serveParent(reply: (message: never) => Promise<unknown>): void {
  process.on('disconnect', () => process.exit(0));
  // A Ctrl-C in the terminal reaches all processes. The parent stops this one.
  process.on('SIGINT', () => undefined);
  process.on('message', (message) => {
    void reply(message as never).then(
      (result) => process.send?.({ reply: result }),
      (error: unknown) => process.send?.({ failure: String(error) }),
    );
  });
}

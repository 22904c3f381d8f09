import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '@tocsin-monitor/cli/main';
import { maskOutput } from '@tocsin-monitor/cli/terminal/mask-output';
import type { Terminal } from '@tocsin-monitor/cli/terminal/terminal';
import picocolors from 'picocolors';

export interface FakeTerminal extends Terminal {
  /** Lines of stdout. */
  readonly printed: string[];
  /** Lines of stderr. */
  readonly notes: string[];
  readonly questions: string[];
  stop(): void;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The answer to every question, or an action that runs before the answer "yes". Null if the terminal is not interactive. */
  readonly answer?: boolean | (() => Promise<void>) | null;
  readonly stdin?: string;
}

export function fakeTerminal(
  cwd = '/',
  { env = {}, answer = null, stdin = '' }: TerminalOptions = {},
): FakeTerminal {
  const [printed, notes, questions]: [string[], string[], string[]] = [[], [], []];
  const stop = new AbortController();
  const terminal = maskOutput({
    env,
    cwd,
    readStdin: () => Promise.resolve(Buffer.from(stdin)),
    isInteractive: answer !== null,
    colors: picocolors.createColors(false),
    noteColors: picocolors.createColors(false),
    print: (text) => void printed.push(...text.split('\n')),
    note: (text) => void notes.push(...text.split('\n')),
    progress: () => ({ update: () => undefined, stop: () => undefined }),
    confirm: async (question) => {
      questions.push(question);
      if (typeof answer !== 'function') return answer === true;
      await answer();
      return true;
    },
    run: () => Promise.reject(new Error('no command expected')),
    signal: stop.signal,
  });
  return { ...terminal, printed, notes, questions, stop: () => stop.abort() };
}

/** A folder with these files. */
export async function folderWith(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'cli-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

/** A flow mapping with the required fields of a monitor, and `more` such as `, interval: 30`. */
export const entry = (key: string, more = ''): string =>
  `{ externalId: ${key}, name: ${key}, url: "https://${key}.example"${more} }`;

/** The text of a file with these monitors. */
export const fileOf = (source: string, ...entries: string[]): string =>
  `source: ${source}\nmonitors:${entries.length === 0 ? ' []' : ''}\n${entries.map((fields) => `  - ${fields}\n`).join('')}`;

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly questions: readonly string[];
}

/** Runs a command in a folder. */
export async function runIn(cwd: string, args: readonly string[], options?: TerminalOptions): Promise<Ran> {
  const terminal = fakeTerminal(cwd, options);
  const code = await run(args, terminal);
  const { printed, notes, questions } = terminal;
  return { code, out: printed.join('\n'), err: notes.join('\n'), questions };
}

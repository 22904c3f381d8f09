import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { readTestRedis } from '@tocsin/embedded/testing/redis';
import { until } from '@tocsin/embedded/testing/until';
import type { Pool } from 'pg';

/** A text that a reader may find, and its location. */
export interface Surface {
  readonly where: string;
  readonly text: string;
}

/** Finds secrets, by name, in these texts, in any form that is easily decoded. Returns `name at where`. */
export function findSecrets(
  secrets: Readonly<Record<string, string>>,
  surfaces: readonly Surface[],
): string[] {
  const found = new Set<string>();
  for (const [name, secret] of Object.entries(secrets)) {
    const forms = formsOf(secret);
    for (const { where, text } of surfaces) {
      if (forms.some((form) => form.test(text))) found.add(`${name} at ${where}`);
    }
  }
  return [...found].toSorted();
}

/** Matches a secret as it is, percent-encoded, escaped as in JSON, in hexadecimal, and in base64 at any offset in a longer text. */
function formsOf(secret: string): RegExp[] {
  const texts = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  const base64 = [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    // The first and last characters also depend on the surrounding bytes.
    const inner = bytes
      .toString('base64')
      .replace(/=+$/, '')
      .slice(offset === 0 ? 0 : offset + 1, -2);
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const hexadecimal = Buffer.from(secret).toString('hex');
  return [
    ...[...texts, ...base64].map((text) => new RegExp(escaped(text))),
    new RegExp(escaped(hexadecimal), 'i'),
  ];
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** Returns every value in every table, by column. */
export async function readTables(pool: Pool): Promise<Surface[]> {
  const { rows: columns } = await pool.query<{ schema: string; table: string; column: string }>(`
    select n.nspname as schema, c.relname as table, a.attname as column
    from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
      and n.nspname not in ('pg_catalog', 'information_schema')`);
  return Promise.all(
    columns.map(async ({ schema, table, column }) => {
      const { rows } = await pool.query<{ value: string | null }>(
        `select "${column}"::text as value from "${schema}"."${table}"`,
      );
      return { where: `${table}.${column}`, text: rows.map(({ value }) => value ?? '').join('\n') };
    }),
  );
}

/** Returns every key in the store with its content. */
export async function readStore(url: string): Promise<Surface[]> {
  const keys = await readTestRedis(url);
  return keys.map(({ key, content }) => ({ where: key, text: `${key} ${content}` }));
}

/**
 * Records every command that the store gets from now on, including jobs that were removed before the end. Does not use ioredis, whose
 * `monitor` fails if a busy store sends the first command together with its reply.
 */
export async function watchStore(url: string): Promise<{ read(): Surface; stop(): void }> {
  const { hostname, port, password, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.write(`AUTH ${decodeURIComponent(password)}\r\nMONITOR\r\n`);
  await until('the store to accept MONITOR', () => received.startsWith('+OK\r\n+OK\r\n'));
  const ofThisDatabase = new RegExp(`^\\+[\\d.]+ \\[${pathname.slice(1)} [^\\]]*\\] (.*)$`);
  return {
    read: () => ({
      where: 'a command of the store',
      text: received
        .split('\r\n')
        .map((line) => ofThisDatabase.exec(line)?.[1])
        .filter((command) => command !== undefined)
        .map(unescapeCommand)
        .join('\n'),
    }),
    stop: () => socket.destroy(),
  };
}

/** Redis shows the arguments of a command in quotes, with escapes for bytes that are not printable ASCII. */
function unescapeCommand(command: string): string {
  const bytes = command.replaceAll(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? (ESCAPED[char] ?? char) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

const ESCAPED: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };

export async function readFiles(paths: readonly string[]): Promise<Surface[]> {
  return Promise.all(paths.map(async (path) => ({ where: path, text: await readFile(path, 'utf8') })));
}

/** Returns the command lines of all visible processes. */
export async function readCommandLines(): Promise<Surface[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  return Promise.all(
    pids.map(async (pid) => ({
      where: 'a command line',
      text: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    })),
  );
}

import { createHash } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import { Client } from 'pg';

/** Marks statements that a session prepares once. It is a comment, so that other clients run them unchanged. */
const MARK = '/* prepared */';
export const prepared: SQL = sql.raw(MARK);

const names = new Map<string, string>();

/** A statement's name in its session: the same text has the same name. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 20);
  names.set(text, name);
  return name;
}

/** Lets Postgres parse and plan statements that contain `prepared` once per session: planning costs more than running them. */
export class PreparingClient extends Client {
  override query(...args: unknown[]): never {
    const [config, ...rest] = args;
    const marked = isConfig(config) && config.text.includes(MARK);
    const query = super.query.bind(this) as (...all: unknown[]) => never;
    return marked ? query({ ...config, name: nameOf(config.text) }, ...rest) : query(...args);
  }
}

function isConfig(config: unknown): config is { text: string } {
  return typeof config === 'object' && config !== null && 'text' in config && typeof config.text === 'string';
}

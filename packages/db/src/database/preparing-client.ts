import { createHash } from 'node:crypto';
import { sql, type SQL } from 'drizzle-orm';
import { Client } from 'pg';

/** Marks a statement that each session prepares once. The mark is a comment, so that other clients run the statement unchanged. */
const MARK = '/* prepared */';
export const PREPARE: SQL = sql.raw(MARK);

const names = new Map<string, string>();

/** Names a statement in its session. The same text has the same name. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(text).digest('base64url').slice(0, 20);
  names.set(text, name);
  return name;
}

/** Makes PostgreSQL parse and plan statements that contain `PREPARE` once per session, because planning costs more than running them. */
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

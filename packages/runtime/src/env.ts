import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { errorCode } from './error-code.ts';
import { parsePostgresUrl } from './postgres/address.ts';

/** The process cannot run with these settings. `runService` prints the message without a stack and exits with 1. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

export type EnvSource = Readonly<Record<string, string | undefined>>;

/** Parses the variables of `schema`; an empty string is unset. @throws SettingsError with a line per invalid one, without secret values */
export function parseEnv<Shape extends z.core.$ZodShape>(
  schema: z.ZodObject<Shape>,
  source: EnvSource = process.env,
): z.output<z.ZodObject<Shape>> {
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = source[name]?.trim();
    if (value !== undefined && value !== '') values[name] = value;
  }
  const result = schema.safeParse(values);
  if (result.success) return result.data;
  const lines = Object.entries(schema.shape).flatMap(([name, field]) => {
    const message = result.error.issues.find(({ path }) => path[0] === name)?.message;
    if (message === undefined) return [];
    const value = values[name];
    if (value === undefined) return `${name} is not set: it ${message}`;
    return isSecret(field) ? `${name} ${message}` : `${name} ${message}, not ${JSON.stringify(value)}`;
  });
  throw new SettingsError(lines.join('\n'));
}

/** Whether the setting is marked as secret, also after `partial()` has made it optional. */
export function isSecret(field: unknown): boolean {
  if (!(field instanceof z.ZodType)) return false;
  if (field.meta()?.['secret'] === true) return true;
  return field instanceof z.ZodOptional && isSecret(field.unwrap());
}

/** The type of a setting. Each message completes the sentence "<NAME> …", see `parseEnv`. */
type Field<Output> = z.ZodType<Output, string>;

export function wholeNumber(min: number, max: number): Field<number> {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string(message)
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** A number with up to two decimal places. */
export function decimal(min: number, max: number): Field<number> {
  const message = `must be a number from ${min} to ${max}`;
  return z
    .string(message)
    .regex(/^\d{1,9}(\.\d{1,2})?$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

/** A whole number that divides another one. */
export function divisorOf(total: number): Field<number> {
  const field = wholeNumber(1, total);
  return field.refine((value) => total % value === 0, `must be a divisor of ${total}`);
}

/** A TCP port; 0 lets the system choose one. */
export function port(): Field<number> {
  return wholeNumber(0, 65_535);
}

export function flag(): Field<boolean> {
  return z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');
}

/** A number from 0 to 1. */
export function ratio(): Field<number> {
  const message = 'must be a number from 0 to 1';
  return z
    .string(message)
    .regex(/^(0?\.\d+|[01](\.\d+)?)$/, message)
    .transform(Number)
    .refine((value) => value <= 1, message);
}

/** An IP address to listen on. */
export function address(): Field<string> {
  return z
    .string()
    .refine((value) => isIP(value) !== 0, 'must be an IP address of this machine, such as 127.0.0.1');
}

/** An absolute URL with one of these schemes, e.g. `['http', 'https']`. The value is not normalized. */
export function url(schemes: readonly string[]): Field<string> {
  const prefixes = schemes.map((scheme) => `${scheme}://`);
  const message = `must be a URL that starts with ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(prefixes)}`;
  return z.string(message).refine((value) => {
    const scheme = /^([a-z][a-z0-9+.-]*):\/\/./i.exec(value)?.[1]?.toLowerCase();
    if (scheme === undefined || !schemes.includes(scheme)) return false;
    // Addresses of stores may name several hosts, which no URL parser accepts.
    return !scheme.startsWith('http') || z.url().safeParse(value).success;
  }, message);
}

/** An address that `parsePostgresUrl` accepts. The value is not normalized. */
export function postgresUrl(): Field<string> {
  return url(['postgres', 'postgresql']).superRefine((value, context) => {
    try {
      parsePostgresUrl(value);
    } catch (error) {
      context.addIssue((error as RangeError).message);
    }
  });
}

/** A comma-separated list with at least one entry. Blanks and empty entries are dropped. */
export function list(what: string, pattern: RegExp): Field<readonly string[]> {
  return listOf(`must be ${what}, comma-separated`, pattern);
}

function listOf(message: string, pattern: RegExp): Field<readonly string[]> {
  return z
    .string(message)
    .transform((value) => value.split(',').map((part) => part.trim()))
    .transform((parts) => parts.filter((part) => part !== ''))
    .refine((parts) => parts.length > 0 && parts.every((part) => pattern.test(part)), message);
}

/** One or more keys of 32 bytes in base64, comma-separated. */
export function secretKeys(): Field<readonly Buffer[]> {
  const message =
    'must be 32 bytes in base64 (make one: openssl rand -base64 32), or several, comma-separated: the first encrypts, all decrypt';
  const keys = listOf(message, /^[A-Za-z0-9+/_-]{43}=?$/);
  return keys.transform((parts) => parts.map((part) => Buffer.from(part, 'base64')));
}

/** The path of a readable file with at least one PEM certificate. */
export function certificateFile(): Field<string> {
  return z.string().superRefine((path, context) => {
    try {
      if (readFileSync(path, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return;
      context.addIssue('must name a file with PEM certificates');
    } catch (error) {
      context.addIssue(`must name a readable file of PEM certificates (${errorCode(error) ?? 'unreadable'})`);
    }
  });
}

/** A folder with an `index.html`, as an absolute path. */
export function builtPages(): Field<string> {
  return z
    .string()
    .refine((path) => existsSync(join(path, 'index.html')), 'must name a folder with an index.html')
    .transform((path) => resolve(path));
}

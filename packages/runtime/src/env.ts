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

/** Parses the variables of `schema`. Empty strings count as unset. @throws SettingsError with a line for each invalid variable */
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

/** Reports whether the setting is marked as secret, even if `partial()` made it optional. */
export function isSecret(field: unknown): boolean {
  if (!(field instanceof z.ZodType)) return false;
  if (field.meta()?.['secret'] === true) return true;
  return field instanceof z.ZodOptional && isSecret(field.unwrap());
}

/** A setting. Its error messages complete the sentence "<NAME> …". */
type Field<Output> = z.ZodType<Output, string>;

function number(kind: string, pattern: RegExp, min: number, max: number): Field<number> {
  const message = `must be a ${kind} from ${min} to ${max}`;
  return z
    .string(message)
    .regex(pattern, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

export function wholeNumber(min: number, max: number): Field<number> {
  return number('whole number', /^\d{1,15}$/, min, max);
}

export function decimal(min: number, max: number): Field<number> {
  return number('number', /^\d{1,9}(\.\d{1,2})?$/, min, max);
}

export function ratio(): Field<number> {
  return number('number', /^(0?\.\d+|[01](\.\d+)?)$/, 0, 1);
}

export function divisorOf(total: number): Field<number> {
  const field = wholeNumber(1, total);
  return field.refine((value) => total % value === 0, `must be a divisor of ${total}`);
}

/** 0 lets the system choose a port. */
export function port(): Field<number> {
  return wholeNumber(0, 65_535);
}

export function flag(): Field<boolean> {
  return z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');
}

export function address(): Field<string> {
  return z
    .string()
    .refine((value) => isIP(value) !== 0, 'must be an IP address of this machine, such as 127.0.0.1');
}

/** An absolute URL with one of these schemes, not normalized. */
export function url(schemes: readonly string[]): Field<string> {
  const prefixes = schemes.map((scheme) => `${scheme}://`);
  const message = `must be a URL that starts with ${new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(prefixes)}`;
  return z.string(message).refine((value) => {
    const scheme = /^([a-z][a-z0-9+.-]*):\/\/./i.exec(value)?.[1]?.toLowerCase();
    if (scheme === undefined || !schemes.includes(scheme)) return false;
    // Store addresses may name several hosts, which no URL parser accepts.
    return !scheme.startsWith('http') || z.url().safeParse(value).success;
  }, message);
}

export function postgresUrl(): Field<string> {
  return url(['postgres', 'postgresql']).superRefine((value, context) => {
    try {
      parsePostgresUrl(value);
    } catch (error) {
      context.addIssue((error as RangeError).message);
    }
  });
}

/** A comma-separated list with at least one entry, without blanks and empty entries. */
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

export function secretKeys(): Field<readonly Buffer[]> {
  const message =
    'must be 32 bytes in base64 (make one: openssl rand -base64 32), or several, comma-separated: the first encrypts, all decrypt';
  const keys = listOf(message, /^[A-Za-z0-9+/_-]{43}=?$/);
  return keys.transform((parts) => parts.map((part) => Buffer.from(part, 'base64')));
}

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

export function builtPages(): Field<string> {
  return z
    .string()
    .refine((path) => existsSync(join(path, 'index.html')), 'must name a folder with an index.html')
    .transform((path) => resolve(path));
}

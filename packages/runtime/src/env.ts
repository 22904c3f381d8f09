import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { errorCode } from './error-code.ts';
import { parsePostgresUrl } from './postgres/address.ts';

/** The process cannot run with these settings. `main` prints the message alone, without a stack, and exits 1. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** What the catalogue in `settings.ts` says of a variable beside its schema. */
export interface SettingMeta {
  readonly description: string;
  /** The value is never shown in an error message. */
  readonly secret?: boolean;
  /** A value to show in `.env.example` where there is no default. */
  readonly example?: string;
}

export type EnvSource = Readonly<Record<string, string | undefined>>;

/**
 * Reads the variables of `schema`; an empty string counts as unset.
 * Throws a `SettingsError` with one line per bad variable: its name, what is right, and what it is.
 */
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
  throw new SettingsError(errorLines(schema, values, result.error.issues).join('\n'));
}

function errorLines(
  schema: z.ZodObject,
  values: Readonly<Record<string, string>>,
  issues: readonly z.core.$ZodIssue[],
): string[] {
  const messages = new Map<string, string>();
  for (const issue of issues) {
    const name = String(issue.path[0]);
    if (!messages.has(name)) messages.set(name, issue.message);
  }
  return [...messages].map(([name, message]) => {
    const value = values[name];
    if (value === undefined) return `${name} is not set: it ${message}`;
    return isSecret(schema.shape[name])
      ? `${name} ${message}`
      : `${name} ${message}, not ${JSON.stringify(value)}`;
  });
}

/** Whether a variable's value is secret. The catalogue's entry may have been made optional since. */
export function isSecret(field: unknown): boolean {
  if (!(field instanceof z.ZodType)) return false;
  if (field.meta()?.['secret'] === true) return true;
  return field instanceof z.ZodOptional && isSecret(field.unwrap());
}

/*
 * Kinds of variables. Each message completes the sentence "<NAME> …", see `parseEnv`.
 */

export type Field<Output> = z.ZodType<Output, string>;

/** A whole number between the two, both included. */
export function wholeNumber(minimum: number, maximum: number): Field<number> {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string(message)
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, message);
}

/** `true` or `false`. */
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

/** A TCP port; with `any`, 0 stands for any free one. */
export function port(options: { readonly any?: boolean } = {}): Field<number> {
  return wholeNumber(options.any === true ? 0 : 1, 65_535);
}

/** An IP address to listen on. */
export function address(): Field<string> {
  return z
    .string()
    .refine((value) => isIP(value) !== 0, 'must be an IP address of this machine, such as 127.0.0.1');
}

/** An absolute URL of one of these schemes, e.g. `['http', 'https']`. The value stays as it was written. */
export function url(schemes: readonly string[]): Field<string> {
  const message = `must be a URL that starts with ${orList(schemes.map((scheme) => `${scheme}://`))}`;
  return z.string(message).refine((value) => {
    const scheme = /^([a-z][a-z0-9+.-]*):\/\/./i.exec(value)?.[1]?.toLowerCase();
    if (scheme === undefined || !schemes.includes(scheme)) return false;
    // Stores' addresses may name several hosts.
    return !scheme.startsWith('http') || z.url().safeParse(value).success;
  }, message);
}

/** The address of PostgreSQL, or of several servers, as `parsePostgresUrl` reads it. The value stays as it was written. */
export function postgresUrl(): Field<string> {
  return url(['postgres', 'postgresql']).superRefine((value, context) => {
    try {
      parsePostgresUrl(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
    }
  });
}

/** Comma-separated; blanks around the parts are dropped, and so are empty parts. At least one is left. */
export function list(what: string, pattern: RegExp): Field<readonly string[]> {
  const message = `must be ${what}, comma-separated`;
  return z
    .string(message)
    .transform(splitList)
    .refine((parts) => parts.length > 0 && parts.every((part) => pattern.test(part)), message);
}

/** One or more keys of 32 bytes in base64, comma-separated: the first encrypts, all decrypt. */
export function secretKeys(): Field<readonly Buffer[]> {
  const message =
    'must be 32 bytes in base64 (make one: openssl rand -base64 32), or several, comma-separated: the first encrypts, all decrypt';
  return z
    .string(message)
    .transform(splitList)
    .refine((parts) => parts.length > 0 && parts.every(isKey), message)
    .transform((parts) => parts.map((part) => Buffer.from(part, 'base64')));
}

/** The path of a readable file with at least one PEM certificate. */
export function certificateFile(): Field<string> {
  return z.string().superRefine((path, context) => {
    try {
      if (readFileSync(path, 'utf8').includes('-----BEGIN CERTIFICATE-----')) return;
      context.addIssue({ code: 'custom', message: 'must name a file with PEM certificates' });
    } catch (error) {
      const reason = errorCode(error) ?? 'unreadable';
      context.addIssue({
        code: 'custom',
        message: `must name a readable file of PEM certificates (${reason})`,
      });
    }
  });
}

/** A folder with an `index.html`. */
export function builtPages(): Field<string> {
  return z
    .string()
    .refine((path) => existsSync(join(path, 'index.html')), 'must name a folder with an index.html')
    .transform((path) => resolve(path));
}

function splitList(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function isKey(value: string): boolean {
  return /^[A-Za-z0-9+/_-]{43}=?$/.test(value) && Buffer.from(value, 'base64').length === 32;
}

function orList(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;
}

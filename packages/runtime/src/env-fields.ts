import { existsSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { errorCode } from './error-code.ts';
import { parsePostgresUrl } from './postgres/address.ts';

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

import { MIMEType } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import express from 'express';
import type { Request, RequestHandler } from 'express';
import { parseJsonObject } from './json-text.ts';
import type { LargeBodies } from './large-bodies.ts';

/**
 * Reads a JSON object into `req.body`. Checks errors in the order 413, 415, 400. Refuses Brotli because of CVE-2026-111497 in Node's
 * decoder.
 */
export function parseJsonBody(limit: number, largeBodies?: LargeBodies): RequestHandler {
  const readBytes = express.raw({ type: () => true, limit });
  return async function parse(req, res, next) {
    if (req.get('content-encoding')?.toLowerCase() === 'br') throw unsupportedCoding();
    const read = (): Promise<void> =>
      new Promise((resolve, reject) => {
        readBytes(req, res, (error?: unknown) => {
          if (error === undefined) resolve();
          else reject(toBodyError(error, limit));
        });
      });
    if (largeBodies === undefined) await read();
    else if (!(await largeBodies.read(req, res, read))) return;
    req.body = toObject(req);
    next();
  };
}

export type RawBody = Readonly<Record<string, unknown>>;

/** The parsed body, or an empty object. */
export function bodyOf(req: Request): RawBody {
  return (req.body as Record<string, unknown> | undefined) ?? {};
}

function toObject(req: Request): Record<string, unknown> | undefined {
  const bytes: unknown = req.body;
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return undefined;
  requireJson(req.get('content-type'));
  return parseJsonObject(decodeBody(bytes));
}

function requireJson(contentType: string | undefined): void {
  const type = contentType === undefined ? null : parseContentType(contentType);
  if (type?.essence !== 'application/json')
    throw new AppError('unsupported_media_type', 'Send the body with Content-Type: application/json.');
  const charset = type.params.get('charset') ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset))
    throw new AppError('unsupported_media_type', 'JSON must be UTF-8. Omit the charset from Content-Type.');
}

function parseContentType(text: string): MIMEType | null {
  try {
    return new MIMEType(text);
  } catch {
    return null;
  }
}

/** @throws AppError malformed_body */
function decodeBody(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new AppError('malformed_body', 'The body is not valid UTF-8.', { cause: error });
  }
}

function toBodyError(error: unknown, limit: number): Error {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (status === 413) {
    const detail = `The body must be at most ${limit} bytes.`;
    return new AppError('body_too_large', detail, { cause: error });
  }
  if (status === 415) return unsupportedCoding(error);
  if (status === 400) {
    return new AppError('malformed_body', 'The body is incomplete or cannot be decompressed.', {
      cause: error,
    });
  }
  return error as Error;
}

function unsupportedCoding(cause?: unknown): AppError {
  const detail = 'Send the body without Content-Encoding, or with gzip or deflate.';
  return new AppError('unsupported_media_type', detail, { cause });
}

import { MIMEType } from 'node:util';
import { AppError } from '@tocsin/contracts/errors';
import { LIMITS } from '@tocsin/contracts/limits';
import express from 'express';
import type { Request, RequestHandler } from 'express';
import { parseJsonObject } from './json-text.ts';

/**
 * Reads (and inflates) the bytes of any body into `req.body`, not a buffer where there is none; what is in it is judged afterwards, so that a request without one needs no type. Brotli is left
 * alone: what decodes it in Node has let strangers write into the memory of a process (CVE-2026-111497), and no client needs it.
 */
function readBytesUpTo(limit: number): RequestHandler {
  const readBody = express.raw({ type: () => true, limit });
  return function read(req, res, next) {
    if (req.get('content-encoding')?.toLowerCase() === 'br') {
      next(unsupportedCoding());
      return;
    }
    readBody(req, res, (error?: unknown) =>
      next(error === undefined ? undefined : toBodyError(error, limit)),
    );
  };
}

/** Reads a JSON object into `req.body`, undefined where there is no body (design §3: 413, 415, 400, in this order). */
export const parseJsonBody: RequestHandler = parseJsonBodyUpTo(LIMITS.apiBodyBytes);

/** The same for a body of so many bytes at most. */
export function parseJsonBodyUpTo(limit: number): RequestHandler {
  const read = readBytesUpTo(limit);
  return function parse(req, res, next) {
    read(req, res, (error?: unknown) => {
      try {
        if (error !== undefined) throw error;
        req.body = toObject(req);
        next();
      } catch (failure) {
        next(failure);
      }
    });
  };
}

/** The parsed body; without one, an object that gives no field. */
export function bodyOf(req: Request): Readonly<Record<string, unknown>> {
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
  if (type?.essence !== 'application/json') {
    throw new AppError('unsupported_media_type', 'Send the body with Content-Type: application/json.');
  }
  const charset = type.params.get('charset') ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) {
    throw new AppError('unsupported_media_type', 'JSON is read as UTF-8 only: leave the charset out.');
  }
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

/** An error of Express' body reader as one of ours. */
function toBodyError(error: unknown, limit: number): unknown {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  if (status === 413) {
    const detail = `The body must be at most ${limit} bytes.`;
    return new AppError('body_too_large', detail, { cause: error });
  }
  if (status === 415) {
    return unsupportedCoding(error);
  }
  if (status === 400) {
    return new AppError('malformed_body', 'The body could not be read to its end.', { cause: error });
  }
  return error;
}

function unsupportedCoding(cause?: unknown): AppError {
  const detail = 'Send the body without Content-Encoding, or with gzip or deflate.';
  return new AppError('unsupported_media_type', detail, { cause });
}

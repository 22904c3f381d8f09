import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { SMALL_BODY_BYTES } from './body-memory.ts';
import { quote } from './redact.ts';

/** Maximum size of a body, both received and decompressed. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Reading a MiB in one-byte chunks would take most of a second of CPU time. */
const MAX_BODY_CHUNKS = 65_536;
/** Twice the kept size, so that a secret at the end is read and redacted as a whole. */
const BEGINNING = { bytes: 8_192, ms: 1_000 } as const;
const GZIP = new Set(['gzip', 'x-gzip']);
const READABLE = new Set([...GZIP, 'deflate']);
/** Checks cannot decode these codings. Others are ignored, because servers also send charsets or `none`. */
const UNREADABLE = new Set(
  'br zstd compress x-compress dcb dcz exi pack200-gzip aes128gcm bzip2 lzma xz lz4 snappy sdch'.split(' '),
);
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]{1,40})/i;
/** Makes zlib decompress as much as possible of a truncated body. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

export interface ReadBody {
  /** Received bytes, or null if they are discarded. */
  readonly bytes: Buffer | null;
  /** False if the body continues beyond 1 MiB or 65,536 chunks. */
  readonly complete: boolean;
}

/** Called once, with the body or a description of why it broke off. */
type OnRead = (result: ReadBody | string) => void;
/** Waits for memory. */
type Admit = () => Promise<void>;

/** Reads a body up to 1 MiB or 65,536 chunks. @param admit called once if the body is large. Null discards the bytes */
export function readBody(response: IncomingMessage, admit: Admit | null, done: OnRead): void {
  if (admit !== null) return consumeBody(response, admit, done);
  // Most bodies arrive with their head, so by the next tick the parser has seen all of it. Reading the stream would add a tenth to the cost
  // of a check.
  process.nextTick(() => {
    if (response.complete) done({ bytes: null, complete: true });
    else consumeBody(response, null, done);
  });
}

function consumeBody(response: IncomingMessage, admit: Admit | null, done: OnRead): void {
  let bytes: Buffer = Buffer.alloc(0);
  let length = 0;
  let chunks = 0;
  let finished = false;
  let isLarge = false;
  const finish = (result: ReadBody | string): void => {
    if (finished) return;
    finished = true;
    done(result);
  };
  const end = (complete: boolean): void =>
    finish({ bytes: admit === null ? null : bytes.subarray(0, length), complete });
  const cutOff = (): void =>
    finish(`connection closed before the response was complete, ${length} bytes into the body`);
  response.on('data', (chunk: Buffer) => {
    if (finished) return;
    const total = length + chunk.length;
    if (admit !== null) bytes = append(bytes, length, chunk);
    if (admit !== null && !isLarge && total > SMALL_BODY_BYTES) {
      isLarge = true;
      response.pause();
      void admit().then(() => response.resume());
    }
    length = Math.min(total, MAX_BODY_BYTES);
    chunks += 1;
    if (total > MAX_BODY_BYTES || chunks > MAX_BODY_CHUNKS) end(false);
  });
  // Node emits no `end` for a body that breaks off.
  response.on('end', () => end(true));
  response.on('error', cutOff);
  response.on('close', cutOff);
}

/** Reads the beginning of a body that cannot change the result. @param done called once @returns a function that stops reading */
export function readBeginning(response: IncomingMessage, done: (bytes: Buffer) => void): () => void {
  const chunks: Buffer[] = [];
  let length = 0;
  const end = (): void => {
    clearTimeout(timer);
    done(Buffer.concat(chunks));
  };
  const timer = setTimeout(end, BEGINNING.ms);
  response.on('data', (chunk: Buffer) => {
    if (length >= BEGINNING.bytes) return;
    // A slice would keep the whole chunk in memory, so this makes a copy.
    chunks.push(Buffer.from(chunk.subarray(0, BEGINNING.bytes - length)));
    length += chunk.length;
    if (length >= BEGINNING.bytes) end();
  });
  for (const event of ['end', 'error', 'close']) response.on(event, end);
  return end;
}

/** Appends to a buffer that doubles in size. A list of one-byte chunks would take two hundred times the size of the body. */
function append(bytes: Buffer, length: number, chunk: Buffer): Buffer {
  if (length === 0) return chunk;
  const needed = Math.min(length + chunk.length, MAX_BODY_BYTES);
  let target = bytes;
  if (needed > bytes.length) {
    target = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * bytes.length), MAX_BODY_BYTES));
    bytes.copy(target, 0, 0, length);
  }
  chunk.copy(target, length);
  return target;
}

/** Text, or a description of why the body cannot be read. */
export type DecodedBody = { readonly text: string } | { readonly problem: string };

/**
 * Decodes gzip or deflate and then the charset, which is UTF-8 by default. Checks do not request Brotli, because of CVE-2026-111497 in Node's
 * decoder.
 * @param complete false to decode as much as possible
 */
export async function decodeBody(
  bytes: Buffer,
  complete: boolean,
  headers: IncomingHttpHeaders,
  maxBytes: number = MAX_BODY_BYTES,
): Promise<DecodedBody> {
  const { 'content-encoding': contentEncoding = '', 'content-type': contentType = '' } = headers;
  const named = contentEncoding.trim().toLowerCase();
  const names = named.split(',').map((name) => name.trim());
  const codings = names.filter((name) => READABLE.has(name) || UNREADABLE.has(name));
  const [coding, ...others] = codings;
  if (bytes.length === 0 || coding === undefined) return { text: decodeText(bytes, contentType) };
  if (others.length > 0 || !READABLE.has(coding))
    return { problem: `body has content coding ${quote(named)}, which checks cannot read` };
  const decoder = createDecoder(coding, bytes, complete);
  const plain = await decompress(decoder, bytes, maxBytes);
  return plain === null
    ? { problem: `${coding} body is not valid or not complete` }
    : { text: decodeText(plain, contentType) };
}

function createDecoder(coding: string, bytes: Buffer, complete: boolean): Transform {
  const options = complete ? {} : CUT;
  if (GZIP.has(coding)) return createGunzip(options);
  // The standard requires the zlib format, but some servers send raw deflate data. The first byte distinguishes them.
  return ((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
}

/** @returns at most `maxBytes`, or null if the data is invalid */
async function decompress(decoder: Transform, bytes: Buffer, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  decoder.end(bytes);
  try {
    // Leaving the loop destroys the decoder, which stops a compression bomb.
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) break;
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks, Math.min(length, maxBytes));
}

function decodeText(bytes: Buffer, contentType: string): string {
  const label = CHARSET.exec(contentType)?.[1];
  if (label === undefined || /^utf-?8$/i.test(label)) return bytes.toString('utf8');
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    // Most text is ASCII in any charset.
    return bytes.toString('utf8');
  }
}

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { constants, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { quote } from './redact.ts';

/** How much of a body is read, and how much of a compressed body is decompressed. */
const MAX_BODY_BYTES = 1024 * 1024;
/** Reading a MiB in chunks of a byte each would take most of a second of CPU time. */
const MAX_BODY_CHUNKS = 65_536;
/** Twice what is kept, so that a secret at the end of it is read as a whole and redacted. */
const BEGINNING = { bytes: 8_192, ms: 1_000 } as const;
const GZIP = new Set(['gzip', 'x-gzip']);
const READABLE = new Set([...GZIP, 'deflate']);
/** Codings that checks do not decode. Any other name is none: servers send charsets or `none`, and clients read such a body as it is. */
const UNREADABLE = new Set(
  'br zstd compress x-compress dcb dcz exi pack200-gzip aes128gcm bzip2 lzma xz lz4 snappy sdch'.split(' '),
);
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]{1,40})/i;
/** For a body that is cut at 1 MiB: decompresses what there is of it. */
const CUT = { finishFlush: constants.Z_SYNC_FLUSH };

/** The part of a body that was read. */
export interface ReadBody {
  /** As received, before any decoding; null if the bytes were discarded. */
  readonly bytes: Buffer | null;
  /** Whether this is the whole body; false if it continues beyond 1 MiB or 65,536 chunks. */
  readonly complete: boolean;
}

/** Called once: with what was read, or with a description of why the body broke off. */
type OnRead = (result: ReadBody | string) => void;
/** Reserves memory for this many bytes in all. @returns false if there is none */
type Reserve = (bytes: number) => boolean;

/** Reads a body up to 1 MiB or 65,536 chunks. @param reserve called as it grows; false ends reading. Null: the bytes are discarded */
export function readBody(response: IncomingMessage, reserve: Reserve | null, done: OnRead): void {
  if (reserve !== null) return consumeBody(response, reserve, done);
  // Most bodies arrive together with their head, and the parser has then seen all of it by the next tick. Reading it from the stream
  // would add a tenth to the cost of a check.
  process.nextTick(() => {
    if (response.complete) done({ bytes: null, complete: true });
    else consumeBody(response, null, done);
  });
}

function consumeBody(response: IncomingMessage, reserve: Reserve | null, done: OnRead): void {
  let bytes: Buffer = Buffer.alloc(0);
  let length = 0;
  let chunks = 0;
  let finished = false;
  const finish = (result: ReadBody | string): void => {
    if (finished) return;
    finished = true;
    done(result);
  };
  const end = (complete: boolean): void =>
    finish({ bytes: reserve === null ? null : bytes.subarray(0, length), complete });
  const cutOff = (): void =>
    finish(`connection closed before the response was complete, ${length} bytes into the body`);
  response.on('data', (chunk: Buffer) => {
    if (finished) return;
    if (reserve !== null) {
      bytes = append(bytes, length, chunk);
      if (!reserve(bytes.length)) return finish('the checker has no memory left for the body');
    }
    const total = length + chunk.length;
    length = Math.min(total, MAX_BODY_BYTES);
    chunks += 1;
    if (total > MAX_BODY_BYTES || chunks > MAX_BODY_CHUNKS) end(false);
  });
  // Node does not emit `end` for a body that breaks off.
  response.on('end', () => end(true));
  response.on('error', cutOff);
  response.on('close', cutOff);
}

/**
 * Reads the beginning of a body that cannot change the result: at most `BEGINNING.bytes`, for at most `BEGINNING.ms`.
 * @param done called once, with what was read
 * @returns ends it early
 */
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
    // A copy, because a part of a chunk would keep all of it in memory.
    chunks.push(Buffer.from(chunk.subarray(0, BEGINNING.bytes - length)));
    length += chunk.length;
    if (length >= BEGINNING.bytes) end();
  });
  for (const event of ['end', 'error', 'close']) response.on(event, end);
  return end;
}

/** Appends a chunk in a buffer that doubles. A list of one-byte chunks would take two hundred times the size of the body. */
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

/** The text of a body, or a description of why it cannot be read. */
export type DecodedBody = { readonly text: string } | { readonly problem: string };

/**
 * Decodes a body: a content coding, gzip or deflate, up to 1 MiB of output, then the charset of Content-Type, by default UTF-8. Invalid
 * text becomes U+FFFD. Brotli is not supported and not requested, because of CVE-2026-111497 in Node's decoder.
 * @param complete whether `bytes` are the whole body; otherwise as much as possible is decoded
 * @param maxBytes of the decompressed body
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
  // The standard wants the zlib format, but some servers send raw deflate data. The first byte tells them apart.
  return ((bytes[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
}

/** Produces at most `maxBytes`, whatever the input claims. @returns null if the data is invalid */
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
    // The charset is unknown, and most text is ASCII in any charset.
    return bytes.toString('utf8');
  }
}

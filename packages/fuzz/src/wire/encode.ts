import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Twist } from '../requests/twist.ts';
import type { WireRequest } from './send.ts';

const BOMB = Buffer.alloc(20_000_000, ' ');
const bombs = new Map<string, Buffer>();

/** A request as planned, with what is unusual about it. */
export function twistRequest(plain: WireRequest, twist: Twist | null): WireRequest {
  switch (twist?.kind) {
    case undefined:
      return plain;
    case 'method':
      return { ...plain, method: twist.method };
    case 'path':
      return { ...plain, path: twist.path.replace('$', () => plain.path) };
    case 'header':
      return { ...plain, headers: withHeader(plain.headers, twist.name, twist.value) };
    case 'type':
      return { ...plain, headers: withHeader(plain.headers, 'Content-Type', twist.type) };
    case 'bytes':
      return { ...plain, body: Buffer.from(twist.bytes, 'latin1') };
    case 'coding':
      return coded(plain, twist.coding);
  }
}

function coded(plain: WireRequest, coding: string): WireRequest {
  if (coding === 'chunked') return { ...plain, isChunked: true };
  const [name = '', how] = coding.split(/[?-]/);
  const headers = withHeader(plain.headers, 'Content-Encoding', name);
  return { ...plain, headers, body: compress(plain.body ?? Buffer.from('{}'), coding, how) };
}

function compress(body: Buffer, coding: string, how: string | undefined): Buffer {
  if (how === 'bomb') return bombOf(coding);
  if (coding === 'gzip') return gzipSync(body);
  if (coding === 'deflate') return deflateSync(body);
  if (coding === 'br') return brotliCompressSync(body);
  if (coding === 'gzip, gzip') return gzipSync(gzipSync(body));
  if (how === 'cut') return gzipSync(body).subarray(0, -5);
  return body;
}

/** 20 MB of white space. */
function bombOf(coding: string): Buffer {
  const bomb = bombs.get(coding) ?? (coding === 'gzip-bomb' ? gzipSync(BOMB) : brotliCompressSync(BOMB));
  bombs.set(coding, bomb);
  return bomb;
}

/** Header names have one spelling here, or both would be sent. */
function withHeader(
  headers: WireRequest['headers'],
  name: string,
  value: string | readonly string[] | null,
): WireRequest['headers'] {
  const others = Object.entries(headers).filter(([known]) => known.toLowerCase() !== name.toLowerCase());
  return Object.fromEntries(value === null ? others : [...others, [name, value]]);
}

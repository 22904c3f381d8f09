import net from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { differentLengths, renameRepeatedLengths } from './repeated-length.ts';

/** Text that the parser sees when a socket receives these chunks. */
function seen(chunks: readonly string[]): string {
  const socket = new net.Socket();
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  renameRepeatedLengths(socket);
  for (const chunk of chunks) socket.emit('data', Buffer.from(chunk, 'latin1'));
  socket.destroy();
  return text;
}

const INTERIM = 'HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\n';
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length-Hint: 1\r\nContent-Length: 2\r\nX-A: b\r\n';
const REPEATED = 'CONTENT-LENGTH :  2 \r\ncontent-length: 3\r\n';
const RENAMED = 'CONTENT-LENGT~ :  2 \r\ncontent-lengt~: 3\r\n';
/** A body that looks like a head. */
const BODY = '\r\nContent-Length: 2\nContent-Length: 2\n\r\n\xff';

describe('a repeated Content-Length is renamed', () => {
  test.each([
    ['CRLF', (text: string) => text],
    ['LF', (text: string) => text.replaceAll('\r', '')],
  ])('in lines that end in %s, wherever the response is split', (_name, lines) => {
    const sent = lines(`\r\n${INTERIM}${HEAD}${REPEATED}${BODY}`);
    const expected = lines(`\r\n${INTERIM}${HEAD}${RENAMED}${BODY}`);
    expect(seen([sent])).toBe(expected);
    expect(seen(sent.split(''))).toBe(expected);
    for (let at = 1; at < sent.length; at += 1) {
      expect(seen([sent.slice(0, at), sent.slice(at)])).toBe(expected);
    }
  });
});

describe('everything else is passed on unchanged', () => {
  test.each([
    ['one length', HEAD + BODY],
    ['a longer name', `${HEAD}Content-Length-Hint: 2\r\n${BODY}`],
    ['a name that ends with it', `${HEAD}X-Content-Length: 2\r\n${BODY}`],
    ['a folded line', `${HEAD} Content-Length: 2\r\n${BODY}`],
    ['a head that breaks off', `${HEAD}Content-Len`],
    ['blank lines', '\r\n'.repeat(10)],
    ['noise', '\0\0\x12\x04\0\0\0\0\0'],
    ['nothing', ''],
  ])('%s', (_name, sent) => {
    expect(seen([sent])).toBe(sent);
  });
});

test.each([
  [{}, false],
  [{ 'content-length': '2' }, false],
  [{ 'content-length': '2', 'content-lengt~': '2, 2' }, false],
  [{ 'content-length': '2', 'content-lengt~': '2, 3' }, true],
  [{ 'content-length': '2', 'content-lengt~': '02' }, true],
  [{ 'content-lengt~': '2' }, true],
])('different lengths: %j: %s', (headers, differ) => {
  expect(differentLengths(headers)).toBe(differ);
});

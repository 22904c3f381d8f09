import { describe, expect, test } from '@jest/globals';
import { httpUrl } from './http-url.ts';

/** By far enough for V8 to compile what is called. */
const CALLS = 20_000;

describe('httpUrl', () => {
  test.each([
    ['a soft hyphen in the host', 'http://127.0.0\u00AD.1:8080/'],
    ['a letter with an accent in the host', 'https://caf\u00E9.example/'],
    ['a letter with an accent in the path', 'https://example.com/caf\u00E9'],
    ['characters beyond Latin-1', 'https://\u4F8B\u3048.example/\u9053'],
  ])('with %s, is accepted every time', (_what, url) => {
    let accepted = 0;
    for (let call = 0; call < CALLS; call += 1) if (httpUrl.safeParse(url).success) accepted += 1;
    expect(accepted).toBe(CALLS);
  });
});

import { asWritten, vectors, vectorsOf, type AttackVector } from './attack-vector.ts';

/** URLs for which parsers disagree about the host. */
export const URL_SYNTAX: readonly AttackVector[] = [
  ...vectorsOf('public', asWritten, {
    'fragment, query or path before @': `
      http://public.attack.test:PORT#@127.0.0.1:PORT/ http://public.attack.test:PORT?@127.0.0.1:PORT/
      http://public.attack.test:PORT/@127.0.0.1:PORT/ http://public.attack.test:PORT//@127.0.0.1:PORT/
      http://public.attack.test:PORT/..//127.0.0.1:PORT/
    `,
    backslashes: `
      http://public.attack.test:PORT\\@127.0.0.1:PORT/ http://public.attack.test:PORT\\127.0.0.1
      http://public.attack.test:PORT#\\@127.0.0.1:PORT/
    `,
  }),
  ...vectorsOf('blocked', asWritten, {
    'fragment, query or path before @': `
      http://127.0.0.1:PORT#@public.attack.test/ http://127.0.0.1:PORT?@public.attack.test/
      http://127.0.0.1:PORT/@public.attack.test
    `,
    backslashes: `
      http://127.0.0.1:PORT\\@public.attack.test:PORT/ http://127.1.1.1:PORT\\@@127.2.2.2:PORT/
      http://127.1.1.1:PORT#\\@127.2.2.2:PORT/ http://\\127.0.0.1:PORT/
    `,
    slashes: 'http:///127.0.0.1:PORT/ http:////127.0.0.1:PORT/ hTtP://localhost:PORT/',
  }),
  ...vectorsOf('unknown name', asWritten, {
    'punctuation in the host': `
      http://127.0.0.1&public.attack.test:PORT/ http://127.0.0.1,public.attack.test:PORT/
      http://127.0.0.1;public.attack.test:PORT/ http://(127.0.0.1)public.attack.test:PORT/
      http://test???attack.test:PORT/
    `,
  }),
  ...vectorsOf('no URL', asWritten, {
    'punctuation in the host': `
      http://public.attack.test&127.0.0.1:PORT/ http://127.0.0.1|public.attack.test:PORT/
      http://127.0.0.1^public.attack.test:PORT/ http://<127.0.0.1>:PORT/ http://{127.0.0.1}.1:PORT/
    `,
    backslashes: 'http://127.1.1.1:PORT:\\@@127.2.2.2:PORT/ http://\\\\/:PORT',
  }),
  ...vectorsOf(
    'blocked',
    asWritten,
    {
      'user information': `
        http://public.attack.test@127.0.0.1:PORT/ http://public.attack.test:PORT@127.0.0.1:PORT/
        http://:@127.0.0.1:PORT/ http://a@b@127.0.0.1:PORT/ http://public.attack.test%23@127.0.0.1:PORT/
        http://public.attack.test;@127.0.0.1:PORT/ http://public.attack.test／@127.0.0.1:PORT/
        http://public.attack.test@[::1]:PORT/
      `,
      backslashes: 'http:\\\\127.0.0.1:PORT\\ http:/\\127.0.0.1:PORT/',
      slashes: 'http:127.0.0.1:PORT/ http:/127.0.0.1:PORT/',
    },
    false,
  ),
  ...vectors(
    'user information',
    'blocked',
    ['http://public.attack.test &@127.0.0.1:PORT# @127.2.2.2/'],
    false,
  ),
  ...vectors(
    'user information',
    'public',
    [
      'http://127.0.0.1:PORT@public.attack.test:PORT/',
      'http://127.0.0.1 &@public.attack.test:PORT# @127.2.2.2/',
      'http://localhost%23@public.attack.test:PORT/',
    ],
    false,
  ),
  ...vectors(
    'white space and control characters',
    'blocked',
    [
      'http://127.0.\t0.1:PORT/',
      'http://local\thost:PORT/',
      'http://127\r\n.0.0.1:PORT/',
      'ht\ntp://127.0.0.1:PORT/',
      'http://public.attack.test:PORT\t@127.0.0.1:PORT/',
      ' http://127.0.0.1:PORT/ ',
      '\u0001http://127.0.0.1:PORT/\u001f',
      'http://127.0.0.1:\tPORT/',
      'http://127.0.0.1:PORT/\r\nHost: public.attack.test',
      'http://127.0.0.1:PORT/\ud800',
      'http://[::\t1]:PORT/',
    ],
    false,
  ),
  ...vectors('white space and control characters', 'no URL', [
    'http://127.0.0.1\0:PORT/',
    'http:// 127.0.0.1:PORT/',
    'http://127.0.0.1\u00a0:PORT/',
    'http://127.0.0.1\u2028:PORT/',
    'http://[::1\u00a0]:PORT/',
    'http ://127.0.0.1:PORT/',
  ]),
];

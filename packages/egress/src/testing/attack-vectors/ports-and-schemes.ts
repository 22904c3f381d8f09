import { asWritten, vectorsOf, type AttackVector } from './attack-vector.ts';

const atLoopbackPort = (port: string): string => `http://127.0.0.1:${port}/`;

/** Ports of services that speak other protocols, invalid ports, and schemes that are not http. */
export const PORTS_AND_SCHEMES: readonly AttackVector[] = [
  ...vectorsOf('blocked', atLoopbackPort, { ports: '0 1 25 80 443 6379 65535 00000000080' }),
  ...vectorsOf('blocked', asWritten, { ports: 'http://127.0.0.1:/ http://127.0.0.1 http://[::1]:/' }),
  ...vectorsOf('no URL', atLoopbackPort, {
    ports: '65536 4295032832 -1 +80 80aaa 0x50 1e3 80:80 %38%30 ８０ 80. 8,0 $80',
  }),
  ...vectorsOf('no URL', asWritten, {
    'other schemes': `
      file:///etc/passwd file://\\/\\/etc/passwd gopher://127.0.0.1:6379/_config%20set%20dir%20/tmp
      ftp://127.0.0.1:PORT/ dict://user;auth@127.0.0.1:PORT/d:word:database:1 ldap://127.0.0.1:PORT/%0astats
      smb://127.0.0.1/share ws://127.0.0.1:PORT/ wss://127.0.0.1:PORT/ jar:http://127.0.0.1:PORT!/
      unix:/var/run/docker.sock:/containers/json http+unix://%2Fvar%2Frun%2Fdocker.sock/containers/json
      data:text/html,secret javascript:fetch("http://127.0.0.1:PORT/") blob:http://127.0.0.1:PORT/0f0e0d0c
      view-source:http://127.0.0.1:PORT/ url:http://127.0.0.1:PORT/ about:blank mailto:root@127.0.0.1
      0://127.0.0.1:80;http://public.attack.test:80/ httpx://127.0.0.1:PORT/
    `,
    'no scheme or host': `
      127.0.0.1 127.0.0.1:PORT localhost:PORT/ //127.0.0.1:PORT/ /etc/passwd @127.0.0.1:PORT
      ?url=http://127.0.0.1:PORT/ http http: https:// http://:PORT/ http://? http://# http://@/ http://..%2f
      ://127.0.0.1:PORT/ [::1]:PORT
    `,
  }),
];

import { expect, it } from '@jest/globals';
import { welcome, type WelcomeFacts } from './welcome.ts';

const facts: WelcomeFacts = {
  port: 3000,
  host: '127.0.0.1',
  health: [['checker', '127.0.0.1:8081']],
  uid: null,
  publicUrl: undefined,
  database: 'embedded',
  queue: 'Redis',
  dataDir: '.data',
  apiKey: 'tocsin_live_abc',
  bootstrapKey: false,
  setupPath: '/setup?token=abc',
  adminEmail: undefined,
  egressAllowed: [],
};

it('shows the key once, and where to create the first user', () => {
  const first = welcome(facts);
  expect(first).toContain('tocsin_live_abc (save it now, it is not shown again)');
  expect(first).toContain('curl -X POST http://localhost:3000/api/cli/monitors \\\n');
  expect(first).toContain('"Authorization: Bearer tocsin_live_abc"');
  expect(first).toContain('http://localhost:3000/setup?token=abc (create the first user');
  const later = welcome({ ...facts, apiKey: null, setupPath: null, adminEmail: 'a@example.com' });
  expect(later).toContain('Bearer $TOCSIN_API_KEY');
  expect(later).toContain('http://localhost:3000/sign-in (as a@example.com)');
});

it('shows each address, and who can reach it', () => {
  const text = welcome(facts);
  expect(text).toContain('127.0.0.1:3000, this machine only. To open it to others: HOST=0.0.0.0 ');
  expect(text).toMatch(/^ {2}Checker {5}health and metrics at http:\/\/127\.0\.0\.1:8081$/m);
  const open = welcome({ ...facts, host: '0.0.0.0' });
  expect(open).toContain('running at http://localhost:3000\n');
  expect(open).toContain('0.0.0.0:3000 (HOST), reachable from other machines');
  expect(open).toContain('set PUBLIC_URL\n');
  const one = welcome({ ...facts, host: '192.0.2.1', uid: 65_534 });
  expect(one).toContain('running at http://192.0.2.1:3000\n');
  expect(one).toContain('curl -X POST http://192.0.2.1:3000/api/cli/monitors');
  expect(one).toContain('  Services    run as user 65534, not as root\n');
});

it('does not print a configured key', () => {
  const text = welcome({ ...facts, apiKey: null, bootstrapKey: true, publicUrl: 'https://up.example.com' });
  expect(text).toContain('running at https://up.example.com');
  expect(text).toContain('Bearer $BOOTSTRAP_API_KEY');
});

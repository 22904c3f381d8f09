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

it('does not print a configured key', () => {
  const text = welcome({ ...facts, apiKey: null, bootstrapKey: true, publicUrl: 'https://up.example.com' });
  expect(text).toContain('running at https://up.example.com');
  expect(text).toContain('Bearer $BOOTSTRAP_API_KEY');
});

import { describe, expect, it } from '@jest/globals';
import { welcome } from './welcome.ts';
import type { WelcomeFacts } from './welcome.ts';

const facts: WelcomeFacts = {
  port: 3000,
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

describe('welcome', () => {
  it('shows the key of the first start, in a call that works when pasted', () => {
    const text = welcome(facts);
    expect(text).toContain('tocsin_live_abc (keep it: it is not shown again)');
    expect(text).toContain('curl -X POST http://localhost:3000/api/cli/monitors \\\n');
    expect(text).toContain('"Authorization: Bearer tocsin_live_abc"');
    expect(text).toContain('EGRESS_ALLOW_CIDRS=127.0.0.0/8,::1/128 npm start');
  });

  it('says at later starts how to get another key', () => {
    const text = welcome({ ...facts, apiKey: null });
    expect(text).toMatch(/shown at the first start; for another: BOOTSTRAP_API_KEY=/);
    expect(text).toContain('Bearer $TOCSIN_API_KEY');
  });

  it('shows where to make the first user, and later where to sign in', () => {
    expect(welcome(facts)).toContain('http://localhost:3000/setup?token=abc (make the first user');
    const later = { ...facts, setupPath: null };
    expect(welcome(later)).toMatch(/Dashboard {3}http:\/\/localhost:3000\/sign-in$/m);
    expect(welcome({ ...later, adminEmail: 'a@example.com' })).toContain('/sign-in (as a@example.com)');
  });

  it('does not repeat a key that was given', () => {
    const text = welcome({ ...facts, apiKey: null, bootstrapKey: true, publicUrl: 'https://up.example.com' });
    expect(text).toContain('running at https://up.example.com');
    expect(text).toContain('Bearer $BOOTSTRAP_API_KEY');
  });
});

import { describe, expect, it } from '@jest/globals';
import { welcome } from './welcome.ts';
import type { WelcomeFacts } from './welcome.ts';

const facts: WelcomeFacts = {
  port: 3000,
  host: '127.0.0.1',
  health: [
    ['checker', '127.0.0.1:8081'],
    ['notifier', '127.0.0.1:8082'],
  ],
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

describe('welcome', () => {
  it('shows the new key at the first start, in a command to paste', () => {
    const text = welcome(facts);
    expect(text).toContain('tocsin_live_abc (save it now, it is not shown again)');
    expect(text).toContain('curl -X POST http://localhost:3000/api/cli/monitors \\\n');
    expect(text).toContain('"Authorization: Bearer tocsin_live_abc"');
    expect(text).toContain('EGRESS_ALLOW_CIDRS=127.0.0.0/8,::1/128 npm start');
  });

  it('shows how to get another key at later starts', () => {
    const text = welcome({ ...facts, apiKey: null });
    expect(text).toMatch(/shown at the first start\. To add one: BOOTSTRAP_API_KEY=/);
    expect(text).toContain('Bearer $TOCSIN_API_KEY');
  });

  it('shows where to create the first user, and later where to sign in', () => {
    expect(welcome(facts)).toContain('http://localhost:3000/setup?token=abc (create the first user');
    const later = { ...facts, setupPath: null };
    expect(welcome(later)).toMatch(/Dashboard {3}http:\/\/localhost:3000\/sign-in$/m);
    expect(welcome({ ...later, adminEmail: 'a@example.com' })).toContain('/sign-in (as a@example.com)');
  });

  it('shows each address, and who can reach it', () => {
    const text = welcome(facts);
    expect(text).toMatch(
      /^ {2}Listens on {2}127\.0\.0\.1:3000, this machine only\. To open it to others: HOST=0\.0\.0\.0 /m,
    );
    expect(text).toMatch(/^ {2}Checker {5}health and metrics at http:\/\/127\.0\.0\.1:8081$/m);
    expect(text).toMatch(/^ {2}Notifier {4}health and metrics at http:\/\/127\.0\.0\.1:8082$/m);
    const open = welcome({ ...facts, host: '0.0.0.0' });
    expect(open).toMatch(/running at http:\/\/localhost:3000$/m);
    expect(open).toMatch(
      /^ {2}Listens on {2}0\.0\.0\.0:3000 \(HOST\), reachable from other machines\. .*set PUBLIC_URL$/m,
    );
    const one = welcome({ ...facts, host: '192.0.2.1' });
    expect(one).toMatch(/running at http:\/\/192\.0\.2\.1:3000$/m);
    expect(one).toContain('curl -X POST http://192.0.2.1:3000/api/cli/monitors');
  });

  it('shows the user of the services if root started them', () => {
    expect(welcome(facts)).not.toContain('Services');
    expect(welcome({ ...facts, uid: 65_534 })).toContain('  Services    run as user 65534, not as root\n');
  });

  it('does not print a configured key', () => {
    const text = welcome({ ...facts, apiKey: null, bootstrapKey: true, publicUrl: 'https://up.example.com' });
    expect(text).toContain('running at https://up.example.com');
    expect(text).toContain('Bearer $BOOTSTRAP_API_KEY');
  });
});

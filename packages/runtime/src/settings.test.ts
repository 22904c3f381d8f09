import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parseEnv } from './env.ts';
import { secretValues, settings } from './settings.ts';

const REQUIRED = {
  DATABASE_URL: 'postgres://localhost/tocsin',
  QUEUE_URL: 'redis://localhost',
  SECRETS_KEY: Buffer.alloc(32).toString('base64'),
  TOCSIN_URL: 'https://tocsin.example.com',
  AGENT_TOKEN: `tocsin_agent_${'0'.repeat(48)}`,
  TOCSIN_API_KEY: `tocsin_live_${'0'.repeat(48)}`,
  CLUSTER_NAME: 'prod',
};

const folder = await mkdtemp(join(tmpdir(), 'tocsin settings '));
afterAll(() => rm(folder, { recursive: true }));

const read = (path: string): unknown =>
  parseEnv(settings.pick({ CHECK_CA_FILE: true }), { CHECK_CA_FILE: path });

describe('settings', () => {
  it.each([
    ['2', 2],
    ['0', false],
    ['false', false],
    ['10.0.0.0/8, loopback, ::1', ['10.0.0.0/8', 'loopback', '::1']],
  ])('read TRUST_PROXY %s', (value, expected) => {
    expect(parseEnv(settings, { ...REQUIRED, TRUST_PROXY: value }).TRUST_PROXY).toEqual(expected);
  });

  it.each(['DATABASE_URL', 'DATABASE_DIRECT_URL'])('take several servers as %s, but no standby', (name) => {
    const url = 'postgres://u:p@db-1:5432,db-2:5433/tocsin?target_session_attrs=';
    const parse = (value: string): unknown => parseEnv(settings, { ...REQUIRED, [name]: value });
    expect(parse(`${url}read-write`)).toMatchObject({ [name]: `${url}read-write` });
    expect(() => parse(`${url}standby`)).toThrow(`${name} takes only target_session_attrs=`);
  });

  it.each([
    ['TRUST_PROXY', 'true'],
    ['PUBLIC_URL', 'https://example.com/tocsin/'],
    ['PUBLIC_URL', 'https://example.com?page=1'],
    ['QUEUE_URL', 'http://localhost'],
    ['DATABASE_URL', 'mysql://localhost'],
    ['REGION', 'EU_WEST'],
    ['LOG_LEVEL', 'loud'],
    ['EGRESS_ALLOW_CIDRS', 'localhost'],
    ['BOOTSTRAP_API_KEY', 'tocsin_live_abc'],
    ['HEALTH_PORT', 'eighty'],
    ['BOOTSTRAP_ADMIN_PASSWORD', 'seven 7'],
    ['API_REQUEST_TIMEOUT_SECONDS', '0'],
    ['OIDC_SCOPES', 'email profile'],
    ['OIDC_TRUST_EMAIL', 'yes'],
  ])('refuse %s=%s', (name, value) => {
    expect(() => parseEnv(settings, { ...REQUIRED, [name]: value })).toThrow(
      new RegExp(`^${name} must [^\n]+$`),
    );
  });

  it('need readable CA files', async () => {
    const missing = join(folder, 'missing.pem');
    const wrong = join(folder, 'wrong.pem');
    const right = join(folder, 'right.pem');
    await writeFile(wrong, 'hello');
    await writeFile(right, '-----BEGIN CERTIFICATE-----\n');
    expect(() => read(missing)).toThrow(
      `CHECK_CA_FILE must name a readable file of PEM certificates (ENOENT), not ${JSON.stringify(missing)}`,
    );
    expect(() => read(wrong)).toThrow(/CHECK_CA_FILE must name a file with PEM certificates/);
    expect(read(right)).toEqual({ CHECK_CA_FILE: right });
  });

  it('accepts a folder for the dashboard only with an index.html', async () => {
    const readFolder = (path: string): unknown =>
      parseEnv(settings.pick({ DASHBOARD_DIR: true }), { DASHBOARD_DIR: path });
    const rule = `DASHBOARD_DIR must name a folder with an index.html, not ${JSON.stringify(folder)}`;
    expect(() => readFolder(folder)).toThrow(rule);
    await writeFile(join(folder, 'index.html'), '');
    expect(readFolder(folder)).toEqual({ DASHBOARD_DIR: folder });
    expect(readFolder(relative(process.cwd(), folder))).toEqual({ DASHBOARD_DIR: folder });
  });
});

describe('secretValues', () => {
  it('are the secret variables, each key of a list, and the passwords of URLs in both forms', () => {
    const values = secretValues({
      DATABASE_URL: 'postgres://tocsin:p%40ss/word@db/tocsin',
      QUEUE_URL: 'redis+sentinel://:first@a,b/main?sentinelUsername=u&sentinelPassword=sec%26nd',
      SECRETS_KEY: 'new-key, old-key',
      OIDC_CLIENT_SECRET: 'client secret',
      OIDC_CLIENT_ID: 'tocsin',
      PATH: '/bin',
    });
    expect(values).toEqual(
      expect.arrayContaining([
        'postgres://tocsin:p%40ss/word@db/tocsin',
        'p%40ss/word',
        'p@ss/word',
        'first',
        'sec%26nd',
        'sec&nd',
        'new-key',
        'old-key',
        'client secret',
      ]),
    );
    expect(values).not.toEqual(expect.arrayContaining(['tocsin', '/bin']));
    expect(secretValues({ DATABASE_URL: 'postgres://u:%zz@db/x' })).toContain('%zz');
  });
});

/** Reads `.env.example`. Comments belong to the next variable. */
async function readExample(): Promise<Map<string, { comment: string; value: string }>> {
  const text = await readFile(new URL('../../../.env.example', import.meta.url), 'utf8');
  const entries = new Map<string, { comment: string; value: string }>();
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const variable = /^#?([A-Z][A-Z0-9_]*)=(.*)$/.exec(line);
    if (variable?.[1] !== undefined) {
      entries.set(variable[1], {
        comment: comment.join(' '),
        value: (variable[2] ?? '').replaceAll('"', ''),
      });
      comment = [];
    } else if (line.startsWith('# ')) comment.push(line.slice(2));
    else comment = [];
  }
  return entries;
}

describe('.env.example', () => {
  it('has every variable once', async () => {
    const names = [...(await readExample()).keys()];
    expect(names.toSorted()).toEqual(Object.keys(settings.shape).toSorted());
  });

  it('describes each setting, with its default or an example', async () => {
    const example = await readExample();
    for (const [name, schema] of Object.entries(settings.shape)) {
      const entry = example.get(name);
      expect([name, entry?.comment]).toEqual([name, expect.stringMatching(/\.( \(example\))?$/)]);
      // The example of a file or folder does not exist.
      if (/_FILE$|^DASHBOARD_DIR$/.test(name)) continue;
      expect([name, schema.safeParse(entry?.value).success]).toEqual([name, true]);
      const unset = schema.safeParse(undefined);
      const preset = unset.success && unset.data !== undefined && String(unset.data) !== '';
      if (preset) expect([name, entry?.value]).toEqual([name, String(unset.data)]);
      else expect([name, entry?.comment]).toEqual([name, expect.stringMatching(/\(example\)$/)]);
    }
  });
});

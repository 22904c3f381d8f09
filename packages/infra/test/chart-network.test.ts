import { BlockList } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { DENIED_IPV4 } from '@tocsin/egress/denied-ranges';
import { CHART } from '@tocsin/infra/helm';
import { readRepositoryFile } from '@tocsin/infra/repository';
import { parse } from 'yaml';
import { MINIMAL, VARIANTS } from './chart-variants.ts';
import { findManifest, type Manifest, type Pod } from './manifests.ts';
import { findPod, renderManifests } from './render-chart.ts';

describe('the migration', () => {
  const HOOK = 'pre-install,pre-upgrade';
  const weightOf = ({ metadata }: Manifest): number => Number(metadata.annotations?.['helm.sh/hook-weight']);

  test('runs after its network policy and its Secret, which are hooks too', async () => {
    const manifests = await renderManifests(VARIANTS['secrets in the values']);
    const job = findManifest(manifests, 'Job');
    const earlier = [
      findManifest(manifests, 'NetworkPolicy', 'up-tocsin-migrate-job'),
      findManifest(manifests, 'Secret', 'up-tocsin-migrate'),
    ];
    for (const each of [job, ...earlier]) expect(each.metadata.annotations?.['helm.sh/hook']).toBe(HOOK);
    for (const each of earlier) expect(weightOf(each)).toBeLessThan(weightOf(job));
  });

  test('keeps its network policy if Helm times out, and replaces it in the next run', async () => {
    const policy = findManifest(await renderManifests(MINIMAL), 'NetworkPolicy', 'up-tocsin-migrate-job');
    expect(policy.metadata.annotations?.['helm.sh/hook-delete-policy']).toBe('before-hook-creation');
  });

  test('does not reuse the name that earlier charts gave a policy that was not a hook', async () => {
    // On an upgrade, Helm deletes that policy after the hooks have run.
    const names = (await renderManifests(MINIMAL))
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .map(({ metadata }) => metadata.name);
    expect(names).toContain('up-tocsin-migrate-job');
    expect(names).not.toContain('up-tocsin-migrate');
  });

  test('is not selected by a kept policy once network policies are disabled', async () => {
    const policy = findManifest(await renderManifests(MINIMAL), 'NetworkPolicy', 'up-tocsin-migrate-job');
    const { podSelector } = policy['spec'] as { podSelector: { matchLabels: Record<string, string> } };
    const selects = ({ labels }: Pod): boolean =>
      Object.entries(podSelector.matchLabels).every(([key, value]) => labels[key] === value);
    expect(selects(findPod(await renderManifests(MINIMAL), 'up-tocsin-migrate'))).toBe(true);
    const without = await renderManifests({ ...MINIMAL, networkPolicy: { enabled: false } });
    expect(selects(findPod(without, 'up-tocsin-migrate'))).toBe(false);
    expect(without.map(({ kind }) => kind)).not.toContain('NetworkPolicy');
  });

  test('may connect to PostgreSQL, the queue and the targets of migrateEgress', async () => {
    const manifests = await renderManifests(VARIANTS['everything on']);
    expect(findManifest(manifests, 'NetworkPolicy', 'up-tocsin-migrate-job')['spec']).toMatchObject({
      ingress: [],
      egress: [
        { ports: [{ port: 53 }, { port: 53 }] },
        { ports: [{ port: 6432 }], to: [{ namespaceSelector: { matchLabels: { name: 'data' } } }] },
        { ports: [{ port: 6380 }], to: [{ ipBlock: { cidr: '10.9.0.0/24' } }] },
        { ports: [{ port: 5432 }] },
      ],
    });
  });
});

test('the network policy opens the private ranges of EGRESS_ALLOW_CIDRS', async () => {
  const policy = findManifest(
    await renderManifests(VARIANTS['everything on']),
    'NetworkPolicy',
    'up-tocsin-checker',
  );
  const { egress } = policy['spec'] as { egress: object[] };
  expect(egress).toContainEqual({
    to: ['10.2.0.0/16', '10.3.4.5/32', 'fd00::1/128'].map((cidr) => ({ ipBlock: { cidr } })),
  });
});

test('the default network policy denies the same cloud metadata addresses as the egress guard', async () => {
  const { networkPolicy } = parse(await readRepositoryFile(`${CHART}/values.yaml`)) as {
    networkPolicy: { privateRanges: string[] };
  };
  const denied = new BlockList();
  for (const range of networkPolicy.privateRanges) {
    const [network = '', bits] = range.split('/');
    denied.addSubnet(network, Number(bits));
  }
  const metadata = DENIED_IPV4.flatMap(([cidr, reason]) =>
    reason === 'a cloud metadata address' ? [cidr.replace(/\/32$/, '')] : [],
  );
  expect(metadata).toEqual(expect.arrayContaining(['168.63.129.16', '192.0.0.192']));
  expect(metadata.filter((address) => !denied.check(address))).toEqual([]);
});

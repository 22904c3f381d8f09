import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CHART } from '@tocsin/distribution/helm';
import { copyCommit, findPreviousCommit, readRepositoryFile } from '@tocsin/distribution/repository';
import { Teardown } from '@tocsin/embedded/program/teardown';
import { createTemporaryFolder } from '@tocsin/embedded/testing/temporary-folder';
import { until } from '@tocsin/embedded/testing/until';
import { ChartCluster } from './chart-cluster.ts';
import { MINIMAL, VARIANTS } from './chart-variants.ts';
import { podsOf } from './manifests.ts';
import { renderChart, renderManifests } from './render-chart.ts';

/** Objects that the chart's documentation says to stay after `helm uninstall`. */
const KEPT = [
  'CustomResourceDefinition /channels.tocsin.dev',
  'CustomResourceDefinition /monitors.tocsin.dev',
  'NetworkPolicy /up-tocsin-migrate-job',
  // One set of values names the release `uptime`.
  'NetworkPolicy /uptime-migrate-job',
];

const teardown = new Teardown();
let cluster: ChartCluster;
beforeAll(async () => {
  cluster = await ChartCluster.open(teardown);
});
afterAll(() => teardown.run());

describe.each(Object.entries(VARIANTS))('the chart, %s', (_name, values) => {
  test('is valid without warnings', async () => {
    await cluster.validate(await renderChart(values));
  });

  test('has pods that restricted admits, and restricted-v2 with openshift.enabled', async () => {
    expect(await cluster.refusedPods(cluster.id, await renderManifests(values))).toBe('');
    const manifests = await renderManifests({ ...values, openshift: { enabled: true } });
    expect(await cluster.refusedPods(cluster.openshift, manifests)).toBe('');
  });
});

test('restricted-v2 refuses every pod with a fixed user', async () => {
  const manifests = await renderManifests(VARIANTS['everything on']);
  const refusals = await cluster.refusedPods(cluster.openshift, manifests);
  expect(refusals.match(/restricted-v2 refuses runAsUser/g)).toHaveLength(podsOf(manifests).length);
});

const CONTEXT = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
const SECCOMP = { seccompProfile: { type: 'RuntimeDefault' } };

test.each<[rule: string, pod: object, container: object]>([
  ['runAsUser', { securityContext: { ...SECCOMP, runAsUser: 1000 } }, {}],
  ['runAsUser', {}, { securityContext: { ...CONTEXT, runAsUser: 1000630000 } }],
  ['fsGroup', { securityContext: { ...SECCOMP, fsGroup: 1000 } }, {}],
  ['allowPrivilegeEscalation', {}, { securityContext: { capabilities: CONTEXT.capabilities } }],
  ['capabilities.drop', {}, { securityContext: { allowPrivilegeEscalation: false } }],
  [
    'capabilities.add',
    {},
    { securityContext: { ...CONTEXT, capabilities: { drop: ['ALL'], add: ['CHOWN'] } } },
  ],
  ['seccompProfile', { securityContext: {} }, {}],
  ['host namespaces', { hostPID: true }, {}],
  ['hostPort', {}, { ports: [{ containerPort: 80, hostPort: 80 }] }],
  ['volumes', { volumes: [{ name: 'a', hostPath: { path: '/' } }] }, {}],
])('restricted-v2 refuses only %s of a pod with %j and a container with %j', async (rule, pod, container) => {
  const containers = [{ name: 'a', image: 'a', securityContext: CONTEXT, ...container }];
  const template = { metadata: {}, spec: { securityContext: SECCOMP, containers, ...pod } };
  const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { template } };
  const refusals = await cluster.refusedPods(cluster.openshift, [manifest]);
  expect(refusals.match(/(?<=restricted-v2 refuses ).*/g)).toEqual([rule]);
});

test('upgrades between all sets of values, a rollback and an uninstallation leave only what is documented', async () => {
  const folder = await createTemporaryFolder();
  teardown.onStop(folder.remove);
  await copyCommit(await findPreviousCommit(), folder.path);
  const before = await cluster.objects();
  const added = async (to: ReadonlyMap<string, string>): Promise<string[]> =>
    [...(await cluster.objects()).keys()].filter((name) => !to.has(name)).toSorted();
  await cluster.deploy(join(folder.path, CHART), MINIMAL);
  const first = await cluster.objects();
  for (const values of Object.values(VARIANTS)) await cluster.deploy(CHART, values);
  await cluster.helm(['rollback', 'up', '1']);
  expect(await added(first)).toEqual(KEPT.filter((name) => !first.has(name)));
  expect(Object.fromEntries(await cluster.objects())).toMatchObject(Object.fromEntries(first));
  await cluster.deploy(CHART, VARIANTS['everything on']);
  await cluster.helm(['uninstall', 'up']);
  await until('the deletion of the release', async () => (await added(before)).length <= KEPT.length);
  expect(await added(before)).toEqual(KEPT);
});

describe('the operator', () => {
  const READ = '[get list watch]';
  const LEADER = [
    'leases.coordination.k8s.io [create]',
    'leases.coordination.k8s.io [tocsin-operator] [get update]',
  ];
  const OBJECTS = [
    'channels.tocsin.dev/status [patch]',
    `channels.tocsin.dev ${READ}`,
    'events [create]',
    `gateways.gateway.networking.k8s.io ${READ}`,
    `httproutes.gateway.networking.k8s.io ${READ}`,
    `ingresses.networking.k8s.io ${READ}`,
    'monitors.tocsin.dev/status [patch]',
    `monitors.tocsin.dev ${READ}`,
    'secrets [get]',
    `services ${READ}`,
  ];
  const CLUSTER = [`ingressclasses.networking.k8s.io ${READ}`, `namespaces ${READ}`];

  /** Returns what the operator may do in a namespace, except for what every account may do. */
  async function rightsIn(namespace: string): Promise<string[]> {
    const account = `--as=system:serviceaccount:${cluster.release}:up-tocsin-operator`;
    const list = ['auth', 'can-i', '--list', '--no-headers', account, '--namespace', namespace];
    const lines = (await cluster.kubectl(list)).trim().split('\n');
    return lines
      .filter((line) => !/^selfsubject|^ /.test(line))
      .map((line) => line.replaceAll('[]', '').replaceAll(/\s+/g, ' '))
      .toSorted();
  }

  test('of a cluster may read what it watches and single Secrets, and write statuses and Events', async () => {
    await cluster.deploy(CHART, VARIANTS['everything on']);
    expect(await rightsIn('shop')).toEqual([...OBJECTS, ...CLUSTER].toSorted());
    expect(await rightsIn(cluster.release)).toEqual([...OBJECTS, ...CLUSTER, ...LEADER].toSorted());
    await cluster.untilEstablished();
    await cluster.validate(await readRepositoryFile('infra/examples/operator/monitor.yaml'));
  });

  test('of two namespaces may do nothing in others', async () => {
    await cluster.deploy(CHART, VARIANTS['an operator of two namespaces']);
    for (const namespace of ['shop', 'cart']) expect(await rightsIn(namespace)).toEqual(OBJECTS.toSorted());
    expect(await rightsIn(cluster.release)).toEqual(LEADER);
    expect(await rightsIn('default')).toEqual([]);
    await cluster.helm(['uninstall', 'up']);
  });
});

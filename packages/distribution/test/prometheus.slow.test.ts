import { expect, test } from '@jest/globals';
import { ROOT } from '@tocsin/distribution/repository';
import { isOnPath, runTool } from '@tocsin/distribution/run-tool';
import { stringify } from 'yaml';
import { MINIMAL } from './chart-variants.ts';
import { findManifest } from './manifests.ts';
import {
  CONFIGURATIONS,
  expressionsOf,
  findUnknown,
  DASHBOARDS,
  readDashboard,
  readDocumentedMetrics,
  RULES,
} from './prometheus.ts';
import { renderManifests } from './render-chart.ts';

const [PROMETHEUS, ALERTMANAGER] = CONFIGURATIONS;

/** Runs a test only if a program is installed. In CI it has to be. */
function testWith(program: string, debianPackage: string, name: string, run: () => Promise<void>): void {
  if (isOnPath(program)) test(name, run);
  else if (process.env['CI'] === undefined) test.skip(`${name} (${program} is not installed)`, run);
  else throw new Error(`${program} is not on the PATH: install it (apt-get install ${debianPackage})`);
}

function testWithPromtool(name: string, run: () => Promise<void>): void {
  testWith('promtool', 'prometheus', name, run);
}

/** @throws ToolError with the output of promtool if it finds a mistake */
async function promtool(...args: string[]): Promise<void> {
  await runTool('promtool', args, { cwd: ROOT });
}

/** Runs promtool on a file with this content. */
async function promtoolOn(command: 'check' | 'test', content: object): Promise<void> {
  // promtool cannot open a socket, which is the stdin of child processes.
  const script = `cat | promtool ${command} rules /dev/stdin`;
  await runTool('sh', ['-c', script], { input: stringify(content) });
}

for (const [path, tests] of Object.entries(RULES))
  testWithPromtool(`${path} passes the checks of promtool and its own tests`, async () => {
    await promtool('check', 'rules', path);
    await promtool('test', 'rules', tests);
  });

for (const path of DASHBOARDS)
  testWithPromtool(`${path} has expressions that Prometheus accepts`, async () => {
    const rules = expressionsOf(await readDashboard(path)).map((expr, index) => ({
      record: `expression:${index}`,
      expr: expr.replaceAll(/\$__(?:rate_interval|range)/g, '5m').replaceAll(/\$\w+/g, '.*'),
    }));
    await promtoolOn('check', { groups: [{ name: 'expressions', rules }] });
  });

testWithPromtool('the configuration of Prometheus is valid', () =>
  promtool('check', 'config', '--syntax-only', PROMETHEUS),
);

testWith(
  'amtool',
  'prometheus-alertmanager',
  'the configuration of Alertmanager is valid, and pages for critical alerts',
  async () => {
    await runTool('amtool', ['check-config', ALERTMANAGER], { cwd: ROOT });
    const route = async (severity: string, receiver: string): Promise<void> => {
      const options = [`--config.file=${ALERTMANAGER}`, `--verify.receivers=${receiver}`];
      await runTool('amtool', ['config', 'routes', 'test', ...options, `severity=${severity}`], {
        cwd: ROOT,
      });
    };
    await route('critical', 'pager');
    await route('warning', 'tickets');
    await expect(route('warning', 'pager')).rejects.toThrow();
  },
);

testWithPromtool(
  'the KEDA queries sum the cores of a region’s checkers, including a removed one, and of gateways',
  async () => {
    const prometheus = { serverAddress: 'http://prometheus:9090', matchers: 'namespace="a"' };
    const manifests = await renderManifests({
      ...MINIMAL,
      regions: { default: null, eu: {} },
      gateway: { enabled: true },
      keda: { enabled: true, prometheus },
    });
    const documented = await readDocumentedMetrics();
    const queryOf = (name: string): string => {
      const { triggers } = findManifest(manifests, 'ScaledObject', name)['spec'] as {
        triggers: [{ metadata: { query: string } }];
      };
      const { query } = triggers[0].metadata;
      expect(findUnknown(query.replaceAll('namespace="a"', ''), documented)).toEqual([]);
      return query;
    };
    const query = queryOf('up-tocsin-checker-eu');

    const pod = (instance: string, cpu: string, checks: string, region = 'eu', namespace = 'a'): object[] => {
      const labels = `job="tocsin",instance="${instance}",namespace="${namespace}"`;
      const count = `tocsin_check_schedule_lag_seconds_count{${labels},region="${region}"}`;
      return [
        { series: `process_cpu_seconds_total{${labels}}`, values: cpu },
        { series: count, values: checks },
      ];
    };
    // The rates are sums of powers of two, so their total is exact in whatever order Prometheus adds them.
    const series = [
      ...pod('busy', '0+15x20', '0+900x20'),
      ...pod('idle', '0+3.75x20', '0x20'),
      ...pod('removed', '0+7.5x19 stale', '0+90x19 stale'),
      ...pod('other region', '0+15x20', '0+900x20', 'us'),
      ...pod('other namespace', '0+15x20', '0+900x20', 'eu', 'b'),
      { series: 'process_cpu_seconds_total{job="tocsin",instance="api",namespace="a"}', values: '0+15x20' },
      ...pod('gateway', '0+7.5x20', '0+900x20', 'office'),
      ...['office', 'branch'].map((region) => ({
        series: `tocsin_agents_connected{job="tocsin",instance="gateway",namespace="a",region="${region}"}`,
        values: '1+0x20',
      })),
    ];
    const expected = [
      { expr: query, eval_time: '10m', exp_samples: [{ labels: '{}', value: 0.875 }] },
      {
        expr: queryOf('up-tocsin-gateway'),
        eval_time: '10m',
        exp_samples: [{ labels: '{}', value: 0.25 }],
      },
      // After 20 minutes, there is no data.
      { expr: query, eval_time: '20m', exp_samples: [] },
    ];
    const tests = [{ interval: '30s', input_series: series, promql_expr_test: expected }];
    await promtoolOn('test', { rule_files: [], tests });
  },
);

/** A test that depends on time or chance. */
export interface Campaign {
  readonly name: string;
  readonly about: string;
  /** A built program with `main(args)`, or a test file for jest. Paths are relative to `packages`. */
  readonly file: string;
  /** Arguments of every run, before its own. */
  readonly mode?: readonly string[];
  /** Environment variables. The campaign is skipped unless one of them is set. */
  readonly needs?: readonly string[];
  /** Arguments of the nightly run. `SEED` stands for a number that changes every day. */
  readonly args?: readonly string[];
}

export const CAMPAIGNS: readonly Campaign[] = [
  {
    name: 'faults',
    about: 'faults of processes, stores, receivers, name servers and clocks',
    file: 'campaigns/dist/faults/main.js',
    args: ['--seed', 'SEED', '--minutes', '20'],
  },
  {
    name: 'networks',
    about: 'regions without a network: false and lost alerts (Linux, root)',
    file: 'campaigns/dist/networks/main.js',
    args: ['--seed', 'SEED'],
  },
  {
    name: 'restarts',
    about: 'graceful restarts of each service under load',
    file: 'campaigns/dist/faults/main.js',
    mode: ['--restarts', '100'],
  },
  {
    name: 'stores',
    about: 'kills of the stores of npm start while targets go down and recover',
    file: 'campaigns/dist/stores.js',
    args: ['--seed', 'SEED'],
  },
  {
    name: 'soak',
    about: 'memory, connections and open files over time',
    file: 'campaigns/dist/faults/main.js',
    mode: ['--restarts', '0'],
    args: ['--minutes', '30'],
  },
  {
    name: 'fuzz',
    about: 'random and invalid requests to the API',
    file: 'campaigns/dist/fuzz/main.js',
    args: ['--seed', 'SEED', '--requests', '20000'],
  },
  {
    name: 'hostile',
    about: 'memory while hostile clients attack',
    file: 'campaigns/test/fuzz/hostile-load.campaign.ts',
  },
  {
    name: 'load',
    about: 'checks per second of a whole system',
    file: 'bench/test/load.campaign.ts',
  },
  {
    name: 'accessibility',
    about: 'every page and form, in each theme and width',
    file: 'browser/test/accessibility.campaign.ts',
  },
  {
    name: 'interleavings',
    about: 'lists that equal the server after any order of changes',
    file: 'browser/test/interleavings.campaign.ts',
  },
  {
    name: 'properties',
    about: 'properties of pure rules with other random values',
    file: 'core/src',
  },
  {
    name: 'containers',
    about: 'images and docker-compose.yml: first use, upgrade, crashes (Docker)',
    file: 'distribution/dist/containers/main.js',
  },
  {
    name: 'chart',
    about: 'the chart on an API server (KUBEBUILDER_ASSETS or KUBECONFIG)',
    file: 'distribution/test/chart-on-cluster.campaign.ts',
    needs: ['KUBEBUILDER_ASSETS', 'KUBECONFIG'],
  },
  {
    name: 'kubernetes',
    about: 'the chart in the cluster that KUBECONFIG names',
    file: 'distribution/dist/kubernetes/main.js',
  },
  {
    name: 'operator',
    about: 'the Kubernetes operator on a real API server, with faults (KUBEBUILDER_ASSETS)',
    file: 'campaigns/dist/kubernetes/main.js',
  },
];

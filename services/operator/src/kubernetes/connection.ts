import { readFileSync } from 'node:fs';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { dirname, resolve } from 'node:path';
import { SettingsError } from '@tocsin/runtime/env';
import { parse } from 'yaml';

/** How to reach an API server. */
export interface Connection {
  readonly url: URL;
  readonly agent: HttpAgent;
  /** The value of the Authorization header, or null with a client certificate or a proxy. */
  readonly authorization: () => string | null;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

interface KubeConfig {
  readonly 'current-context'?: string;
  readonly clusters?: readonly {
    readonly name: string;
    readonly cluster: Readonly<Record<string, unknown>>;
  }[];
  readonly users?: readonly { readonly name: string; readonly user: Readonly<Record<string, unknown>> }[];
  readonly contexts?: readonly {
    readonly name: string;
    readonly context: { readonly cluster: string; readonly user: string };
  }[];
}

/** Connects to the cluster that `kubeconfig` names, or to the cluster that this pod runs in. @throws SettingsError */
export function connectToCluster(kubeconfig: string | undefined, env: NodeJS.ProcessEnv): Connection {
  try {
    return kubeconfig === undefined ? connectInCluster(env) : connectByFile(kubeconfig);
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SettingsError(`KUBECONFIG must name a readable kubeconfig file: ${reason}`);
  }
}

function connectInCluster({
  KUBERNETES_SERVICE_HOST: host,
  KUBERNETES_SERVICE_PORT: port = '443',
}: NodeJS.ProcessEnv): Connection {
  if (host === undefined)
    throw new SettingsError(
      'KUBECONFIG is not set: outside of a cluster, it must name the kubeconfig file of one',
    );
  const ca = readFileSync(`${SERVICE_ACCOUNT}/ca.crt`);
  return {
    url: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    agent: new HttpsAgent({ keepAlive: true, ca }),
    authorization: bearerOfFile(`${SERVICE_ACCOUNT}/token`),
  };
}

function connectByFile(file: string): Connection {
  const config = parse(readFileSync(file, 'utf8')) as KubeConfig;
  const name = config['current-context'];
  const context = config.contexts?.find((each) => each.name === name)?.context;
  const cluster = config.clusters?.find((each) => each.name === context?.cluster)?.cluster;
  const user = config.users?.find((each) => each.name === context?.user)?.user ?? {};
  if (typeof cluster?.['server'] !== 'string')
    throw new SettingsError(`KUBECONFIG names ${file}, which must have a current context with a server`);
  const url = new URL(cluster['server']);
  /** Contents are either in the file, in base64, or in another file. */
  const read = (fields: Readonly<Record<string, unknown>>, key: string): Buffer | undefined => {
    const [data, path] = [fields[`${key}-data`], fields[key]];
    if (typeof data === 'string') return Buffer.from(data, 'base64');
    return typeof path === 'string' ? readFileSync(resolve(dirname(file), path)) : undefined;
  };
  if (url.protocol === 'http:')
    return { url, agent: new HttpAgent({ keepAlive: true }), authorization: () => null };
  if (user['exec'] !== undefined || user['auth-provider'] !== undefined)
    throw new SettingsError(
      'KUBECONFIG must not need a sign-in program: run `kubectl proxy`, and set KUBECONFIG to a file with the server http://127.0.0.1:8001',
    );
  return {
    url,
    agent: new HttpsAgent({
      keepAlive: true,
      ca: read(cluster, 'certificate-authority'),
      cert: read(user, 'client-certificate'),
      key: read(user, 'client-key'),
      rejectUnauthorized: cluster['insecure-skip-tls-verify'] !== true,
    }),
    authorization: authorizationOf(user, dirname(file)),
  };
}

function authorizationOf(
  user: Readonly<Record<string, unknown>>,
  folder: string,
): Connection['authorization'] {
  const { token, tokenFile } = user;
  if (typeof tokenFile === 'string') return bearerOfFile(resolve(folder, tokenFile));
  return () => (typeof token === 'string' ? `Bearer ${token}` : null);
}

/** Kubernetes replaces the token of a service account about every hour. */
const TOKEN_FRESH_MS = 60_000;

function bearerOfFile(file: string): Connection['authorization'] {
  let token = '';
  let readAt = -Infinity;
  return () => {
    if (performance.now() - readAt > TOKEN_FRESH_MS) {
      token = readFileSync(file, 'utf8').trim();
      readAt = performance.now();
    }
    return `Bearer ${token}`;
  };
}

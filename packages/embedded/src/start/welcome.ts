import { localUrl } from '@tocsin/runtime/listen';
import { hostAndPort, LOOPBACK } from './launch.ts';

interface WelcomeFacts {
  readonly port: number;
  readonly host: string;
  /** Service and address of each health server, such as `127.0.0.1:8081`. */
  readonly health: readonly (readonly [service: string, address: string])[];
  /** User of the services, or null for the current user. */
  readonly uid: number | null;
  readonly publicUrl: string | undefined;
  readonly agentPort: number;
  readonly agentUrl: string;
  readonly database: string;
  readonly queue: string;
  readonly dataDir: string;
  /** Set only at the first start, otherwise null. */
  readonly apiKey: string | null;
  readonly bootstrapKey: boolean;
  /** Page that creates the first dashboard user, or null if there is a user. */
  readonly setupPath: string | null;
  readonly adminEmail: string | undefined;
  readonly egressAllowed: readonly string[];
}

export function welcome(facts: WelcomeFacts): string {
  const ownUrl = localUrl(facts.host, facts.port);
  const url = facts.publicUrl ?? ownUrl;
  const rows: readonly (readonly [label: string, text: string])[] = [
    ['API', `${url}/api/cli`],
    ['Dashboard', dashboardLine(facts, url)],
    ['Listens on', listenLine(facts)],
    [
      'Agents',
      `connect to ${facts.agentUrl} (the gateway listens on ${hostAndPort(facts.host, facts.agentPort)})`,
    ],
    ...facts.health.map(
      ([service, address]) =>
        [capitalize(service), `health and metrics at http://${address}`] satisfies [string, string],
    ),
    ['Database', facts.database],
    ['Queue', facts.queue],
    ['Data', `${facts.dataDir} (logs in ${facts.dataDir}/logs)`],
    ...(facts.uid === null ? [] : [['Services', `run as user ${facts.uid}, not as root`] as const]),
    ['API key', keyLine(facts)],
    ['Private', egressLine(facts.egressAllowed)],
  ];
  const key = facts.apiKey ?? '$BOOTSTRAP_API_KEY';
  // At the first start, nobody has an account or a key yet.
  const isFirst = facts.apiKey !== null || (facts.bootstrapKey && facts.setupPath !== null);
  const example = `Create your first monitor:

  curl -X POST ${ownUrl}/api/cli/monitors \\
    -H "Authorization: Bearer ${key}" \\
    -H 'Content-Type: application/json' \\
    -d '{"name":"Example","url":"https://example.com"}'

`;
  return `
Tocsin is running at ${url}

${rows.map(([label, text]) => `  ${label.padEnd(12)}${text}`).join('\n')}

${isFirst ? example : ''}Press Ctrl-C to stop.
`;
}

function capitalize(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;
}

function listenLine({ host, port, publicUrl }: WelcomeFacts): string {
  const address = hostAndPort(host, port);
  if (host === LOOPBACK || host === '::1') {
    return `${address}, this machine only. To open it to others: HOST=0.0.0.0 PUBLIC_URL=http://<name of this machine>:${port} npm start`;
  }
  const hint = publicUrl === undefined ? '. To sign in from another machine, set PUBLIC_URL' : '';
  return `${address} (HOST), reachable from other machines${hint}`;
}

function keyLine(facts: WelcomeFacts): string {
  if (facts.apiKey !== null) return `${facts.apiKey} (save it now, it is not shown again)`;
  if (facts.bootstrapKey) return 'the value of BOOTSTRAP_API_KEY';
  return 'shown at the first start. To add one: BOOTSTRAP_API_KEY=tocsin_live_$(openssl rand -hex 24) npm start';
}

function dashboardLine({ setupPath, adminEmail }: WelcomeFacts, url: string): string {
  if (setupPath !== null)
    return `${url}${setupPath} (create the first user; the link works once, until the next start)`;
  return adminEmail === undefined ? `${url}/sign-in` : `${url}/sign-in (as ${adminEmail})`;
}

function egressLine(allowed: readonly string[]): string {
  if (allowed.length > 0) return `targets are allowed in ${allowed.join(', ')} (EGRESS_ALLOW_CIDRS)`;
  return 'targets are refused. To allow this machine: EGRESS_ALLOW_CIDRS=127.0.0.0/8,::1/128 npm start';
}

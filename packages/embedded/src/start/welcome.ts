import { localUrl } from '@tocsin/runtime/listen';

export interface WelcomeFacts {
  readonly port: number;
  /** The address that the api listens on. */
  readonly host: string;
  /** The health servers: service and address, such as `127.0.0.1:8081`. */
  readonly health: readonly (readonly [service: string, address: string])[];
  /** The user that the services run as, where that is not ours; else null. */
  readonly uid: number | null;
  readonly publicUrl: string | undefined;
  readonly database: string;
  readonly queue: string;
  readonly dataDir: string;
  /** Shown once; null at later starts. */
  readonly apiKey: string | null;
  readonly bootstrapKey: boolean;
  /** Where to make the first dashboard user; null once there is one. */
  readonly setupPath: string | null;
  /** `BOOTSTRAP_ADMIN_EMAIL` */
  readonly adminEmail: string | undefined;
  readonly egressAllowed: readonly string[];
}

/** What the person at the terminal needs to go on. */
export function welcome(facts: WelcomeFacts): string {
  const ownUrl = localUrl(facts.host, facts.port);
  const url = facts.publicUrl ?? ownUrl;
  const lines = [
    '',
    `Tocsin is running at ${url}`,
    '',
    `  API         ${url}/api/cli`,
    `  Dashboard   ${dashboardLine(facts, url)}`,
    `  Open to     ${hostLine(facts)}`,
    ...facts.health.map(
      ([service, address]) => `  ${heading(service)}health and metrics at http://${address}`,
    ),
    `  Database    ${facts.database}`,
    `  Queue       ${facts.queue}`,
    `  Data        ${facts.dataDir} (logs in ${facts.dataDir}/logs)`,
    ...(facts.uid === null ? [] : [`  Services    run as user ${facts.uid}, not as root`]),
    `  API key     ${keyLine(facts)}`,
    `  Private     ${egressLine(facts.egressAllowed)}`,
    '',
    'A first monitor:',
    '',
    ...firstCall(facts, ownUrl).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ];
  return lines.join('\n');
}

/** As wide as the others. */
function heading(service: string): string {
  return `${service.slice(0, 1).toUpperCase()}${service.slice(1)}`.padEnd(12);
}

function hostLine({ host, port, publicUrl }: WelcomeFacts): string {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (host === '127.0.0.1' || host === '::1') {
    return `this machine alone, at ${address}; to others: HOST=0.0.0.0 PUBLIC_URL=http://<name of this machine>:${port} npm start`;
  }
  const hint = publicUrl === undefined ? '; to sign in from another one, set PUBLIC_URL' : '';
  return `other machines, at ${address} (HOST)${hint}`;
}

function keyLine(facts: WelcomeFacts): string {
  if (facts.apiKey !== null) return `${facts.apiKey} (keep it: it is not shown again)`;
  if (facts.bootstrapKey) return 'the one in BOOTSTRAP_API_KEY';
  return 'shown at the first start; for another: BOOTSTRAP_API_KEY=tocsin_live_$(openssl rand -hex 24) npm start';
}

function dashboardLine({ setupPath, adminEmail }: WelcomeFacts, url: string): string {
  if (setupPath !== null)
    return `${url}${setupPath} (make the first user; the link works once, until the next start)`;
  return adminEmail === undefined ? `${url}/sign-in` : `${url}/sign-in (as ${adminEmail})`;
}

function egressLine(allowed: readonly string[]): string {
  if (allowed.length > 0) return `targets may be in ${allowed.join(', ')} (EGRESS_ALLOW_CIDRS)`;
  return 'targets are refused; to allow this machine: EGRESS_ALLOW_CIDRS=127.0.0.0/8,::1/128 npm start';
}

function firstCall(facts: WelcomeFacts, url: string): string[] {
  const key = facts.apiKey ?? (facts.bootstrapKey ? '$BOOTSTRAP_API_KEY' : '$TOCSIN_API_KEY');
  return [
    `curl -X POST ${url}/api/cli/monitors \\`,
    `  -H "Authorization: Bearer ${key}" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"name":"Example","url":"https://example.com"}'`,
  ];
}

export interface WelcomeFacts {
  readonly port: number;
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
  const url = facts.publicUrl ?? `http://localhost:${facts.port}`;
  const lines = [
    '',
    `Tocsin is running at ${url}`,
    '',
    `  API         ${url}/api/cli`,
    `  Dashboard   ${dashboardLine(facts, url)}`,
    `  Database    ${facts.database}`,
    `  Queue       ${facts.queue}`,
    `  Data        ${facts.dataDir} (logs in ${facts.dataDir}/logs)`,
    `  API key     ${keyLine(facts)}`,
    `  Private     ${egressLine(facts.egressAllowed)}`,
    '',
    'A first monitor:',
    '',
    ...firstCall(facts, `http://localhost:${facts.port}`).map((line) => `  ${line}`),
    '',
    'Ctrl-C stops it.',
    '',
  ];
  return lines.join('\n');
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

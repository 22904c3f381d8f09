import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { monitorHeaders, secretOf } from './marked-secrets.ts';

export type Send = (port: number, method: string, path: string, init?: RequestInit) => Promise<Response>;

/** Sends invalid requests, each with a secret, to the api at this port. @returns the statuses of the responses */
export async function sendInvalidRequests(send: Send, port: number): Promise<number[]> {
  return [...(await createInvalidMonitors(send, port)), ...(await signInWithWrongSecrets(send, port))];
}

async function createInvalidMonitors(send: Send, port: number): Promise<number[]> {
  const json = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${secretOf('BOOTSTRAP_API_KEY')}`,
  };
  const monitor = { name: 'x', url: 'http://x.example', headers: monitorHeaders() };
  const bodies = [
    `{"name": ${secretOf('body of a monitor')}}`,
    JSON.stringify(monitor).slice(0, -5),
    JSON.stringify({ ...monitor, headers: secretOf('Bearer token of a monitor') }),
    JSON.stringify({ ...monitor, headers: { 'X-Custom': [secretOf('custom header of a monitor')] } }),
    JSON.stringify({ ...monitor, headers: { 'X-Custom': `${secretOf('custom header of a monitor')}\n` } }),
    JSON.stringify({ ...monitor, body: { secret: secretOf('body of a monitor') } }),
    JSON.stringify({ ...monitor, method: secretOf('body of a monitor') }),
    JSON.stringify({ ...monitor, url: `http://u:${secretOf('body of a monitor')}@x.example` }),
    JSON.stringify({ ...monitor, interval: -1 }),
    'x'.repeat(300_000) + secretOf('body of a monitor'),
  ];
  const statuses = [];
  for (const body of bodies) {
    statuses.push((await send(port, 'POST', '/api/cli/monitors', { headers: json, body })).status);
  }
  const unknown = `/api/cli/monitors/${secretOf('unknown API key')}?key=${secretOf('unknown API key')}`;
  for (const key of [secretOf('unknown API key'), secretOf('BOOTSTRAP_READ_KEY')]) {
    statuses.push(
      (await send(port, 'POST', unknown, { headers: { Authorization: `Bearer ${key}` } })).status,
    );
  }
  return statuses;
}

async function signInWithWrongSecrets(send: Send, port: number): Promise<number[]> {
  const statuses = [];
  const browser = { 'Content-Type': 'application/json', Origin: PUBLIC_URL };
  for (const body of [
    JSON.stringify({ email: 'admin@example.com', password: secretOf('wrong password') }),
    `{"email": "admin@example.com", "password": ${secretOf('wrong password')}}`,
    JSON.stringify({ email: secretOf('wrong password'), password: [secretOf('wrong password')] }),
  ]) {
    statuses.push((await send(port, 'POST', '/api/auth/sign-in/email', { headers: browser, body })).status);
  }
  const begun = await send(port, 'POST', '/api/auth/sign-in/social', {
    headers: browser,
    body: JSON.stringify({ provider: 'oidc', callbackURL: `${PUBLIC_URL}/` }),
  });
  statuses.push(begun.status);
  if (!begun.ok) return statuses;
  const { url } = (await begun.json()) as { url: string };
  const query = new URLSearchParams({
    code: secretOf('OIDC code'),
    state: new URL(url).searchParams.get('state') ?? '',
  });
  const Cookie = begun.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const back = await send(port, 'GET', `/api/auth/callback/oidc?${query.toString()}`, {
    headers: { Cookie },
  });
  return [...statuses, back.status];
}

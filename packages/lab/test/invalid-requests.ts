import { bearer } from '@tocsin/lab/api-client';
import { PUBLIC_URL } from '@tocsin/lab/dashboard-session';
import { monitorHeaders, secretOf } from './marked-secrets.ts';

export type Send = (port: number, method: string, path: string, init?: RequestInit) => Promise<Response>;

/** Sends invalid requests, each with a secret, to the api at this port. @returns the statuses of the responses */
export async function sendInvalidRequests(send: Send, port: number): Promise<number[]> {
  const json = { 'Content-Type': 'application/json' };
  const statuses: number[] = [];
  const post = async (path: string, headers: Record<string, string>, body?: string): Promise<Response> => {
    const init = { headers: { ...json, ...headers }, ...(body !== undefined && { body }) };
    const response = await send(port, 'POST', path, init);
    statuses.push(response.status);
    return response;
  };
  for (const body of invalidMonitors())
    await post('/api/cli/monitors', bearer(secretOf('BOOTSTRAP_API_KEY')), body);
  const unknown = `/api/cli/monitors/${secretOf('unknown API key')}?key=${secretOf('unknown API key')}`;
  for (const key of ['unknown API key', 'BOOTSTRAP_READ_KEY']) await post(unknown, bearer(secretOf(key)));

  await post('/api/operator/accounts', bearer(secretOf('OPERATOR_API_KEY')), '{}');

  const browser = { Origin: PUBLIC_URL };
  const password = secretOf('wrong password');
  for (const body of [
    JSON.stringify({ email: 'admin@example.com', password }),
    `{"email": "admin@example.com", "password": ${password}}`,
    JSON.stringify({ email: password, password: [password] }),
  ])
    await post('/api/auth/sign-in/email', browser, body);
  const toProvider = JSON.stringify({ provider: 'oidc', callbackURL: `${PUBLIC_URL}/` });
  const begun = await post('/api/auth/sign-in/social', browser, toProvider);
  if (begun.ok) statuses.push(await returnFromProvider(send, port, begun));
  return statuses;
}

function invalidMonitors(): string[] {
  const body = secretOf('body of a monitor');
  const monitor = { name: 'x', url: 'http://x.example', headers: monitorHeaders() };
  const custom = secretOf('custom header of a monitor');
  return [
    `{"name": ${body}}`,
    JSON.stringify(monitor).slice(0, -5),
    'x'.repeat(300_000) + body,
    ...[
      { headers: secretOf('Bearer token of a monitor') },
      { headers: { 'X-Custom': [custom] } },
      { headers: { 'X-Custom': `${custom}\n` } },
      { body: { secret: body } },
      { method: body },
      { url: `http://u:${body}@x.example` },
    ].map((invalid) => JSON.stringify({ ...monitor, ...invalid })),
  ];
}

/** Sends a code that the single sign-on provider does not know. @param begun the response that leads to the provider */
async function returnFromProvider(send: Send, port: number, begun: Response): Promise<number> {
  const { url } = (await begun.json()) as { url: string };
  const state = new URL(url).searchParams.get('state') ?? '';
  const query = new URLSearchParams({ code: secretOf('OIDC code'), state });
  const cookies = begun.headers.getSetCookie().map((line) => line.split(';')[0]);
  const headers = { Cookie: cookies.join('; ') };
  const back = await send(port, 'GET', `/api/auth/callback/oidc?${query.toString()}`, { headers });
  return back.status;
}

import type { ServiceProcess } from './service-process.ts';
import { PUBLIC_URL } from './system.ts';

const LOGIN = { email: 'admin@example.com', password: 'correct horse battery' };

/** Settings of an api that lets `signIn` in. */
export const ADMIN_ENV = { BOOTSTRAP_ADMIN_EMAIL: LOGIN.email, BOOTSTRAP_ADMIN_PASSWORD: LOGIN.password };

/** A request to a path under `/api/dashboard`, with the session's cookie. */
export type DashboardRequest = (method: string, path: string, body?: object) => Promise<Response>;

/** Signs in to the dashboard of an api that runs with `ADMIN_ENV`. */
export async function signIn({ port }: ServiceProcess): Promise<DashboardRequest> {
  const headers = { 'Content-Type': 'application/json', Origin: PUBLIC_URL };
  const signedIn = await fetch(`http://127.0.0.1:${port}/api/auth/sign-in/email`, {
    method: 'POST',
    headers,
    body: JSON.stringify(LOGIN),
  });
  if (signedIn.status !== 200) throw new Error(`not signed in: ${signedIn.status} ${await signedIn.text()}`);
  const cookie = signedIn.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  return (method, path, body) =>
    fetch(`http://127.0.0.1:${port}/api/dashboard${path}`, {
      method,
      headers: { ...headers, Cookie: cookie },
      ...(body && { body: JSON.stringify(body) }),
    });
}

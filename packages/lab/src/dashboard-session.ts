/** The only origin from which the api accepts requests of browsers. */
export const PUBLIC_URL = 'http://tocsin.example';

const LOGIN = { email: 'admin@example.com', password: 'correct horse battery' };

/** Settings of an api that `openSession` can sign in to. */
export const ADMIN_ENV = { BOOTSTRAP_ADMIN_EMAIL: LOGIN.email, BOOTSTRAP_ADMIN_PASSWORD: LOGIN.password };

/** A request to a path under `/api/dashboard`, with the session's cookie. */
export type DashboardRequest = (
  method: string,
  path: string,
  body?: object,
  options?: Pick<RequestInit, 'signal'>,
) => Promise<Response>;

/**
 * Signs in to the dashboard of an api.
 * @param login defaults to the login of `ADMIN_ENV`
 * @param publicUrl PUBLIC_URL of the api
 * @returns a function that sends requests with the session, and the cookie of the session
 */
export async function openSession(
  { port }: { readonly port: number },
  login: { readonly email: string; readonly password: string } = LOGIN,
  publicUrl = PUBLIC_URL,
): Promise<{ readonly request: DashboardRequest; readonly cookie: string }> {
  const headers = { 'Content-Type': 'application/json', Origin: publicUrl };
  const response = await fetch(`http://127.0.0.1:${port}/api/auth/sign-in/email`, {
    method: 'POST',
    headers,
    body: JSON.stringify(login),
  });
  if (response.status !== 200) throw new Error(`sign-in: ${response.status} ${await response.text()}`);
  const cookie = response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  const request: DashboardRequest = (method, path, body, options) =>
    fetch(`http://127.0.0.1:${port}/api/dashboard${path}`, {
      ...options,
      method,
      headers: { ...headers, Cookie: cookie },
      ...(body && { body: JSON.stringify(body) }),
    });
  return { request, cookie };
}

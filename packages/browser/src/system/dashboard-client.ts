import { ORIGIN } from '../browser/launch-browser.ts';

/** A cookie as a browser takes it. */
interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly url: string;
}

/** Somebody who is signed in: asks the api as the dashboard does. */
export interface DashboardClient {
  /** What signs a browser in as the same person. */
  readonly cookies: readonly Cookie[];
  /** @param path under `/api/dashboard` @returns the answer's body @throws where it is no success */
  request<Answer>(method: string, path: string, body?: object): Promise<Answer>;
}

interface Person {
  readonly name: string;
  readonly email: string;
  readonly password: string;
}

/** Makes a user by an invitation, or by the link of a first run. */
export async function acceptInvitation(
  apiPort: number,
  token: string,
  person: Person,
): Promise<DashboardClient> {
  const response = await send(apiPort, [], 'POST', '/invitations/accept', { token, ...person });
  const cookies = response.headers.getSetCookie().map((line): Cookie => {
    const [pair = ''] = line.split(';');
    const [name = '', ...value] = pair.split('=');
    return { name, value: value.join('='), url: ORIGIN };
  });
  return {
    cookies,
    request: async <Answer>(method: string, path: string, body?: object) => {
      const text = await (await send(apiPort, cookies, method, path, body)).text();
      return (text === '' ? undefined : JSON.parse(text)) as Answer;
    },
  };
}

async function send(
  apiPort: number,
  cookies: readonly Cookie[],
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${apiPort}/api/dashboard${path}`, {
    method,
    headers: {
      Origin: ORIGIN,
      'Content-Type': 'application/json',
      Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.ok) return response;
  throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
}

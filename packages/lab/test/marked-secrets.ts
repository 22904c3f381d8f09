import { randomBytes } from 'node:crypto';

/** A secret that nothing else in the system looks like. */
const mark = (name: string): string => `${name}-${randomBytes(9).toString('base64url')}-mark`;
const apiKey = (): string => `tocsin_live_${randomBytes(24).toString('hex')}`;
const secretsKey = (): string => randomBytes(32).toString('base64');

/** By name. The test adds the secrets that the system generates. */
export const secrets: Record<string, string> = {
  'first SECRETS_KEY': secretsKey(),
  'second SECRETS_KEY': secretsKey(),
  BOOTSTRAP_ADMIN_PASSWORD: mark('admin'),
  BOOTSTRAP_API_KEY: apiKey(),
  BOOTSTRAP_READ_KEY: apiKey(),
  OPERATOR_API_KEY: mark('operator-key-of-32-characters-'),
  OIDC_CLIENT_SECRET: mark('oidc/&+'),
  'OIDC code': mark('code'),
  'token of the collector': mark('otlp'),
  'wrong Redis password': mark('redis'),
  'wrong database password': mark('postgres'),
  'Bearer token of a monitor': mark('auth'),
  'Basic password of a monitor': mark('basic'),
  'Cookie of a monitor': mark('cookie'),
  'custom header of a monitor': mark('Custom'),
  'body of a monitor': mark('body'),
  'wrong password': mark('wrong'),
  'password of an invited person': mark('invited'),
  'unknown API key': apiKey(),
  // Stored in plain text by design where `IN_CLEAR` says so, and nowhere else.
  'token in the URL of a monitor': mark('url'),
  'token in a trigger override': mark('override'),
  'token in the URL of a channel': mark('hook'),
};

export function secretOf(name: string): string {
  const secret = secrets[name];
  if (secret === undefined) throw new Error(`no secret is called ${name}`);
  return secret;
}

/**
 * Secrets that the database stores in plain text by design: URLs, which people must see, and session tokens, which are useless without the
 * signature in the cookie. Header values, bodies and channel secrets are encrypted.
 */
export const IN_CLEAR = [
  'session token at sessions.token',
  'token in a trigger override at events.url',
  'token in a trigger override at triggers.url',
  // In the response of a receiver.
  'token in the URL of a channel at attempts.response_excerpt',
  'token in the URL of a channel at audit_log.changes',
  'token in the URL of a channel at channels.url',
  'token in the URL of a monitor at audit_log.changes',
  'token in the URL of a monitor at monitors.url',
];

export function monitorHeaders(scheme: 'Basic' | 'Bearer' = 'Bearer'): Record<string, string> {
  const credentials =
    scheme === 'Bearer'
      ? secretOf('Bearer token of a monitor')
      : Buffer.from(`ops:${secretOf('Basic password of a monitor')}`).toString('base64');
  return {
    Authorization: `${scheme} ${credentials}`,
    Cookie: `theme=dark; session=${secretOf('Cookie of a monitor')}`,
    'X-Custom': secretOf('custom header of a monitor'),
  };
}

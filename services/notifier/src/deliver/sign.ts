import { Webhook } from 'standardwebhooks';

/**
 * The Standard Webhooks headers of one attempt (design §3 "Webhooks"): one `v1` signature per valid secret, so that a
 * receiver may verify with either while a secret is being rotated.
 */
export function signatureHeaders(
  id: string,
  signedAt: Date,
  payload: string,
  secrets: readonly string[],
): Record<string, string> {
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, signedAt, payload)).join(' '),
  };
}

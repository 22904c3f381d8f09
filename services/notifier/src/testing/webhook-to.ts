import type { WebhookRequest } from '../deliver/send-webhook.ts';

export const SECRET = `whsec_${Buffer.from('first secret of the channel').toString('base64')}`;

/** Makes a webhook to a receiver at this URL. */
export function webhookTo(url: string, fields: Partial<WebhookRequest> = {}): WebhookRequest {
  return {
    id: 'delivery-1',
    accountId: 'account-1',
    channelId: 'channel-1',
    url,
    payload: '{}',
    secrets: [SECRET],
    headers: {},
    routingKey: null,
    claimedAt: new Date(),
    ...fields,
  };
}

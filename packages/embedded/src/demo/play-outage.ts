import { setTimeout as delay } from 'node:timers/promises';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { HttpTarget } from '../local-web/http-target.ts';
import type { WebhookReceiver } from '../local-web/webhook-receiver.ts';
import { BRANCH_OFFICE, type BranchNetwork } from './branch-office.ts';
import type { DemoApi } from './demo-api.ts';

const STEP_TIMEOUT_MS = 30_000;
const POLL_MS = 200;

export interface Outage {
  readonly api: DemoApi;
  readonly target: HttpTarget;
  readonly branch: BranchNetwork;
  readonly receiver: WebhookReceiver;
  /** Creates a channel with this URL for all monitors. */
  readonly connect: (url: string) => Promise<void>;
  readonly say: (line: string) => void;
  /** Throws after a stop request. */
  readonly check: () => void;
}

/** Creates monitors in two regions, lets their target fail and recover, and prints status changes and webhooks. */
export async function playOutage(outage: Outage): Promise<void> {
  const { api, target, branch, receiver, say } = outage;
  const startedAt = Date.now();
  const log = (line: string): void =>
    say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
  const { respond } = receiver;
  receiver.respond = (webhook, response) => {
    respond(webhook, response);
    const { event, monitorName, previousStatus, status, errorReason }: WebhookPayload = JSON.parse(
      webhook.body,
    );
    const reason = errorReason === null ? '' : `, ${errorReason}`;
    log(`webhook   ${event.padEnd(17)} ${monitorName}: ${previousStatus} → ${status}${reason}`);
  };
  await outage.connect(receiver.url('/hook'));
  const where = branch.isSeparate ? 'in a network of its own' : 'on this machine';
  say(`
Monitors check ${target.url()} every 5 s, and in the region ${BRANCH_OFFICE} ${target.url('/', branch.host)},
through an agent ${where}. Webhooks go to ${receiver.url('/hook')}.
`);
  const monitors = [
    { name: 'Shop', assertions: null },
    { name: 'Search', assertions: { bodyContains: 'ok' } },
    { name: 'Checkout', assertions: { statusCode: 200, maxLatency: 2_000 } },
    { name: 'Intranet', assertions: null, regions: [BRANCH_OFFICE] },
    { name: 'Printer', assertions: null, regions: [BRANCH_OFFICE] },
  ];
  for (const monitor of monitors) {
    const url = target.url(`/${monitor.name}`, monitor.regions && branch.host);
    const runbookUrl = 'https://runbooks.example/shop';
    await api('POST /api/cli/monitors', { body: { ...monitor, url, interval: 5, timeout: 3, runbookUrl } });
  }
  const waitFor = statusWatch(outage, log);
  await waitFor('UP', 0);
  log('target    fails: it responds with 503');
  target.status = 503;
  await waitFor('DOWN', 2 * monitors.length);
  log('target    recovers: it responds with 200');
  target.status = 200;
  await waitFor('UP', 4 * monitors.length);
  const requests = receiver.received.length;
  say(
    `\nReceived ${requests} webhooks for ${4 * monitors.length} events, ${countEvents(receiver)} of them unique. None was lost.`,
  );
}

/** Counts unique webhooks, because a webhook may be sent more than once with the same ID. */
function countEvents(receiver: WebhookReceiver): number {
  return new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size;
}

/** Logs status changes. Resolves when all monitors have the status and enough webhooks have arrived. */
function statusWatch(
  { api, receiver, check }: Outage,
  log: (line: string) => void,
): (status: string, events: number) => Promise<void> {
  const known = new Map<string, string>();
  return async (status, events) => {
    const deadline = Date.now() + STEP_TIMEOUT_MS;
    for (;;) {
      check();
      const { monitors } = await api('GET /api/cli/monitors');
      for (const monitor of monitors.toReversed()) {
        const before = known.get(monitor.id) ?? 'PENDING';
        if (before !== monitor.status) log(`status    ${monitor.name}: ${before} → ${monitor.status}`);
        known.set(monitor.id, monitor.status);
      }
      const isReached = monitors.every((monitor) => monitor.status === status);
      if (isReached && countEvents(receiver) >= events) return;
      if (Date.now() > deadline) throw new Error(`not every monitor was ${status} within 30 s`);
      await delay(POLL_MS);
    }
  };
}

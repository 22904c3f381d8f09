import { setTimeout as wait } from 'node:timers/promises';
import type { WebhookPayload } from '@tocsin/contracts/deliveries/webhook';
import type { Monitor } from '@tocsin/contracts/monitors/monitor';
import type { HttpTarget } from '../local-web/http-target.ts';
import type { WebhookReceiver } from '../local-web/webhook-receiver.ts';

/** The few requests of the demo to the API. */
export class DemoApi {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = `${url}/api/cli/monitors`;
    this.#key = key;
  }

  async createMonitor(fields: Record<string, unknown>): Promise<void> {
    await this.#request('POST', fields);
  }

  async listMonitors(): Promise<Monitor[]> {
    return ((await this.#request('GET')) as { monitors: Monitor[] }).monitors;
  }

  async #request(method: string, body?: unknown): Promise<unknown> {
    const response = await fetch(this.#url, {
      method,
      headers: { Authorization: `Bearer ${this.#key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok)
      throw new Error(`${method} ${this.#url} answered ${response.status}: ${JSON.stringify(answer)}`);
    return answer;
  }
}

const STEP_TIMEOUT_MS = 30_000;
const POLL_MS = 200;

export interface Outage {
  readonly api: DemoApi;
  readonly target: HttpTarget;
  readonly receiver: WebhookReceiver;
  /** Makes a channel to this URL for every monitor. */
  readonly connect: (url: string) => Promise<void>;
  readonly say: (line: string) => void;
  /** Throws once the person at the terminal wants to stop. */
  readonly check: () => void;
}

/** Three monitors come up, their target breaks and recovers; tells what the system makes of it as it happens. */
export async function playOutage(outage: Outage): Promise<void> {
  const { api, target, receiver, say } = outage;
  const tell = narrator(say);
  const answer = receiver.answer;
  receiver.answer = (webhook, response) => {
    answer(webhook, response);
    tell(`webhook   ${describeWebhook(JSON.parse(webhook.body) as WebhookPayload)}`);
  };
  await outage.connect(receiver.url('/hook'));
  say(`\nThree monitors watch ${target.url()}, every 5 s; webhooks go to ${receiver.url('/hook')}.\n`);
  const runbookUrl = 'https://runbooks.example/shop';
  for (const [name, assertions] of [
    ['Shop', null],
    ['Search', { bodyContains: 'ok' }],
    ['Checkout', { statusCode: 200, maxLatency: 2_000 }],
  ] as const) {
    await api.createMonitor({
      name,
      url: target.url(`/${name}`),
      interval: 5,
      timeout: 3,
      assertions,
      runbookUrl,
    });
  }
  const watch = statusWatch(outage, tell);
  await watch('UP', 0);
  tell('target    breaks: it answers 503 from now on');
  target.status = 503;
  await watch('DOWN', 6);
  tell('target    recovers: it answers 200 again');
  target.status = 200;
  await watch('UP', 12);
  const ids = new Set(receiver.received.map((webhook) => webhook.headers['webhook-id']));
  say(`\n${receiver.received.length} webhooks received for 12 events, ${ids.size} different: none lost.`);
}

/** Tells each change of status; resolves once all monitors have the status and that many webhooks came in. */
function statusWatch(
  { api, receiver, check }: Outage,
  tell: (line: string) => void,
): (status: string, webhooks: number) => Promise<void> {
  const known = new Map<string, string>();
  return async (status, webhooks) => {
    const deadline = Date.now() + STEP_TIMEOUT_MS;
    for (;;) {
      check();
      const monitors = await api.listMonitors();
      for (const monitor of monitors.toReversed()) {
        const before = known.get(monitor.id) ?? 'PENDING';
        if (before !== monitor.status) tell(`status    ${monitor.name}: ${before} → ${monitor.status}`);
        known.set(monitor.id, monitor.status);
      }
      const reached = monitors.every((monitor) => monitor.status === status);
      if (reached && receiver.received.length >= webhooks) return;
      if (Date.now() > deadline) throw new Error(`not every monitor was ${status} within 30 s`);
      await wait(POLL_MS);
    }
  };
}

function describeWebhook(payload: WebhookPayload): string {
  const reason = payload.errorReason === null ? '' : `, ${payload.errorReason}`;
  return `${payload.event.padEnd(17)} ${payload.monitorName}: ${payload.previousStatus} → ${payload.status}${reason}`;
}

function narrator(say: (line: string) => void): (line: string) => void {
  const startedAt = Date.now();
  return (line) => say(`${((Date.now() - startedAt) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
}

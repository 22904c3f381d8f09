import { expect, test } from '@jest/globals';
import type { Region } from '@tocsin/contracts/regions/region';
import { HttpTarget } from '@tocsin/embedded/local-web/http-target';
import { WebhookReceiver } from '@tocsin/embedded/local-web/webhook-receiver';
import { until } from '@tocsin/embedded/testing/until';
import { createSystem } from '@tocsin/lab/system';

const REGION = 'branch-office';
const TOKENS = `/api/cli/regions/${REGION}/agent-tokens`;

test.each(['redis', 'postgres'] as const)(
  'an agent checks the monitors of its region until its token is deleted, with the queue on %s',
  async (queue) => {
    const [target, receiver] = await Promise.all([HttpTarget.start(), WebhookReceiver.start()]);
    const system = await createSystem({ queue, receiverCa: receiver.ca });
    const region = async (): Promise<Region | undefined> => {
      const { body } = await system.request('GET', '/api/cli/regions');
      return (body as { regions: Region[] }).regions.find((one) => one.region === REGION);
    };
    try {
      const gateway = system.service('checker', { AGENT_PORT: '0' });
      const services = [system.service('api'), system.service('notifier'), gateway];
      await Promise.all(services.map((one) => one.start()));
      const token = await system.createAgentRegion(REGION);
      const env = { AGENT_TOKEN: token, TOCSIN_URL: `http://127.0.0.1:${gateway.agentPort}` };
      await system.service('agent', env).start();
      const fields = { name: 'Shop', url: target.url(), interval: 5, timeout: 60, regions: [REGION] };
      const { id } = await system.createMonitor(fields);
      await system.createChannel(receiver.url('/alerts'), [id]);
      await system.untilStatus(id, 'UP');
      target.status = 500;
      await system.untilStatus(id, 'DOWN');
      await until('the webhook', () => receiver.received.some(({ body }) => body.includes('monitor.down')));
      await until('the agent to be listed', async () => (await region())?.agents.length === 1);

      const { body } = await system.request('GET', TOKENS);
      const [agentToken] = (body as { agentTokens: { id: string }[] }).agentTokens;
      await system.request('DELETE', `${TOKENS}/${agentToken?.id}`);
      await until('the agent to be gone', async () => (await region())?.health === 'disconnected');
      expect((await system.getMonitor(id)).monitor.status).toBe('DOWN');
    } finally {
      await system.close();
      await Promise.all([target.stop(), receiver.stop()]);
    }
  },
);

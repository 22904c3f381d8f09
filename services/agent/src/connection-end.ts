import { AGENT_CLOSE } from '@tocsin/contracts/agents/protocol';
import { VERSION } from './version.ts';

const MIN_DELAY_MS = 200;
const MAX_DELAY_MS = 5_000;
/** Only a person can fix a refused token or version. */
const REFUSED_DELAY_MS = 30_000;

/** Returns what to log when a connection ends with this close code. */
export function describeEnd(code: number): {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
} {
  switch (code) {
    case AGENT_CLOSE.restarting:
      return { level: 'info', message: 'The gateway is restarting. Reconnecting.' };
    case AGENT_CLOSE.tokenRevoked:
      return {
        level: 'error',
        message:
          'The gateway refused AGENT_TOKEN, which is unknown, deleted or expired. Create a token on the Regions page and set AGENT_TOKEN. The agent retries every 30 s.',
      };
    case AGENT_CLOSE.upgradeRequired:
      return {
        level: 'error',
        message: `The gateway does not support version ${VERSION} of the agent. Upgrade the agent. It retries every 30 s.`,
      };
    default:
      return { level: 'warn', message: 'Not connected to a gateway. Reconnecting.' };
  }
}

/**
 * Returns how long to wait before the next connection. The delay grows exponentially and is random, so that agents do not all reconnect at
 * once.
 * @param attempts connections in a row that ended early
 */
export function reconnectDelayMs(code: number, attempts: number, random: () => number = Math.random): number {
  if (code === AGENT_CLOSE.tokenRevoked || code === AGENT_CLOSE.upgradeRequired) return REFUSED_DELAY_MS;
  if (code === AGENT_CLOSE.restarting && attempts === 0) return 0;
  const longest = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** Math.min(attempts, 10));
  return MIN_DELAY_MS + random() * (longest - MIN_DELAY_MS);
}

import type { FloorMessage, FloorReport } from '../processes/floor-client.ts';
import type { SystemUnderLoad } from './stage.ts';

const MOST_SECONDS = 6;

/**
 * What a bare request to the target costs, at this rate, in a process of its own.
 * @param window the seconds for which the system is measured; a short one needs no better floor
 */
export async function runFloor(system: SystemUnderLoad, rate: number, window: number): Promise<FloorReport> {
  const seconds = Math.min(MOST_SECONDS, window);
  const client = await system.lab.startHelper<FloorMessage>('floor-client');
  try {
    return await client.ask<FloorReport>({
      url: `${system.targetUrl}/m/0`,
      ca: system.targetCa,
      rate,
      seconds,
      warmUpSeconds: seconds / 2,
    });
  } finally {
    system.lab.programs.delete('floor-client');
    await client.stop();
  }
}

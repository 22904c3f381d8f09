import { afterAll, afterEach, expect } from '@jest/globals';
import { createEgress, type Egress } from '../create-egress.ts';
import { AttackGround } from './attack-ground.ts';
import { PUBLIC_ADDRESS } from './attack-vectors/hostile-names.ts';

/**
 * Starts a ground for all tests of a file, and a guard that allows only its public server. A test fails if anything connects elsewhere.
 * @param reached other addresses to which a test may connect
 */
export async function useAttackGround(
  reached: readonly string[] = [PUBLIC_ADDRESS],
): Promise<{ ground: AttackGround; egress: Egress }> {
  const ground = await AttackGround.open();
  afterAll(() => ground.close());
  afterEach(() => {
    expect(ground.canaryConnections).toBe(0);
    expect(ground.watch.take().filter((ip) => !reached.includes(ip))).toEqual([]);
  });
  const egress = createEgress({
    allowCidrs: [PUBLIC_ADDRESS],
    extraCa: ground.ca,
    lookup: ground.dns.lookup,
    // Longer than any test runs, so that no lookup times out on a busy machine.
    checkUrlLookupMs: 600_000,
  });
  return { ground, egress };
}

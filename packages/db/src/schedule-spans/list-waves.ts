import type { Wave } from '@tocsin/core/schedule/wave';
import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

type WaveRow = Record<string, unknown> & { region: string; interval_seconds: number; phase_ms: number };

/** Every region that checks something, with its waves. @param region only this one */
export async function listWaves(db: Database, region: string | null = null): Promise<Map<string, Wave[]>> {
  const { rows } = await db.execute<WaveRow>(sql`
    select distinct region, interval_seconds, phase_ms from schedule_spans
    where ends_at is null ${region === null ? sql`` : sql`and region = ${region}`}`);
  const waves = new Map<string, Wave[]>();
  for (const row of rows) {
    const wave = { intervalSeconds: row.interval_seconds, phaseMs: row.phase_ms };
    const known = waves.get(row.region);
    if (known) known.push(wave);
    else waves.set(row.region, [wave]);
  }
  return waves;
}

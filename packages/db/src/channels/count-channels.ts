import { sql } from 'drizzle-orm';
import type { Database } from '../database/open.ts';

/** Channels of every account: those that send, those that a person disabled, and those that the service did. */
export interface ChannelCounts {
  readonly enabled: number;
  readonly disabled: number;
  readonly disabledByService: number;
}

export async function countChannels(db: Database): Promise<ChannelCounts> {
  const { rows } = await db.execute<{ enabled: number; disabled: number; by_service: number }>(sql`
    select (count(*) filter (where enabled))::int as enabled,
      (count(*) filter (where not enabled and disabled_reason is null))::int as disabled,
      (count(*) filter (where not enabled and disabled_reason is not null))::int as by_service
    from channels where deleted_at is null`);
  const [row] = rows;
  return {
    enabled: row?.enabled ?? 0,
    disabled: row?.disabled ?? 0,
    disabledByService: row?.by_service ?? 0,
  };
}

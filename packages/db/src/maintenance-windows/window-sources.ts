import { AppError } from '@tocsin/contracts/errors';
import { isSourceAllowed } from '@tocsin/contracts/labels/sources';
import { z } from 'zod';
import { type Actor, requireSource } from '../audit-log/actor.ts';
import type { Transaction } from '../database/open.ts';
import { query } from '../database/sql.ts';
import type { MaintenanceWindowRow } from './table.ts';

const sourceRow = z.object({ source: z.string().nullable() });

/**
 * Requires that a window can cover only monitors from the actor's sources, whether it lists or selects them. Its own source, if it has one,
 * must be one of these.
 * @throws AppError source_not_allowed
 */
export async function requireOwnWindow(
  tx: Transaction,
  actor: Actor,
  {
    id,
    selector,
    allMonitors,
    sources,
    source,
  }: Pick<MaintenanceWindowRow, 'id' | 'selector' | 'allMonitors' | 'sources' | 'source'>,
): Promise<void> {
  if (actor.sources === null) return;
  if (source !== null) requireSource(actor, source);
  const listed = await query(tx, sourceRow)`
    select distinct m.source from maintenance_window_monitors a join monitors m on m.id = a.monitor_id
    where a.window_id = ${id} and a.listed order by m.source`;
  for (const { source } of listed) requireSource(actor, source);
  // A source that ends in `*` is allowed by the same text or by a shorter prefix.
  const isLimited = sources?.every((source) => isSourceAllowed(actor.sources, source)) ?? false;
  const selects = selector !== null || allMonitors;
  if (isLimited || (listed.length > 0 && !selects)) return;
  throw new AppError(
    'source_not_allowed',
    'This maintenance window can cover monitors of sources that this API key may not change.',
  );
}

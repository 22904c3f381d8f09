import type { OpenDatabase } from '@tocsin/db/database/open';
import { REGIONS } from './system.ts';

/** What a row alone does not say, and the api must have written along with it: each query finds what is not whole. */
const BROKEN = `
  with mine as (select * from monitors where account_id = any($1)),
  wanted as (
    select m.id, r.region, m.interval_seconds from mine m
    cross join unnest(case when m.regions = '{}' then array[$2::text] else m.regions end) r (region)),
  running as (select s.* from schedule_spans s join mine on mine.id = s.monitor_id where s.ends_at is null)
  select 'a monitor lacks the state of its region' as what, w.id, w.region from wanted w
  where not exists (select from monitor_regions r where r.monitor_id = w.id and r.region = w.region)
  union all
  select 'a state is of no region of its monitor', r.monitor_id, r.region
  from monitor_regions r join mine on mine.id = r.monitor_id
  where not exists (select from wanted w where w.id = r.monitor_id and w.region = r.region)
  union all
  select 'a monitor lacks the plan of its region', w.id, w.region from wanted w
  where not exists (
    select from running s where s.monitor_id = w.id and s.region = w.region and s.interval_seconds = w.interval_seconds)
  union all
  select 'a plan is of no region of its monitor', s.monitor_id, s.region from running s
  where not exists (select from wanted w where w.id = s.monitor_id and w.region = s.region)
  union all
  select 'an incident is open though its monitor is up', mine.id, i.region
  from incidents i join mine on mine.id = i.monitor_id
  where i.resolved_at is null and mine.status in ('PENDING', 'UP')`;

/** What was written by half, in words. */
export async function listBroken({ pool }: OpenDatabase, accountIds: readonly string[]): Promise<string[]> {
  const { rows } = await pool.query<{ what: string; id: string; region: string }>({
    name: 'broken',
    text: BROKEN,
    values: [accountIds, REGIONS[0]],
  });
  return rows.map(({ what, id, region }) => `${what}: ${id} ${region}`);
}

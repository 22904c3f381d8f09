import type { Queries } from '../stores.ts';

/** Rows that contradict each other. The api must write them together. */
const CONTRADICTIONS = `
  with own as (select * from monitors where account_id = any($1)),
  expected as (
    select m.id, r.region, m.interval_seconds from own m
    cross join unnest(case when m.regions = '{}' then array[$2::text] else m.regions end) r (region)),
  running as (select s.* from schedule_spans s join own on own.id = s.monitor_id where s.ends_at is null)
  select 'a monitor has no state in its region' as problem, e.id, e.region from expected e
  where not exists (select from monitor_regions r where r.monitor_id = e.id and r.region = e.region)
  union all
  select 'a monitor has a state in another region', r.monitor_id, r.region
  from monitor_regions r join own on own.id = r.monitor_id
  where not exists (select from expected e where e.id = r.monitor_id and e.region = r.region)
  union all
  select 'a monitor has no schedule in its region', e.id, e.region from expected e
  where not exists (
    select from running s where s.monitor_id = e.id and s.region = e.region and s.interval_seconds = e.interval_seconds)
  union all
  select 'a monitor has a schedule in another region', s.monitor_id, s.region from running s
  where not exists (select from expected e where e.id = s.monitor_id and e.region = s.region)
  union all
  select 'a monitor that is up has an open incident', own.id, i.region
  from incidents i join own on own.id = i.monitor_id
  where i.resolved_at is null and own.status in ('PENDING', 'UP')`;

/** Finds incomplete writes and describes each in one sentence. @param defaultRegion region of monitors without regions */
export async function findContradictions(
  { query }: Queries,
  accountIds: readonly string[],
  defaultRegion: string,
): Promise<string[]> {
  const rows = await query<{ problem: string; id: string; region: string }>(CONTRADICTIONS, [
    accountIds,
    defaultRegion,
  ]);
  return rows.map(({ problem, id, region }) => `${problem}: ${id} ${region}`);
}

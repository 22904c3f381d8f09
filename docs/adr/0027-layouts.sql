-- Measures the layouts of ADR 27: bytes per event, and the time to read 100 events of a monitor and to delete a monitor. Run it as a
-- superuser in an empty database:
--
--   createdb layouts && psql -d layouts -f 0027-layouts.sql
--
-- TimescaleDB and Citus Columnar are measured if the server has them and preloads TimescaleDB:
-- shared_preload_libraries = 'timescaledb'.

\set ON_ERROR_STOP on
\set QUIET on
\pset pager off
\pset footer off
set client_min_messages = warning;
set timezone = 'UTC';
-- One process and no compilation, so that the times of the layouts are comparable.
set max_parallel_workers_per_gather = 0;
set max_parallel_maintenance_workers = 0;
set jit = off;
set work_mem = '256MB';
set maintenance_work_mem = '512MB';
set default_toast_compression = 'pglz';

select exists (select from pg_available_extensions where name = 'timescaledb')
    and current_setting('shared_preload_libraries') like '%timescaledb%' as has_timescaledb,
  exists (select from pg_available_extensions where name = 'citus_columnar') as has_columnar \gset
\if :has_timescaledb
  create extension if not exists timescaledb;
\endif
\if :has_columnar
  create extension if not exists citus_columnar;
\endif

select version();
select extname as extension, extversion as version from pg_extension where extname <> 'plpgsql';

-- Helpers ---------------------------------------------------------------------------------------------------------------------------

-- A version 7 UUID with the event's timestamp and the random bits of the monitor's id.
create function event_id(monitor_id uuid, "timestamp" timestamp with time zone) returns uuid
  language sql immutable strict parallel safe
  return (
    lpad(to_hex((extract(epoch from "timestamp") * 1000)::bigint), 12, '0')
    || '7' || substr(monitor_id::text, 16, 3)
    || translate(substr(monitor_id::text, 20, 1), '01234567cdef', '89ab89ab89ab') || substr(monitor_id::text, 21)
  )::uuid;

-- The id of a monitor.
create function monitor(number integer) returns uuid
  language sql immutable strict return md5('monitor ' || number)::uuid;

create table layouts (
  number integer generated always as identity primary key,
  layout text not null,
  heap bigint,
  -- With TOAST.
  "table" bigint,
  "index" bigint,
  read_ms double precision[],
  delete_ms double precision[],
  deleted bigint,
  delete_error text
);

-- Starts a layout.
create procedure start_layout(name text) language sql as $$
  insert into layouts (layout) values (name)
$$;

create function latest() returns integer language sql stable return (select max(number) from layouts);

-- The bytes of a relation, without and with TOAST, and of its indexes.
create function size_of(relation regclass, out heap bigint, out "table" bigint, out "index" bigint) language plpgsql as $$
begin
  if relation::text like 'timescale%' then
    -- With the compressed chunks.
    execute 'select sum(table_bytes), sum(table_bytes + coalesce(toast_bytes, 0)), sum(index_bytes) from hypertable_detailed_size($1)'
      into heap, "table", "index" using relation;
  else
    heap := pg_relation_size(relation);
    "table" := pg_table_size(relation);
    "index" := pg_indexes_size(relation);
  end if;
end $$;

create procedure note_size(relation regclass) language sql as $$
  update layouts l set heap = s.heap, "table" = s."table", "index" = s."index" from size_of(relation) s where number = latest()
$$;

-- The time of a statement, as `explain (analyze)` measures it.
create function time_of(statement text, out ms double precision, out plan jsonb) language plpgsql as $$
begin
  execute 'explain (analyze, format json) ' || statement into plan;
  ms := (plan -> 0 ->> 'Execution Time')::double precision;
end $$;

-- Five times 100 events of a monitor after a time.
create procedure note_read(statement text) language plpgsql as $$
declare
  times double precision[];
  result record;
begin
  for run in 0 .. 5 loop
    result := time_of(statement);
    if coalesce((result.plan -> 0 -> 'Plan' ->> 'Actual Rows')::float8, 0) <> 100 then
      raise 'not 100 events: %', result.plan;
    end if;
    -- The first run fills the caches.
    if run > 0 then times := times || result.ms; end if;
  end loop;
  update layouts set read_ms = times where number = latest();
end $$;

-- Deletes five monitors, each once.
create procedure note_delete(relation regclass) language plpgsql as $$
declare
  times double precision[];
  result record;
  before bigint;
  after bigint;
begin
  execute format('select count(*) from %s', relation) into before;
  for monitor_number in 101 .. 105 loop
    result := time_of(format('delete from %s where monitor_id = %L', relation, monitor(monitor_number)));
    times := times || result.ms;
  end loop;
  execute format('select count(*) from %s', relation) into after;
  update layouts set delete_ms = times, deleted = before - after where number = latest();
exception when others then
  update layouts set delete_error = sqlerrm where number = latest();
end $$;

-- The statements that measure a layout in a table, for `\gexec`: some of them cannot run in a transaction with others.
create function measure(layout text, relation text, read text) returns setof text language sql as $$
  select unnest(array[
    format('vacuum (analyze) %I', relation),
    format('call start_layout(%L)', layout),
    format('call note_size(%L)', relation),
    format('call note_read(%L)', read)
  ])
$$;

-- 100 events of a monitor after noon.
create function read_events(relation text) returns text language sql immutable
  return format(
    'select * from %I where monitor_id = %L and "timestamp" > %L order by "timestamp" limit 100',
    relation, monitor(100), '2026-01-15 12:00:00+00');

-- Rows ----------------------------------------------------------------------------------------------------------------------------------

create table events (
  monitor_id uuid not null,
  "timestamp" timestamp(3) with time zone not null,
  id uuid not null,
  status text not null,
  latency_ms integer not null,
  status_code integer,
  error_reason text,
  error_detail text,
  inconclusive boolean not null default false,
  sealed_response text,
  region text not null,
  source text not null,
  slot timestamp(3) with time zone,
  url text,
  dns_ms integer,
  tcp_ms integer,
  tls_ms integer,
  first_byte_ms integer,
  download_ms integer,
  primary key (monitor_id, "timestamp")
);

\echo 'Writing the events ...'
select setseed(0.27) \g /dev/null
-- In order of time, with the index in place, as they are written over a day.
-- A response has code 200, or 503 once in a hundred times.
insert into events (monitor_id, "timestamp", id, status, latency_ms, status_code, error_reason, error_detail, region, source, slot, dns_ms,
  tcp_ms, tls_ms, first_byte_ms, download_ms)
select monitor_id, "timestamp", event_id(monitor_id, "timestamp"), case when fails then 'DOWN' else 'UP' end, latency,
  case when fails then 503 else 200 end, case when fails then 'HTTP_503' end, case when fails then 'responded with 503' end,
  'default', 'schedule', slot, dns, tcp, tls, first_byte, download
from (
  -- The distance of a target, the time it works on a request, and when it is checked, all in ms.
  select monitor(number) as monitor_id, 2 + random() * 30 as distance, 20 + random() * 200 as work, floor(random() * 13500) as phase
  from generate_series(1, 260) as number
) as monitor
cross join lateral (
  select '2026-01-15 00:00:00+00'::timestamptz + (phase + number * 15000) * interval '1 ms' as slot, random() < 0.01 as fails,
    case when random() < 0.8 then 0 else (1 + random() * 4)::int end as dns,
    (distance - ln(random() + 1e-9) * 1.5)::int as tcp,
    (distance * 1.3 - ln(random() + 1e-9) * 2)::int as tls,
    (distance + work - ln(random() + 1e-9) * work * 0.15)::int as first_byte,
    (random() * 1.2)::int as download
  from generate_series(0, 5759) as number
) as measured
cross join lateral (select dns + tcp + tls + first_byte + download as latency) as summed
cross join lateral (
  select least(slot + (latency + random() * 20) * interval '1 ms', '2026-01-15 23:59:59.999+00')::timestamptz(3) as "timestamp"
) as recorded
order by "timestamp", monitor_id;

-- The same columns, as blocks need no id.
create table events_without_id (like events);
alter table events_without_id drop column id;

vacuum analyze events;
select count(*) as events, count(distinct monitor_id) as monitors, round(avg((status = 'DOWN')::int), 4) as failures, min(latency_ms),
  percentile_cont(array[0.01, 0.5, 0.99]) within group (order by latency_ms) as latency_percentiles, max(latency_ms)
from events;

\echo 'Rows ...'
\o /dev/null
select measure('rows, as written over the day', 'events', read_events('events')) \gexec
-- The other layouts copy the rows before monitors are deleted from them.
create table brin_rows (like events including defaults);
insert into brin_rows select * from events order by "timestamp", monitor_id;
create index on brin_rows using brin ("timestamp");
\o
\set by_monitor 'order by monitor_id, "timestamp"'
\set by_time 'order by "timestamp", monitor_id'
\set columns_without_id 'monitor_id, "timestamp", status, latency_ms, status_code, error_reason, error_detail, inconclusive, sealed_response, region, source, slot, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms'

-- Blocks --------------------------------------------------------------------------------------------------------------------------------

\echo 'Blocks ...'
-- As migration 0007_event_blocks and packages/db/src/events make them.
create table event_blocks (
  monitor_id uuid not null,
  starts_at timestamp(3) with time zone not null,
  ends_at timestamp(3) with time zone not null,
  slot_steps bigint[],
  delays bigint[] not null,
  id uuid[],
  status text[],
  latency_ms integer[],
  status_code integer[],
  error_reason text[],
  error_detail text[],
  inconclusive boolean[],
  sealed_response text[],
  region text[],
  source text[],
  url text[],
  dns_ms integer[],
  tcp_ms integer[],
  tls_ms integer[],
  first_byte_ms integer[],
  download_ms integer[],
  primary key (monitor_id, ends_at)
) with (toast_tuple_target = 128);

select format('alter table event_blocks alter column %I set storage main, alter column %1$I set statistics 0', attname)
from pg_attribute
where attrelid = 'event_blocks'::regclass and attndims > 0 \gexec

create view packed_events as
select b.monitor_id, coalesce(e.slot, b.starts_at) + e.delay * interval '1 ms' as "timestamp",
  coalesce(e.id, event_id(b.monitor_id, coalesce(e.slot, b.starts_at) + e.delay * interval '1 ms')) as id, e.slot,
  e.status, e.latency_ms, e.status_code, e.error_reason, e.error_detail, e.inconclusive, e.sealed_response, e.region,
  e.source, e.url, e.dns_ms, e.tcp_ms, e.tls_ms, e.first_byte_ms, e.download_ms,
  b.starts_at as block_starts_at, b.ends_at as block_ends_at
from event_blocks b cross join lateral (
  select u.*, case when u.slot_step is not null
    then b.starts_at + (sum(u.slot_step) over (order by u.number))::float8 * interval '1 ms' end as slot
  from unnest(b.slot_steps, b.delays, b.id, b.status, b.latency_ms, b.status_code, b.error_reason, b.error_detail,
    b.inconclusive, b.sealed_response, b.region, b.source, b.url, b.dns_ms, b.tcp_ms, b.tls_ms, b.first_byte_ms,
    b.download_ms) with ordinality
    as u (slot_step, delay, id, status, latency_ms, status_code, error_reason, error_detail, inconclusive,
      sealed_response, region, source, url, dns_ms, tcp_ms, tls_ms, first_byte_ms, download_ms, number)
) e;

-- An array of a column, or null without any value.
select string_agg(
  format('case when count(%1$I) > 0 then array_agg(%1$I order by "timestamp") end', attname), ', ' order by attnum) as other_arrays
from pg_attribute
where attrelid = 'event_blocks'::regclass and attndims > 0 and attname not in ('slot_steps', 'delays', 'id') \gset

insert into event_blocks
select monitor_id, starts_at, max("timestamp"),
  case when count(slot) > 0 then
    array_agg((extract(epoch from slot - coalesce(previous_slot, starts_at)) * 1000)::bigint order by "timestamp") end,
  array_agg((extract(epoch from "timestamp" - coalesce(slot, starts_at)) * 1000)::bigint order by "timestamp"),
  case when count(nullif(id, event_id(monitor_id, "timestamp"))) > 0 then
    array_agg(nullif(id, event_id(monitor_id, "timestamp")) order by "timestamp") end,
  :other_arrays
from (
  select *, first_value("timestamp") over in_block as starts_at,
    lag(slot) over (partition by monitor_id, block, slot is null order by "timestamp") as previous_slot
  from (
    select *, (row_number() over (partition by monitor_id order by "timestamp") - 1) / 256 as block from events) numbered
  window in_block as (partition by monitor_id, block order by "timestamp")) e
group by monitor_id, block, starts_at;

vacuum analyze event_blocks;
-- The blocks have the events that were packed.
do $$
begin
  if exists (
    select monitor_id, "timestamp", id, slot, status, latency_ms, status_code, first_byte_ms from events
    except
    select monitor_id, "timestamp", id, slot, status, latency_ms, status_code, first_byte_ms from packed_events
  ) then
    raise 'the blocks lack events';
  end if;
end $$;

-- TimescaleDB ---------------------------------------------------------------------------------------------------------------------------

\if :has_timescaledb
  \echo 'TimescaleDB ...'
  \o /dev/null
  create table timescale_events (like events, primary key (monitor_id, "timestamp"));
  create table timescale_without_id (like events_without_id, primary key (monitor_id, "timestamp"));
  select create_hypertable(relation, by_range('timestamp', interval '1 day'), create_default_indexes => false)
  from unnest(array['timescale_events', 'timescale_without_id']::regclass[]) as relation;
  alter table timescale_events
    set (timescaledb.compress, timescaledb.compress_segmentby = 'monitor_id', timescaledb.compress_orderby = 'timestamp desc');
  alter table timescale_without_id
    set (timescaledb.compress, timescaledb.compress_segmentby = 'monitor_id', timescaledb.compress_orderby = 'timestamp desc');
  insert into timescale_events select * from events :by_time;
  insert into timescale_without_id select :columns_without_id from events :by_time;
  select compress_chunk(chunk) from show_chunks('timescale_events') as chunk;
  select compress_chunk(chunk) from show_chunks('timescale_without_id') as chunk;
  \o
  select relation, total_chunks as chunks, before_compression_total_bytes as before, after_compression_table_bytes as "table",
    after_compression_index_bytes as "index", after_compression_toast_bytes as toast, after_compression_total_bytes as total
  from unnest(array['timescale_events', 'timescale_without_id']::regclass[]) as relation, hypertable_compression_stats(relation);
\endif

-- Citus Columnar ------------------------------------------------------------------------------------------------------------------------

\if :has_columnar
  \echo 'Citus Columnar ...'
  create table columnar_events (like events) using columnar;
  insert into columnar_events select * from events :by_monitor;
  create table columnar_by_time (like events) using columnar;
  insert into columnar_by_time select * from events :by_time;
  create table columnar_without_id (like events_without_id) using columnar;
  insert into columnar_without_id select :columns_without_id from events :by_monitor;
  create table columnar_by_time_without_id (like events_without_id) using columnar;
  insert into columnar_by_time_without_id select :columns_without_id from events :by_time;
  select * from columnar.options;
  -- The catalogue of stripes and chunks is not part of the tables.
  select count(*) as chunks, (select sum(pg_total_relation_size(oid)) from pg_class
    where relnamespace = 'columnar_internal'::regnamespace and relkind = 'r') as bytes_of_catalogue
  from columnar.chunk;
\endif

-- Reading and deleting ------------------------------------------------------------------------------------------------------------------

\echo 'Reading and deleting ...'
\o /dev/null
reindex table events;
select measure('rows, index rebuilt', 'events', read_events('events')) \gexec
call note_delete('events');
select measure('rows with a BRIN index', 'brin_rows', read_events('brin_rows')) \gexec
call note_delete('brin_rows');
select measure('blocks of 256 with derived ids', 'event_blocks', format(
  'select * from packed_events where monitor_id = %L and "timestamp" > %L and block_ends_at > %2$L
    order by block_ends_at, "timestamp" limit 100', monitor(100), '2026-01-15 12:00:00+00')) \gexec
call note_delete('event_blocks');

\if :has_timescaledb
  select measure('TimescaleDB, compressed', 'timescale_events', read_events('timescale_events')) \gexec
  call note_delete('timescale_events');
  select measure('TimescaleDB, compressed, without ids', 'timescale_without_id', read_events('timescale_without_id')) \gexec
  call note_delete('timescale_without_id');
\endif

\if :has_columnar
  select measure('Citus Columnar, by monitor', 'columnar_events', read_events('columnar_events')) \gexec
  call note_delete('columnar_events');
  select measure('Citus Columnar, by time', 'columnar_by_time', read_events('columnar_by_time')) \gexec
  call note_delete('columnar_by_time');
  select measure('Citus Columnar, by monitor, without ids', 'columnar_without_id', read_events('columnar_without_id')) \gexec
  call note_delete('columnar_without_id');
  select measure('Citus Columnar, by time, without ids', 'columnar_by_time_without_id', read_events('columnar_by_time_without_id')) \gexec
  call note_delete('columnar_by_time_without_id');
\endif
\o

-- The results ---------------------------------------------------------------------------------------------------------------------------

create function per_event(bytes bigint) returns numeric language sql return round(bytes / (260 * 5760)::numeric, 2);
create function fastest(times double precision[]) returns numeric language sql
  return (select round(min(ms)::numeric, 2) from unnest(times) as ms);

\echo
\echo 'Bytes per event; ms to read 100 events of a monitor, and to delete a monitor: the fastest of five'
select layout, per_event("table") as "table", per_event("index") as "index", per_event("table" + "index") as total,
  fastest(read_ms) as read_ms, fastest(delete_ms) as delete_ms, delete_error
from layouts order by number;

import type { Stores } from './stores.ts';

/** Lets Postgres refuse every result of monitors whose external id begins with `poison-`, with an error that does not blame the data. */
export async function installPoison(stores: Stores): Promise<void> {
  // A sequence counts on where the transaction is rolled back.
  await stores.query(`
    create sequence chaos.refusals;
    create function chaos.refuse_poison() returns trigger language plpgsql as $$
    begin
      if exists (select from public.monitors where id = new.monitor_id and external_id like 'poison-%') then
        perform nextval('chaos.refusals');
        raise exception 'results of this monitor are refused' using errcode = 'P0001';
      end if;
      return new;
    end $$;
    create trigger chaos_poison before insert on events for each row execute function chaos.refuse_poison();`);
}

/** How often Postgres refused a result; a crash of Postgres adds a few. */
export async function countRefusals(stores: Stores): Promise<number> {
  const [row] = await stores.query<{ count: number }>(
    'select case when is_called then last_value else 0 end::float8 as count from chaos.refusals',
  );
  return row?.count ?? 0;
}

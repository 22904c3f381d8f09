import type { Stores } from './stores.ts';

/** Lets Postgres refuse every result of monitors whose external id begins with `poison-`, with an error that does not blame the data. */
export async function installPoison(stores: Stores): Promise<void> {
  await stores.query(`
    create function chaos.refuse_poison() returns trigger language plpgsql as $$
    begin
      if exists (select from public.monitors where id = new.monitor_id and external_id like 'poison-%') then
        raise exception 'results of this monitor are refused' using errcode = 'P0001';
      end if;
      return new;
    end $$;
    create trigger chaos_poison before insert on events for each row execute function chaos.refuse_poison();`);
}

import type { CampaignRecord, Violation } from './record.ts';

/** Postgres has the monitors that were made and not deleted, as they were last edited, and no others. */
export function wrongMonitors({ monitors, promised, database }: CampaignRecord): Violation[] {
  const invariant = 'what the API took stays as it is';
  const stored = new Map(database.monitors.map((monitor) => [monitor.id, monitor]));
  const known = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  return [
    ...monitors.flatMap(({ id, plan, deletedAt, names, thresholds }) => {
      const found = stored.get(id);
      if (deletedAt !== null) return found === undefined ? [] : [`${plan.key} was deleted, and is there`];
      if (found === undefined) return [`${plan.key} was made, and is gone`];
      const name = names.at(-1);
      const threshold = thresholds.at(-1)?.value ?? plan.failureThreshold;
      if (found.name === name && found.failureThreshold === threshold) return [];
      return [
        `${plan.key} is called ${found.name}, threshold ${found.failureThreshold}, not ${name}, ${threshold}`,
      ];
    }),
    ...database.monitors.filter(({ id }) => !known.has(id)).map(({ id }) => `nobody made monitor ${id}`),
    ...promised
      .filter(({ id }) => !known.has(id))
      .map(({ id, key }) => `an api said that it had made ${key} as ${id}, which was lost`),
  ].map((detail) => ({ invariant, detail }));
}

import { parseEnv } from '@tocsin/runtime/env';
import { parseRegionQueueUrls, settings } from '@tocsin/runtime/settings';
import type { Settings } from '@tocsin/runtime/settings';

type FilledIn = 'DATABASE_URL' | 'QUEUE_URL' | 'SECRETS_KEY';
export type StartSettings = Omit<Settings, FilledIn> & {
  readonly [Name in FilledIn]?: Settings[Name] | undefined;
};

/** All variables, checked before anything starts; what `npm start` fills in itself may be absent. */
export function parseStartSettings(): StartSettings {
  parseRegionQueueUrls();
  return parseEnv(settings.partial({ DATABASE_URL: true, QUEUE_URL: true, SECRETS_KEY: true }));
}

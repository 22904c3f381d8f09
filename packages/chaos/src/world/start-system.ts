import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Teardown } from '@tocsin/embedded/program/teardown';
import { ADMIN_ENV } from '@tocsin/lab/dashboard-session';
import { Stores, type StoresOptions } from '@tocsin/lab/stores';
import { System } from '@tocsin/lab/system';
import { Receivers, type ReceiversOptions } from './receivers.ts';
import { Targets, type TargetsOptions } from './targets.ts';

/** A system of its own with durable stores, targets and receivers. No service runs until it is started. */
export interface StartedSystem {
  readonly stores: Stores;
  readonly targets: Targets;
  readonly receivers: Receivers;
  readonly system: System;
}

export interface SystemPlan extends Omit<StoresOptions, 'teardown'> {
  readonly targets: TargetsOptions;
  readonly receivers: ReceiversOptions;
  /** Settings of every service. */
  readonly env: Readonly<Record<string, string>>;
}

export async function startSystem(
  { targets: targetsOptions, receivers: receiversOptions, env, ...storesOptions }: SystemPlan,
  teardown: Teardown,
): Promise<StartedSystem> {
  const stores = await Stores.start({ ...storesOptions, teardown });
  const targets = await teardown.start(Targets.start(targetsOptions), (one) => one.stop());
  const receivers = await teardown.start(Receivers.start(receiversOptions), (one) => one.stop());
  const folder = join(stores.folder, 'logs');
  await mkdir(folder);
  const WEBHOOK_CA_FILE = join(stores.folder, 'receivers-ca.pem');
  await writeFile(WEBHOOK_CA_FILE, receivers.ca);
  const { databaseUrl, queueUrl } = stores;
  const opening = System.open({
    databaseUrl,
    queueUrl,
    folder,
    env: { NODE_ENV: 'production', ...ADMIN_ENV, WEBHOOK_CA_FILE, ...env },
  });
  const system = await teardown.start(opening, (one) => one.close());
  return { stores, targets, receivers, system };
}

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ADMIN_ENV } from '../dashboard-session.ts';
import { Stores, type StoresOptions } from '../stores.ts';
import { System } from '../system.ts';
import { Receivers, type ReceiversOptions } from './receivers.ts';
import { Targets, type TargetsOptions } from './targets.ts';

export interface StartedSystem {
  readonly stores: Stores;
  readonly targets: Targets;
  readonly receivers: Receivers;
  readonly system: System;
}

interface SystemPlan extends StoresOptions {
  readonly targets: TargetsOptions;
  readonly receivers: ReceiversOptions;
  readonly env: Readonly<Record<string, string>>;
}

/** Starts durable stores, targets and receivers. No service runs until the caller starts it. */
export async function startSystem({ env, ...plan }: SystemPlan): Promise<StartedSystem> {
  const { teardown } = plan;
  const stores = await Stores.start(plan);
  const targets = await teardown.start(Targets.start(plan.targets), (one) => one.stop());
  const receivers = await teardown.start(Receivers.start(plan.receivers), (one) => one.stop());
  const { folder, databaseUrl, queueUrl } = stores;
  const logs = join(folder, 'logs');
  await mkdir(logs);
  const WEBHOOK_CA_FILE = join(folder, 'receivers-ca.pem');
  await writeFile(WEBHOOK_CA_FILE, receivers.ca);
  const settings = { NODE_ENV: 'production', ...ADMIN_ENV, WEBHOOK_CA_FILE, ...env };
  const opening = System.open({ databaseUrl, queueUrl, folder: logs, env: settings });
  const system = await teardown.start(opening, (one) => one.close());
  return { stores, targets, receivers, system };
}

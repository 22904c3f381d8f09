import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Teardown } from '@tocsin/embedded/program/teardown';
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
export async function startSystem({
  targets,
  receivers,
  env,
  ...options
}: SystemPlan): Promise<StartedSystem> {
  const { teardown } = options;
  const stores = await Stores.start(options);
  const startedTargets = await teardown.start(Targets.start(targets), (one) => one.stop());
  const startedReceivers = await teardown.start(Receivers.start(receivers), (one) => one.stop());
  const system = await openSystem(stores, startedReceivers, env, teardown);
  return { stores, targets: startedTargets, receivers: startedReceivers, system };
}

async function openSystem(
  { folder, databaseUrl, queueUrl }: Stores,
  { ca }: Receivers,
  env: SystemPlan['env'],
  teardown: Teardown,
): Promise<System> {
  const logs = join(folder, 'logs');
  await mkdir(logs);
  const WEBHOOK_CA_FILE = join(folder, 'receivers-ca.pem');
  await writeFile(WEBHOOK_CA_FILE, ca);
  const settings = { NODE_ENV: 'production', ...ADMIN_ENV, WEBHOOK_CA_FILE, ...env };
  const opening = System.open({ databaseUrl, queueUrl, folder: logs, env: settings });
  return teardown.start(opening, (one) => one.close());
}

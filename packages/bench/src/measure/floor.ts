import type { BareClientMessage, BareClientReport } from '../processes/bare-client.ts';
import { HelperProcess } from '../processes/helper-process.ts';
import type { Bench } from '../scenarios/scenario.ts';
import type { Stage } from '../stage.ts';

const MAX_SECONDS = 6;

/** The cost of a bare client, from several measurements. */
export interface Floor {
  /** CPU time of a request that succeeded, µs. */
  readonly cpu: number;
  /** Mean duration of a measurement. */
  readonly seconds: number;
  readonly failures: number;
}

/** Measures a bare client in its own process before and after some work, because the machine may drift. */
export async function withFloor<Result>(
  { teardown, say }: Bench,
  message: BareClientMessage,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly floor: Floor }> {
  const reports: BareClientReport[] = [];
  const measure = async (): Promise<void> => {
    say('Measuring a bare client …');
    const starting = HelperProcess.start<BareClientMessage>('bare-client');
    const client = await teardown.start(starting, (one) => one.stop());
    reports.push(await client.request<BareClientReport>(message));
    await client.stop();
  };
  await measure();
  const result = await work();
  await measure();
  const sum = (name: keyof BareClientReport): number =>
    reports.reduce((total, report) => total + report[name], 0);
  const failures = sum('failures');
  const cpu = (sum('cpuMs') * 1_000) / (sum('requests') - failures);
  return { result, floor: { cpu, seconds: sum('seconds') / reports.length, failures } };
}

/** Bare requests to the target at the rate of a load, for as long as the load or some seconds. */
export function bareChecks(
  { targetUrl, targetCa }: Stage,
  { rate, seconds }: { readonly rate: number; readonly seconds: number },
): BareClientMessage {
  const requests = Math.round(rate * Math.min(MAX_SECONDS, seconds));
  const warmUp = Math.round(requests / 2);
  return { kind: 'check', url: `${targetUrl}/m/0`, ca: targetCa, requests, warmUp, pace: { rate } };
}

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MAX_UINT32 = 2 ** 32 - 1;
/** The offset at which a classic BPF program reads a random number (`SKF_AD_OFF + SKF_AD_RANDOM`). */
const RANDOM_NUMBER = 4_294_963_256;

/** An interface, in a network namespace or on this machine. */
export interface LinkEnd {
  readonly namespace: string | null;
  readonly device: string;
}

/**
 * Loses a share of the IP packets that arrive at an end of a link. It does so on arrival, because a sender learns of a packet that its own
 * queue drops. The queue `netem` does the same, but not every kernel has it.
 */
export async function startPacketLoss(end: LinkEnd, percent: number): Promise<void> {
  await tc(end, 'qdisc', 'add', 'dev', end.device, 'ingress');
  const limit = Math.round((MAX_UINT32 * percent) / 100);
  // Load a random number; above the limit, skip one instruction; drop the packet (TC_ACT_SHOT); continue (TC_ACT_UNSPEC).
  const program = [`32 0 0 ${RANDOM_NUMBER}`, `37 1 0 ${limit}`, '6 0 0 2', `6 0 0 ${MAX_UINT32}`];
  const bytecode = `${program.length},${program.join(',')}`;
  const filter = ['filter', 'add', 'dev', end.device, 'ingress', 'protocol', 'ip'];
  await tc(end, ...filter, 'bpf', 'direct-action', 'bytecode', bytecode);
}

export async function stopPacketLoss(end: LinkEnd): Promise<void> {
  await tc(end, 'qdisc', 'delete', 'dev', end.device, 'ingress');
}

async function tc({ namespace }: LinkEnd, ...args: readonly string[]): Promise<void> {
  await run('tc', [...(namespace === null ? [] : ['-n', namespace]), ...args]);
}

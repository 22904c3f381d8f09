import { z } from 'zod';
import type { DeployedSystem } from './deployed-system.ts';

/**
 * Runs in the container and prints what it finds. Without the restrictions of Compose or the chart, its user could write two of the paths, and
 * its capabilities would be bounded by more than nothing.
 */
const PROBE = `
const { readFileSync, writeFileSync } = require('node:fs');
const status = readFileSync('/proc/1/status', 'utf8');
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)?.[1] ?? '';
let written = '';
for (const path of ['/app/probe', '/var/tmp/probe', '/home/node/probe']) {
  try { writeFileSync(path, ''); written = path; } catch {}
}
console.log(JSON.stringify({
  uid: field('Uid'), capabilities: field('CapBnd'), noNewPrivileges: field('NoNewPrivs'), written, command: readFileSync('/proc/1/cmdline', 'utf8'),
}));
`;
const probeSchema = z.object({
  uid: z.string(),
  capabilities: z.string(),
  noNewPrivileges: z.string(),
  written: z.string(),
  command: z.string(),
});

/**
 * Inspects a running service from inside. An empty result means that it is not root, has no capabilities, cannot write its file system, and
 * receives signals itself.
 */
export async function inspectHardening(system: DeployedSystem, service: string): Promise<string[]> {
  const probe = probeSchema.parse(JSON.parse(await system.exec(service, ['node', '-e', PROBE])));
  return [
    ...(probe.uid === '1000' ? [] : [`${service} runs as user ${probe.uid}`]),
    ...(/^0+$/.test(probe.capabilities) ? [] : [`${service} can get the capabilities ${probe.capabilities}`]),
    ...(probe.noNewPrivileges === '1' ? [] : [`${service} can gain privileges`]),
    ...(probe.written === '' ? [] : [`${service} can write ${probe.written}`]),
    // A shell as PID 1 would not forward signals.
    ...(probe.command.startsWith('node\0') ? [] : [`${service} runs ${probe.command} as PID 1`]),
  ];
}

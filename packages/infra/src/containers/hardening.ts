import { z } from 'zod';
import type { ComposeSystem } from './compose-system.ts';
import type { Engine } from './engine.ts';

/** What a process in the container finds out about itself. */
const PROBE = `
const { readFileSync, writeFileSync } = require('node:fs');
const status = readFileSync('/proc/1/status', 'utf8');
const field = (name) => new RegExp('^' + name + ':\\\\s*(\\\\S+)', 'm').exec(status)?.[1] ?? '';
let written = '';
for (const path of ['/app/probe', '/probe', '/etc/probe']) {
  try { writeFileSync(path, ''); written = path; } catch {}
}
console.log(JSON.stringify({
  uid: field('Uid'), capabilities: field('CapEff'), noNewPrivileges: field('NoNewPrivs'), written, command: readFileSync('/proc/1/cmdline', 'utf8'),
}));
`;
const probeSchema = z.object({
  uid: z.string(),
  capabilities: z.string(),
  noNewPrivileges: z.string(),
  written: z.string(),
  command: z.string(),
});

/** Looks at a running service from inside. An empty result means: not root, no capabilities, nothing writable, Node.js as PID 1. */
export async function inspectHardening(
  engine: Engine,
  system: ComposeSystem,
  service: string,
): Promise<string[]> {
  const container = await system.containerOf(service);
  const output = await engine.docker(['exec', container, 'node', '-e', PROBE]);
  const probe = probeSchema.parse(JSON.parse(output));
  return [
    ...(probe.uid === '1000' ? [] : [`${service} runs as user ${probe.uid}`]),
    ...(/^0+$/.test(probe.capabilities) ? [] : [`${service} has the capabilities ${probe.capabilities}`]),
    ...(probe.noNewPrivileges === '1' ? [] : [`${service} can gain privileges`]),
    ...(probe.written === '' ? [] : [`${service} can write ${probe.written}`]),
    // A shell in between would not pass on signals.
    ...(probe.command.startsWith('node\0') ? [] : [`${service} runs ${probe.command} as PID 1`]),
  ];
}

import type { AgentProbe } from '@tocsin/contracts/agents/protocol';

/** Returns the oldest agent version that this gateway serves, which is the previous minor release. */
export function oldestAgentVersion(gatewayVersion: string): string {
  const [major, minor] = partsOf(gatewayVersion);
  // The last minor release of the previous major one is unknown.
  if (minor === 0) return `${Math.max(0, major - 1)}.0.0`;
  return `${major}.${minor - 1}.0`;
}

/** Reports whether this gateway serves an agent. It serves newer ones too. */
export function isServedAgent(agentVersion: string, gatewayVersion: string): boolean {
  const [major, minor] = partsOf(agentVersion);
  const [oldestMajor, oldestMinor] = partsOf(oldestAgentVersion(gatewayVersion));
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

/** The first release whose agents know every field of a probe. */
const KNOWN_SINCE = { major: 0, minor: 1 };
const FIRST_ASSERTIONS = new Set([
  'statusCode',
  'bodyContains',
  'bodyNotContains',
  'maxLatency',
  'certificateMinDays',
]);

/** Reports whether an agent knows all fields of a probe. An older agent would ignore them, and its result could be false. */
export function understandsProbe(
  agentVersion: string,
  { connection, assertions }: Pick<AgentProbe, 'connection' | 'assertions'>,
): boolean {
  const [major, minor] = partsOf(agentVersion);
  if (major > KNOWN_SINCE.major || minor >= KNOWN_SINCE.minor) return true;
  return connection === undefined && Object.keys(assertions ?? {}).every((key) => FIRST_ASSERTIONS.has(key));
}

/** Returns the major and minor version, or negative numbers for an invalid version. */
function partsOf(version: string): readonly [number, number] {
  const match = /^(\d{1,6})\.(\d{1,6})\.[\w.+-]+$/.exec(version);
  return match === null ? [-1, -1] : [Number(match[1]), Number(match[2])];
}

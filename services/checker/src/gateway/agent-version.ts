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

/** Returns the major and minor version, or negative numbers for an invalid version. */
function partsOf(version: string): readonly [number, number] {
  const match = /^(\d{1,6})\.(\d{1,6})\.[\w.+-]+$/.exec(version);
  return match === null ? [-1, -1] : [Number(match[1]), Number(match[2])];
}

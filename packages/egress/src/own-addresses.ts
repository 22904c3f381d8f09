import os from 'node:os';

/** Interfaces come and go, but asking the system for each connection would cost more than the connection's own checks. */
const KEEP_MS = 10_000;

/** The addresses of this machine, and ranges of them (`8.8.4.0/24`); the same array for as long as they are the same. */
export type OwnAddresses = () => readonly string[];

/** Those of its network interfaces, read again at most every 10 s. @param nowMs a clock that never goes back */
export function createOwnAddresses(
  interfaces: () => ReturnType<typeof os.networkInterfaces> = os.networkInterfaces,
  nowMs: () => number = () => performance.now(),
): OwnAddresses {
  let addresses: readonly string[] | null = null;
  let readAt = Number.NEGATIVE_INFINITY;
  const read = (): readonly string[] => {
    try {
      return Object.values(interfaces()).flatMap((all) => (all ?? []).map(ownRange));
    } catch (error) {
      // Such as a process without free file descriptors. What was read before still holds; without it, nothing may be reached.
      if (addresses === null) throw error;
      return addresses;
    }
  };
  return () => {
    if (addresses === null || nowMs() - readAt >= KEEP_MS) {
      addresses = read();
      readAt = nowMs();
    }
    return addresses;
  };
}

/** On a loopback interface Linux takes the whole range of an IPv4 address for the machine's own. */
function ownRange({ address, cidr, family, internal }: os.NetworkInterfaceInfo): string {
  return internal && family === 'IPv4' ? (cidr ?? address) : address;
}

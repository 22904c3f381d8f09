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
  let addresses: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (nowMs() - readAt >= KEEP_MS) {
      readAt = nowMs();
      addresses = Object.values(interfaces()).flatMap((all) => (all ?? []).map(ownRange));
    }
    return addresses;
  };
}

/** On a loopback interface Linux takes the whole range of an IPv4 address for the machine's own. */
function ownRange({ address, cidr, family, internal }: os.NetworkInterfaceInfo): string {
  return internal && family === 'IPv4' ? (cidr ?? address) : address;
}

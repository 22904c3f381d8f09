import { readFile } from 'node:fs/promises';

/** TCP states of a connection that its process has not closed: ESTABLISHED, and CLOSE_WAIT, where the peer has closed its side. */
const OPEN_STATES = new Set(['01', '08']);

/** How many connections to a port its process has accepted and not closed. One that is not accepted yet has inode 0 (proc(5)). */
export async function acceptedConnections(port: number): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = tables.join('\n').split('\n');
  return rows.filter((row) => {
    const [, address = '', , state = '', , , , , , inode] = row.trim().split(/\s+/);
    return address.endsWith(local) && OPEN_STATES.has(state) && inode !== '0';
  }).length;
}

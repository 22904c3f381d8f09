import { readFile } from 'node:fs/promises';

/** Connections to a port that its process has accepted and not closed: those that still wait for it have no inode (proc(5)). */
export async function acceptedConnections(port: number): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8')));
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = tables.join('\n').split('\n');
  return rows.filter((row) => {
    const [, address = '', , state, , , , , , inode] = row.trim().split(/\s+/);
    return address.endsWith(local) && state === '01' && inode !== '0';
  }).length;
}

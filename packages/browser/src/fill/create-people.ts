import { acceptInvitation, type DashboardClient } from '../system/dashboard-client.ts';
import type { DashboardSystem } from '../system/dashboard-system.ts';

interface Invitation {
  readonly token: string;
}

/** A member beside the owner, two open invitations, and two keys of which one was used. */
export async function createPeople({ api }: DashboardSystem, owner: DashboardClient): Promise<void> {
  const invite = (role: string, email?: string): Promise<Invitation> =>
    owner.request<Invitation>('POST', '/invitations', { role, ...(email && { email }) });
  const { token } = await invite('member', 'grace@example.com');
  await acceptInvitation(api.port, token, {
    name: 'Grace Hopper',
    email: 'grace@example.com',
    password: 'nanoseconds matter',
  });
  await invite('owner', 'katherine@example.com');
  await invite('member');

  const { key } = await owner.request<{ key: string }>('POST', '/api-keys', { name: 'terraform production' });
  await owner.request('POST', '/api-keys', {
    name: 'CI of the shop',
    expiresAt: new Date(Date.now() + 90 * 86_400_000).toISOString(),
  });
  const used = await fetch(`http://127.0.0.1:${api.port}/api/cli/monitors`, {
    headers: { Authorization: `Bearer ${key}` },
  });
  if (!used.ok) throw new Error(`a new key is refused: ${used.status}`);
  await used.body?.cancel();
}

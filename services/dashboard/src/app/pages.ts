import {
  IconActivityHeartbeat,
  IconBook,
  IconCalendarPause,
  IconFlame,
  IconKey,
  IconMapPin,
  IconUsers,
  IconWebhook,
} from '@tabler/icons-react';

/** The pages of the navigation, in its order. */
export const PAGES = [
  { to: '/', label: 'Monitors', icon: IconActivityHeartbeat, ownersOnly: false },
  { to: '/incidents', label: 'Incidents', icon: IconFlame, ownersOnly: false },
  { to: '/maintenance', label: 'Maintenance', icon: IconCalendarPause, ownersOnly: false },
  { to: '/channels', label: 'Channels', icon: IconWebhook, ownersOnly: false },
  { to: '/regions', label: 'Regions', icon: IconMapPin, ownersOnly: false },
  { to: '/api-keys', label: 'API keys', icon: IconKey, ownersOnly: false },
  { to: '/people', label: 'People', icon: IconUsers, ownersOnly: true },
  { to: '/docs', label: 'API reference', icon: IconBook, ownersOnly: false },
] as const;

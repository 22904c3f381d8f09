/** From one sign of life of a live stream to the next (design §3 "Dashboard API"). In a file of its own: every page of the dashboard loads it. */
export const STREAM_HEARTBEAT_SECONDS = 15;

/** The id of the extra job that checks a new monitor at once; `slot` is epoch milliseconds. Job ids hold no `:`. */
export function firstCheckJobId(monitorId: string, slot: number): string {
  return `first-${monitorId}-${slot}`;
}

/**
 * The planned time of a check, epoch milliseconds, from the id of its job: `repeat:<scheduler>:<millis>` as the job
 * scheduler makes it, or a first check's. Null for any other id.
 */
export function slotOfJob(jobId: string): number | null {
  const match = /^(?:repeat:.+:|first-.+-)(\d{1,15})$/.exec(jobId);
  return match ? Number(match[1]) : null;
}

/** Whether a job's slot is one of the schedule, so that it is missed where no check comes of it: a first check is an extra. */
export function isPlannedSlot(jobId: string): boolean {
  return jobId.startsWith('repeat:');
}

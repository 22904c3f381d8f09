import { untilSeen } from './until-seen.ts';

/**
 * Answers that only mean that the machine is busy: 503 where adding the job took over 2 s, 504 where no checker started the
 * check within 5 s.
 */
const BUSY = new Set([503, 504]);

/**
 * Sends a trigger until it is answered with its event.
 * @param send must return a new answer each time
 * @throws Error at once if the answer is anything but the event, 503 or 504
 */
export async function untilTriggered<Answer extends { readonly status: number }>(
  send: () => Promise<Answer>,
): Promise<Answer> {
  return untilSeen('a triggered check', async () => {
    const answer = await send();
    if (answer.status === 200) return answer;
    if (BUSY.has(answer.status)) return null;
    const body = answer instanceof Response ? await answer.text() : JSON.stringify(answer);
    throw new Error(`The trigger was answered with ${answer.status}: ${body}`);
  });
}

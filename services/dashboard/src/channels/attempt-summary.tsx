import { Group, Stack, Text } from '@mantine/core';
import type { Attempt } from '@tocsin/contracts/channel-delivery';
import type { ReactNode } from 'react';
import { AnswerExcerpt } from './answer-excerpt.tsx';

/** What one attempt came to. */
export function AttemptSummary({
  attempt,
  children,
}: {
  readonly attempt: Attempt;
  /** What stands before it, as the outcome in a word. */
  readonly children: ReactNode;
}): ReactNode {
  const { statusCode, durationMs, error, responseExcerpt } = attempt;
  return (
    <Stack gap={6}>
      <Group gap="md">
        {children}
        <Text size="sm" className="tabular">
          {statusCode === null ? 'No answer' : `Answered ${statusCode}`} · {durationMs} ms
        </Text>
      </Group>
      {error !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {error}
        </Text>
      )}
      <AnswerExcerpt text={responseExcerpt} />
    </Stack>
  );
}

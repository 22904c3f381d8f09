import { Button, Group, TextInput } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { formatDuration, parseDuration } from './duration.ts';

const CHOICES = [30, 60, 120, 240, 480].map((minutes) => minutes * 60_000);

interface DurationInputProps {
  /** Null or not positive: not known. */
  readonly valueMs: number | null;
  readonly onChange: (lengthMs: number) => void;
}

/** How long a window lasts: typed, or one of the usual. */
export function DurationInput({ valueMs, onChange }: DurationInputProps): ReactNode {
  /** What is being typed; null: nothing. */
  const [typed, setTyped] = useState<string | null>(null);
  const shown = valueMs !== null && valueMs > 0 ? formatDuration(valueMs) : '';
  return (
    <div>
      <TextInput
        label="Lasts"
        description="As 90 min, 2 h or 1 d 4 h: it sets the end."
        value={typed ?? shown}
        onChange={(event) => {
          const text = event.currentTarget.value;
          setTyped(text);
          const lengthMs = parseDuration(text);
          if (lengthMs !== null) onChange(lengthMs);
        }}
        onBlur={() => setTyped(null)}
        error={
          typed !== null && typed !== '' && parseDuration(typed) === null && 'Such as 90 min, 2 h or 1 d'
        }
        autoComplete="off"
      />
      <Group gap={4} mt={6}>
        {CHOICES.map((choice) => (
          <Button
            key={choice}
            size="compact-xs"
            variant={choice === valueMs ? 'light' : 'default'}
            aria-pressed={choice === valueMs}
            onClick={() => onChange(choice)}
          >
            {formatDuration(choice)}
          </Button>
        ))}
      </Group>
    </div>
  );
}

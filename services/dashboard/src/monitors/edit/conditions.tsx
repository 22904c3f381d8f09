import { ActionIcon, Button, Group, Input, NativeSelect, TextInput } from '@mantine/core';
import { randomId } from '@mantine/hooks';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import { Quiet } from '../../components/text.tsx';
import {
  type ConditionRow,
  hasValue,
  type RowTest,
  TEST_LABELS,
  testText,
} from '../fields/condition-rows.ts';
import classes from './controls.module.css';
import rowClasses from '../../components/rows.module.css';
import type { MonitorForm } from './form-values.ts';

const TESTS: Readonly<Record<'headers' | 'json', readonly RowTest[]>> = {
  headers: ['equals', 'contains', 'matches', 'exists', 'missing'],
  json: ['equals', 'contains', 'matches', 'lessThan', 'greaterThan', 'exists', 'missing'],
};
const SUBJECTS = { headers: 'Content-Type', json: '$.status' } as const;
const NOUNS = { headers: 'header condition', json: 'JSON condition' } as const;

interface ConditionsProps {
  readonly form: MonitorForm;
  readonly kind: 'headers' | 'json';
  readonly label: string;
  readonly description: ReactNode;
  readonly error: ReactNode;
}

export function Conditions({ form, kind, label, description, error }: ConditionsProps): ReactNode {
  const path = `assertions.${kind}` as const;
  const rows = form.values.assertions[kind];
  const add = (): void =>
    form.insertListItem(path, { key: randomId(), subject: '', test: 'equals', value: '', others: {} });
  return (
    <fieldset className={rowClasses['rows']}>
      <Input.Label component="legend">{label}</Input.Label>
      <Input.Description>{description}</Input.Description>
      {rows.map((row, index) => (
        <Row key={row.key} form={form} kind={kind} row={row} index={index} />
      ))}
      {error !== undefined && <Input.Error role="alert">{error}</Input.Error>}
      <Group mt={rows.length > 0 ? 'xs' : 4}>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          disabled={rows.length >= LIMITS.conditionCount}
          onClick={add}
        >
          Add {NOUNS[kind]}
        </Button>
      </Group>
    </fieldset>
  );
}

interface RowProps extends Pick<ConditionsProps, 'form' | 'kind'> {
  readonly row: ConditionRow;
  readonly index: number;
}

function Row({ form, kind, row, index }: RowProps): ReactNode {
  const path = `assertions.${kind}.${index}` as const;
  const name = `${NOUNS[kind]} ${index + 1}`;
  return (
    <div className={classes['condition']}>
      <TextInput
        aria-label={kind === 'headers' ? `Header of ${name}` : `Path of ${name}`}
        placeholder={SUBJECTS[kind]}
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps(`${path}.subject`)}
      />
      <NativeSelect
        aria-label={`Test of ${name}`}
        data={TESTS[kind].map((value) => ({ value, label: TEST_LABELS[value] }))}
        {...form.getInputProps(`${path}.test`)}
      />
      {hasValue(row.test) ? (
        <TextInput
          aria-label={`Value of ${name}`}
          placeholder="Value"
          autoComplete="off"
          spellCheck={false}
          {...form.getInputProps(`${path}.value`)}
        />
      ) : (
        <span />
      )}
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Remove ${name}`}
        onClick={() => form.removeListItem(`assertions.${kind}`, index)}
      >
        <IconTrash size={16} aria-hidden />
      </ActionIcon>
      {Object.entries(row.others).map(([test, value]) => (
        <Quiet key={test}>and {testText(test as keyof ConditionRow['others'], value)}</Quiet>
      ))}
    </div>
  );
}

import { ActionIcon, Button, Group, Input, PasswordInput, TextInput } from '@mantine/core';
import { randomId } from '@mantine/hooks';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { LIMITS } from '@tocsin/contracts/limits';
import type { ReactNode } from 'react';
import type { ApiForm } from './form.ts';
import type { HeaderRow } from './header-rows.ts';
import classes from './rows.module.css';

type AnyForm = ApiForm<Record<string, unknown>>;

/** Any form with headers. The list uses no other part of it. */
export interface HeaderForm extends Pick<AnyForm, 'errors'> {
  readonly values: { readonly headers: readonly HeaderRow[] };
  getInputProps(path: string): ReturnType<AnyForm['getInputProps']>;
  setFieldValue(path: string, value: string): void;
  validateField(path: string): unknown;
  insertListItem(path: 'headers', row: HeaderRow): void;
  removeListItem(path: 'headers', index: number): void;
}

interface HeaderListProps {
  readonly form: HeaderForm;
  readonly label: string;
  readonly description?: string;
  readonly error: ReactNode;
}

/** Edits request headers. */
export function HeaderList({ form, label, description, error }: HeaderListProps): ReactNode {
  const { headers } = form.values;
  return (
    <fieldset className={classes['rows']}>
      <Input.Label component="legend">{label}</Input.Label>
      {description !== undefined && <Input.Description>{description}</Input.Description>}
      {headers.map(({ key }, index) => (
        <HeaderRow key={key} form={form} index={index} />
      ))}
      {error !== undefined && <Input.Error role="alert">{error}</Input.Error>}
      <Group mt={headers.length > 0 ? 'xs' : 4}>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          disabled={headers.length >= LIMITS.headerCount}
          onClick={() => form.insertListItem('headers', { key: randomId(), name: '', value: '' })}
        >
          Add header
        </Button>
      </Group>
    </fieldset>
  );
}

function HeaderRow({ form, index }: { readonly form: HeaderForm; readonly index: number }): ReactNode {
  const number = index + 1;
  // Duplicates depend on the other rows.
  const revalidateNames = (): void => {
    for (const path of Object.keys(form.errors))
      if (/^headers\.\d+\.name$/.test(path)) form.validateField(path);
  };
  return (
    <div className={classes['row']}>
      <TextInput
        aria-label={`Name of header ${number}`}
        placeholder="Authorization"
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps(`headers.${index}.name`)}
        onChange={(event) => {
          form.setFieldValue(`headers.${index}.name`, event.currentTarget.value);
          revalidateNames();
        }}
      />
      {/* Hidden, because most values are secrets. */}
      <PasswordInput
        aria-label={`Value of header ${number}`}
        placeholder="Value"
        autoComplete="new-password"
        spellCheck={false}
        visibilityToggleFocusable
        visibilityToggleButtonProps={{ 'aria-label': `Show the value of header ${number}` }}
        {...form.getInputProps(`headers.${index}.value`)}
      />
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        aria-label={`Remove header ${number}`}
        onClick={() => form.removeListItem('headers', index)}
      >
        <IconTrash size={16} aria-hidden />
      </ActionIcon>
    </div>
  );
}

import {
  ActionIcon,
  Button,
  Group,
  Input,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { randomId } from '@mantine/hooks';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { LIMITS } from '@tocsin/contracts/limits';
import { HTTP_METHODS, METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import type { ReactNode } from 'react';
import { Panel } from '../../components/page.tsx';
import classes from './monitor-form.module.css';
import type { MonitorForm } from './use-monitor-form.ts';

/** What is asked for. */
export function WhatSection({ form }: { readonly form: MonitorForm }): ReactNode {
  const { method } = form.values;
  return (
    <Panel title="What">
      <Stack>
        <TextInput
          label="Name"
          placeholder="Shop, checkout"
          autoComplete="off"
          required
          {...form.getInputProps('name')}
        />
        <TextInput
          label="URL"
          type="url"
          inputMode="url"
          placeholder="https://shop.example.com/health"
          autoComplete="off"
          required
          {...form.getInputProps('url')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput label="Type" value="HTTP" readOnly description="The only type there is." />
          <NativeSelect
            label="Method"
            description="HEAD asks for no body."
            data={[...HTTP_METHODS]}
            {...form.getInputProps('method')}
            onChange={({ currentTarget }) => {
              const chosen = HTTP_METHODS.find((one) => one === currentTarget.value);
              if (chosen === undefined) return;
              form.setFieldValue('method', chosen);
              // Whether these may be used hangs on the method.
              form.validateField('assertions.bodyContains');
              form.validateField('assertions.bodyNotContains');
            }}
          />
        </SimpleGrid>
        <HeaderRows form={form} />
        {METHODS_WITH_BODY.has(method) && (
          <Textarea
            label="Body"
            description="Sent as it is. Say what it is in a Content-Type header."
            autosize
            minRows={3}
            maxRows={14}
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            {...form.getInputProps('body')}
          />
        )}
      </Stack>
    </Panel>
  );
}

/** Names and values of the request's headers; values are hidden, as most are secrets. */
export function HeaderRows({ form }: { readonly form: MonitorForm }): ReactNode {
  const { headers } = form.values;
  const problem = form.errors['headers'];
  return (
    <fieldset className={classes['rows']}>
      <Input.Label component="legend">Headers</Input.Label>
      {headers.map(({ key }, index) => (
        <HeaderRow key={key} form={form} index={index} />
      ))}
      {problem !== undefined && <Input.Error role="alert">{problem}</Input.Error>}
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

function HeaderRow({ form, index }: { readonly form: MonitorForm; readonly index: number }): ReactNode {
  const number = index + 1;
  const name = form.getInputProps(`headers.${index}.name`);
  // Whether a name is given twice hangs on the other rows too.
  const judgeNames = (): void => {
    for (const path of Object.keys(form.errors))
      if (/^headers\.\d+\.name$/.test(path)) form.validateField(path as `headers.${number}.name`);
  };
  return (
    <div className={classes['row']}>
      <TextInput
        aria-label={`Name of header ${number}`}
        placeholder="Authorization"
        autoComplete="off"
        spellCheck={false}
        {...name}
        onChange={(event) => {
          form.setFieldValue(`headers.${index}.name`, event.currentTarget.value);
          judgeNames();
        }}
      />
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

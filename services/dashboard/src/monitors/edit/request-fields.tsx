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
import type { MonitorForm } from './form-values.ts';
import classes from './header-rows.module.css';

export function RequestFields({ form }: { readonly form: MonitorForm }): ReactNode {
  return (
    <Panel title="Request">
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
          <TextInput label="Type" value="HTTP" readOnly description="The only type of monitor." />
          <NativeSelect
            label="Method"
            description="HEAD requests no response body."
            data={[...HTTP_METHODS]}
            {...form.getInputProps('method')}
            onChange={({ currentTarget }) => {
              const method = HTTP_METHODS.find((one) => one === currentTarget.value);
              if (method === undefined) return;
              form.setFieldValue('method', method);
              // HEAD allows no assertion about the body.
              form.validateField('assertions.bodyContains');
              form.validateField('assertions.bodyNotContains');
            }}
          />
        </SimpleGrid>
        <HeaderRows form={form} />
        {METHODS_WITH_BODY.has(form.values.method) && (
          <Textarea
            label="Body"
            description="Sent unchanged. Set its type in a Content-Type header."
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

function HeaderRows({ form }: { readonly form: MonitorForm }): ReactNode {
  const { headers } = form.values;
  const error = form.errors['headers'];
  return (
    <fieldset className={classes['rows']}>
      <Input.Label component="legend">Headers</Input.Label>
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

function HeaderRow({ form, index }: { readonly form: MonitorForm; readonly index: number }): ReactNode {
  const number = index + 1;
  // Whether a name is a duplicate depends on the other rows.
  const revalidateNames = (): void => {
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

import { HTTP_METHODS, METHODS_WITH_BODY } from '@tocsin/contracts/vocabulary';
import { NativeSelect, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { Panel } from '../../components/panel.tsx';
import { HeaderRows } from './header-rows.tsx';
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

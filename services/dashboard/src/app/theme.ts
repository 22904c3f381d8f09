import { createTheme, type CSSVariablesResolver } from '@mantine/core';

/** Red, green, amber and violet are reserved for statuses. */
export const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: 9,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  components: {
    Alert: { defaultProps: { variant: 'light' } },
    TextInput: { defaultProps: { autoComplete: 'off' } },
    Modal: { defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Replaces colors of the library that have too little contrast: quiet text, errors, placeholders and hovered buttons. */
export const cssVariables: CSSVariablesResolver = () => {
  const both = {
    '--mantine-color-dimmed': 'var(--text-quiet)',
    '--mantine-color-error': 'var(--status-down)',
    '--mantine-color-cyan-filled-hover': '#08616f',
  };
  return {
    variables: {},
    light: { ...both, '--mantine-color-placeholder': '#6f757c' },
    dark: { ...both, '--mantine-color-placeholder': '#96989d' },
  };
};

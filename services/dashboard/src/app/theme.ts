import { createTheme, type CSSVariablesResolver } from '@mantine/core';

/** One calm accent; red, green, amber and violet are kept for statuses. */
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
    Modal: { defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/**
 * Colours of the library that could not be read: quiet text has ours, what stands in empty fields is a little quieter, and a button under the
 * pointer darker instead of paler.
 */
export const cssVariables: CSSVariablesResolver = () => {
  const both = {
    '--mantine-color-dimmed': 'var(--text-quiet)',
    '--mantine-color-cyan-filled-hover': '#08616f',
  };
  return {
    variables: {},
    light: { ...both, '--mantine-color-placeholder': '#6f757c' },
    dark: { ...both, '--mantine-color-placeholder': '#96989d' },
  };
};

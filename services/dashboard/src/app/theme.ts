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
    Modal: { defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Quiet text of the library in the colour of ours, which can be read, and what stands in empty fields a little quieter. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { '--mantine-color-dimmed': 'var(--text-quiet)', '--mantine-color-placeholder': '#6f757c' },
  dark: { '--mantine-color-dimmed': 'var(--text-quiet)', '--mantine-color-placeholder': '#96989d' },
});

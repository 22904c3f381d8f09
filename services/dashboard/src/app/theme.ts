import { createTheme, type CSSVariablesResolver } from '@mantine/core';

/** Red, green, amber and violet are reserved for statuses. */
export const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: 9,
  fontFamily: "'Inter Variable', 'Inter Fallback', system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  // Body, emphasis and headings.
  fontWeights: { regular: '400', medium: '500', bold: '600' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.75rem', lineHeight: '1.25' },
      h2: { fontSize: '1.375rem', lineHeight: '1.3' },
      h3: { fontSize: '1.125rem', lineHeight: '1.35' },
      h4: { fontSize: '1rem', lineHeight: '1.4' },
      h5: { fontSize: '0.9375rem', lineHeight: '1.4' },
      h6: { fontSize: '0.8125rem', lineHeight: '1.4' },
    },
  },
  // Only these distances are used: 4, 8, 12, 16, 24 and 32 pixels.
  spacing: { '2xs': '0.25rem', xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  radius: { xs: '0.125rem', sm: '0.25rem', md: '0.375rem', lg: '0.625rem', xl: '2rem' },
  defaultRadius: 'md',
  colors: {
    // Cool grays for text, quiet text, placeholders, lines, and four surfaces from highest to lowest.
    dark: [
      '#d9dce1',
      '#b6bbc4',
      '#a0a6b0',
      '#6d7480',
      '#343941',
      '#2a2f36',
      '#22262c',
      '#1a1d22',
      '#131519',
      '#0d0f12',
    ],
  },
  cursorType: 'pointer',
  components: {
    Alert: { defaultProps: { variant: 'light' } },
    Badge: { defaultProps: { tt: 'none' } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    Paper: { defaultProps: { radius: 'lg' } },
    TextInput: { defaultProps: { autoComplete: 'off' } },
    Modal: {
      defaultProps: { centered: true, radius: 'lg', closeButtonProps: { 'aria-label': 'Close' } },
    },
    // A dialog's header must not be a banner landmark.
    ModalHeader: { defaultProps: { role: 'presentation' } },
    DrawerHeader: { defaultProps: { role: 'presentation' } },
    Drawer: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
  },
});

/** Replaces library colors that have too little contrast. */
export const cssVariables: CSSVariablesResolver = () => {
  const both = {
    '--mantine-color-dimmed': 'var(--text-quiet)',
    '--mantine-color-error': 'var(--status-down)',
    '--mantine-color-cyan-filled-hover': '#08616f',
  };
  return {
    variables: {},
    light: {
      ...both,
      '--mantine-color-placeholder': '#6f757c',
      '--mantine-color-cyan-light': 'var(--mantine-color-cyan-0)',
      '--mantine-color-cyan-light-hover': 'var(--mantine-color-cyan-1)',
    },
    dark: { ...both, '--mantine-color-placeholder': '#989ea8' },
  };
};

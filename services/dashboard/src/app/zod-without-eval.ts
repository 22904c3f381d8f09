import { config } from 'zod/v4';

// The Content-Security-Policy forbids `eval`, which zod uses to compile schemas.
config({ jitless: true });

// vite.config.ts replaces `zod` with this module, so that the setting applies before any schema is created.
export * from 'zod/v4';

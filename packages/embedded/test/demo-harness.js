/* `npm run demo` without installing and building. `src/demo/main.slow.test.ts` runs it. */
import { main } from '../dist/demo/main.js';

await main([]);

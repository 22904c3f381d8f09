/* `npm start` without installing and building; run by `src/start/main.test.ts` and `src/start/start.test.ts`. */
import { main } from '../dist/start/main.js';

await main([]);

import { config } from 'zod';

// As in zod.ts.
config({ jitless: true });

export { z } from 'zod';

import { installed } from './workspace.ts';

await installed();

/// For Workbox's `importScripts`: puts localtext into a service worker that another tool writes.
import { addLocaltext } from '../src/service-worker/index.ts';

addLocaltext();

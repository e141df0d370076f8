/// For Workbox's `importScripts`: puts localtext into a service worker that another tool writes.
import { addLocaltext } from '#service-worker';

addLocaltext();

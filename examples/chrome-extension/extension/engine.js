import { createFetch } from './localtext/localtext.js';
import { options } from './options.js';

// Joins before the panel does, so that the engine runs in this page and stays loaded while the panel is closed.
// Nothing is loaded before the first request. To free the memory: chrome.offscreen.closeDocument().
createFetch(options);

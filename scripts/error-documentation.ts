import type { ErrorCode } from '../src/base/errors/error-codes.ts';

/** Documentation of every error code, for `node scripts/errors.mjs`. */
interface ErrorDocumentation {
  /** The HTTP status of `/v1`, or null if only the page library rejects with the code. */
  status: number | null;
  when: string;
  remedy: string;
}

type Documentation = Partial<Record<ErrorCode, ErrorDocumentation>>;

const request = {
  invalid_type: {
    status: 400,
    when: 'A field has a value of the wrong type.',
    remedy: 'Send the type that the message names.',
  },
  invalid_value: {
    status: 400,
    when: 'A field has a value that is not allowed, or is too long.',
    remedy: 'Send one of the values, or keep the limit, that the message names.',
  },
  missing_required_parameter: {
    status: 400,
    when: 'A required field is missing.',
    remedy: 'Add the field that `param` names.',
  },
  invalid_parameter_combination: {
    status: 400,
    when: 'Two fields contradict each other, or one requires another.',
    remedy: 'Change or leave out the field that `param` names.',
  },
  unsupported_value: {
    status: 400,
    when: "OpenAI's service supports the parameter or value, but localtext or the chosen model does not.",
    remedy: 'Leave the parameter out, or use another model. `docs/compatibility.md` lists every parameter.',
  },
  invalid_json_schema: {
    status: 400,
    when: 'A JSON schema of `response_format` or `tools` is invalid, or cannot be enforced.',
    remedy: 'Simplify the schema as the message says.',
  },
  context_length_exceeded: {
    status: 400,
    when: "The prompt does not fit into the model's context.",
    remedy:
      'Shorten the prompt, set `truncation` to "auto" (/v1/responses), or use a model with a longer context.',
  },
  previous_response_not_found: {
    status: 400,
    when: '`previous_response_id` names no stored response.',
    remedy: 'Send the whole conversation as `input`.',
  },
  upstream_refused: {
    status: 401,
    when: 'The upstream server refused the key that the site configured. The status is 401 or 403.',
    remedy: 'Put a valid key into `upstreamKeys`.',
  },
  invalid_api_key: {
    status: 401,
    when: 'The API key is missing, malformed, unknown, expired or revoked.',
    remedy: 'Send `Authorization: Bearer <key>` with a key from `keys.ensure()` or `keys.issue()`.',
  },
  model_not_found: {
    status: 404,
    when: 'No model has this id, or the key is not allowed to use it.',
    remedy: 'Use an id that `GET /v1/models` lists.',
  },
  rate_limit_exceeded: {
    status: 429,
    when: "A limit of the key is used up, the model's queue is full, or the upstream server limits the rate.",
    remedy: "Wait for the time in `retry-after`. OpenAI's SDKs do so by themselves.",
  },
} satisfies Documentation;

const engine = {
  internal_error: {
    status: 500,
    when: 'The service failed unexpectedly.',
    remedy: 'Try again. If it fails again, reload the page and report a bug.',
  },
  model_not_ready: {
    status: 500,
    when: 'An answer that is not streamed did not begin in time: the model was loading, or other requests came first.',
    remedy: 'Load the model first with `ready()`, or send `"stream": true`.',
  },
  model_unavailable: {
    status: 500,
    when: 'This device can run no variant of the model, or the model is of another kind (chat, embeddings).',
    remedy: 'Use another model. `status().models[].reasons` explains why each variant was skipped.',
  },
  model_load_failed: {
    status: 500,
    when: 'The engine could not load the model or its own files.',
    remedy:
      'Check that the files of the `wasm` folder are deployed, close other tabs, or use a smaller model.',
  },
  build_replaced: {
    status: 500,
    when: "A file of the tab's build is no longer on the server because the site has a new build, or a script of the page library could not be fetched.",
    remedy:
      'Check the connection, call `update()`, then reload the tabs of the site. In the page that runs the engine, `status().buildReplaced` is then true.',
  },
  out_of_memory: {
    status: 500,
    when: 'The device has too little memory for the model.',
    remedy: 'Close other tabs, or use a smaller model.',
  },
  device_unsupported: {
    status: 500,
    when: 'The browser or GPU lacks a feature that the variant requires.',
    remedy: 'Update the browser, or use another model.',
  },
  device_lost: {
    status: 500,
    when: 'The GPU was lost while it computed, often because its memory ran out.',
    remedy: 'Try again: the next request loads the model again.',
  },
  engine_failed: {
    status: 500,
    when: 'The engine failed on this request.',
    remedy: "Try again with a shorter prompt. The page's console has the details.",
  },
  engine_crashed: {
    status: 500,
    when: 'The engine stopped while it ran this request.',
    remedy: 'Try again: the next request loads the model again.',
  },
  engine_lost: {
    status: 500,
    when: 'The engine stopped in the middle of a reply that cannot be continued.',
    remedy: 'Send the request again.',
  },
  engine_unavailable: {
    status: 500,
    when: 'No tab of the site offered an engine within 60 s.',
    remedy: 'Open a tab that calls `start()` and keep it open.',
  },
  engine_worker_failed: {
    status: 500,
    when: "The engine's worker could not be started.",
    remedy: "Read the console of the site's first tab, fix the cause, and reload that tab.",
  },
  worker_blocked: {
    status: 500,
    when: "The site's Content-Security-Policy blocks a worker.",
    remedy: 'Allow it as `docs/decisions/security.md` shows.',
  },
  protocol_mismatch: {
    status: 500,
    when: 'Tabs, service worker and engine run different versions of localtext.',
    remedy: 'Reload every tab of the site.',
  },
} satisfies Documentation;

const upstream = {
  upstream_unavailable: {
    status: 500,
    when: 'The upstream server cannot be reached, does not answer in time, or does not allow the origin (CORS).',
    remedy: 'Start the server, and make it send the CORS headers that the message names.',
  },
  upstream_failed: {
    status: 500,
    when: 'The upstream server answered with an error or an invalid reply.',
    remedy: "Check the server's log, and `model` and `baseUrl` in the catalog.",
  },
  upstream_redirected: {
    status: 500,
    when: 'The upstream server redirects to another address. Redirects are not followed.',
    remedy: 'Put the final address into `baseUrl` in the catalog.',
  },
} satisfies Documentation;

const storage = {
  storage_full: {
    status: 500,
    when: "The browser's storage for this site is full.",
    remedy: 'Delete a stored model with `weights.delete()`, or free space on the device.',
  },
  storage_failed: {
    status: 500,
    when: 'The browser reports an error when it opens a stored file, or does not answer.',
    remedy: 'Close other tabs of the site and try again. If it fails again, clear the data of the site.',
  },
  storage_unavailable: {
    status: 500,
    when: 'The browser refuses IndexedDB to this page, or does not open it within 10 s. Sandboxed pages have no IndexedDB.',
    remedy: 'Allow cookies and site data for this site, close dialogs in its other tabs, and reload.',
  },
  weights_unavailable: {
    status: 500,
    when: 'A weight file is missing, or its download failed several times.',
    remedy: "Put the model's files into the `models` folder, check `modelsUrl`, or check the connection.",
  },
  weights_corrupt: {
    status: 500,
    when: 'A weight file does not match its hash, or its content is invalid.',
    remedy: 'Deploy the right file, or correct the catalog.',
  },
  download_cancelled: {
    status: 500,
    when: '`weights.cancel()` ended the download that the request waited for.',
    remedy: 'Send the request again to restart the download.',
  },
} satisfies Documentation;

const page = {
  insecure_context: {
    status: null,
    when: 'The page is not in a secure context.',
    remedy: 'Serve it over https, or from localhost.',
  },
  browser_unsupported: {
    status: null,
    when: 'The browser lacks an API that localtext requires, or the code runs on a server.',
    remedy: 'Update the browser (`docs/browsers.md` lists the versions), or call the function in the page.',
  },
  cache_unavailable: {
    status: null,
    when: 'The browser offers no Cache API to this page.',
    remedy: 'Allow site data, or use `createFetch()`.',
  },
  service_worker_unavailable: {
    status: null,
    when: 'The browser offers no service workers to this page, for example in a private window.',
    remedy: 'Use `createFetch()`.',
  },
  service_worker_blocked: {
    status: null,
    when: 'The browser does not let the page register a service worker.',
    remedy: 'Allow site data, place the script so that its folder contains the page, or use `createFetch()`.',
  },
  service_worker_not_found: {
    status: null,
    when: "There is no file at the service worker's URL.",
    remedy: 'Deploy `localtext-sw.js`, or pass its URL: `start({ serviceWorker: { url } })`.',
  },
  service_worker_mime_type: {
    status: null,
    when: 'The service worker is not served as JavaScript.',
    remedy: 'Deploy the file, and serve it as `text/javascript`.',
  },
  service_worker_failed: {
    status: null,
    when: 'The service worker could not be registered or installed, or does not answer.',
    remedy: "Read the service worker's console. Reload the page.",
  },
  service_worker_foreign: {
    status: null,
    when: 'Another service worker is registered for the scope.',
    remedy:
      'Add localtext to it (`docs/service-worker.md`) and pass its registration. Unregister it if the site no longer uses it.',
  },
  service_worker_no_control: {
    status: null,
    when: 'The service worker does not control the page.',
    remedy: 'Reload the page, and check that it lies within the scope of the service worker.',
  },
  requests_running: {
    status: null,
    when: 'A new version of the service worker cannot take over while requests run.',
    remedy: 'Call `update()`, which waits until no request runs.',
  },
  weights_missing: {
    status: null,
    when: 'A model cannot be exported because some of its files are not stored.',
    remedy: 'Load the model, then export it.',
  },
  weights_in_use: {
    status: null,
    when: 'A model cannot be deleted while it loads or answers requests.',
    remedy: 'End its requests, or cancel its download, and try again.',
  },
  weights_conflict: {
    status: null,
    when: 'An imported description names other files than the known ones.',
    remedy: 'Import files of the same version, or delete the earlier import.',
  },
  unknown_weights: {
    status: null,
    when: 'An imported file belongs to no model of the catalog.',
    remedy: "Import the model's description first, then files of the same version.",
  },
  invalid_description: {
    status: null,
    when: 'An imported description of a model is invalid.',
    remedy: 'Export it again with `weights.export()`.',
  },
  model_id_taken: {
    status: null,
    when: 'A model is added or renamed under an id that is already used by another model or by an alias of the catalog.',
    remedy: 'Choose another id.',
  },
  model_exists: {
    status: null,
    when: 'The same files were added before, under another id.',
    remedy: 'Use that model, rename it, or remove it first.',
  },
  model_not_added: {
    status: null,
    when: 'The model to rename or remove belongs to the catalog or does not exist.',
    remedy: 'Use an id that `models.list()` names.',
  },
  invalid_model_file: {
    status: null,
    when: 'An added file has an unknown format, is damaged, or lacks parts of a split model.',
    remedy: 'Choose the file that the message describes.',
  },
  unsupported_model: {
    status: null,
    when: 'This device or the engine cannot run an added model.',
    remedy: 'Choose a smaller model, or one of another architecture or quantization, as the message says.',
  },
  server_error: {
    status: null,
    when: 'The service rejected a call of the page library for a reason without a separate code.',
    remedy: "Try again. If it recurs, report the message, with the output of the page's console.",
  },
} satisfies Documentation;

/** Groups by origin; `docs/errors.md` has a table for each. */
export const ERROR_GROUPS: Record<string, Documentation> = {
  'The request': request,
  'The engine and the model': engine,
  'Upstream servers': upstream,
  'Storage and downloads': storage,
  'The page library': page,
};

/** All codes: the compiler names one that has no documentation. */
export const ERRORS: Record<ErrorCode, ErrorDocumentation> = {
  ...request,
  ...engine,
  ...upstream,
  ...storage,
  ...page,
};

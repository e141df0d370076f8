import { readBytes } from '../body/request-body.ts';
import type { Call } from '../http/call.ts';
import { type FormFields, parseFields } from './form-fields.ts';
import { invalidField, requestError, type ServiceError } from '../../errors/service-error.ts';

/** A file of 25 MiB, the other fields and the parts' headers. */
const MAX_FORM_BYTES = 25.25 * 1024 * 1024;
const MAX_PARTS = 100;

export interface TranscriptionForm extends FormFields {
  model: string;
  file: Blob;
}

/** `formData()` parses a urlencoded body as well, whose fields have no bound. */
const BODY = {
  types: /^multipart\/form-data\s*;/i,
  typeRule: 'must be multipart/form-data with a boundary',
  maxBytes: MAX_FORM_BYTES,
  remedy: 'Send a shorter file',
};

/** The form of a request, bounded before it is parsed. @throws ServiceError 400, 413 */
export async function readForm(call: Call): Promise<TranscriptionForm> {
  const bytes = await readBytes(call, BODY);
  if (countParts(bytes) > MAX_PARTS) throw badForm(`has more than ${MAX_PARTS} parts`);
  const headers = { 'content-type': call.request.headers.get('content-type') ?? '' };
  const form = await new Response(bytes, { headers }).formData().catch(() => {
    throw badForm('must be multipart/form-data');
  });
  const fields: [string, string][] = [];
  for (const [name, value] of form) if (typeof value === 'string') fields.push([name, value]);
  const { model, stream } = Object.fromEntries(fields);
  const file = form.get('file');
  call.trace?.body(JSON.stringify(fields), { model, stream: stream === 'true' });
  if (model === undefined) throw missing('model');
  if (!(file instanceof Blob)) throw missing('file');
  return { model, file, ...parseFields(fields) };
}

/** About: each part follows a line that begins with two hyphens, which random bytes seldom have. */
function countParts(bytes: Uint8Array): number {
  let parts = 0;
  for (let at = 0; at >= 0; at = bytes.indexOf(10, at + 1))
    if (bytes[at + 1] === 45 && bytes[at + 2] === 45) parts++;
  return parts;
}

const badForm = (rule: string): ServiceError => requestError(400, `The request body ${rule}.`);

const missing = (param: string): ServiceError =>
  invalidField(param, 'is required in the form', 'missing_required_parameter');

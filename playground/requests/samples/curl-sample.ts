import { prettyJson } from '../../format.ts';

/** @param body JSON text, whose numbers stay */
export function curlSample(body: string, path: string): string {
  return `# /v1 lives inside the page, where curl cannot reach it.
# For a server that speaks the same API: set SERVER (https://host) and API_KEY.
curl "$SERVER"${quoted(path)} \\
  -H "Authorization: Bearer $API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(prettyJson(body))}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

import { readJson } from '#base';
import { toJson } from './tool-objects.ts';
import { toDictionary, toObject, toSequence } from './web-idl.ts';

export interface Tool {
  /** Function of a request of `/v1`. */
  definition: { name: string; description: string; parameters: Record<string, unknown> };
  /** Absent if the page runs the tool. */
  execute?: (input: unknown) => unknown;
}

/** @throws TypeError, and what a schema's own code throws */
export function toTools(value: unknown): Tool[] {
  if (value === undefined) return [];
  const tools = toSequence(value, 'tools').map(toTool);
  const names = tools.map(({ definition }) => definition.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TypeError(`Two tools have the name "${twice}".`);
  return tools;
}

function toTool(value: unknown): Tool {
  const { description, execute, inputSchema, name } = toDictionary(value, 'A tool');
  if (name === undefined || description === undefined || String(name) === '' || String(description) === '')
    throw new TypeError('A tool needs a name and a description.');
  const parameters = toParameters(inputSchema);
  if (execute !== undefined && typeof execute !== 'function')
    throw new TypeError('execute must be a function.');
  return {
    definition: { name: String(name), description: String(description), parameters },
    ...(execute && { execute: execute as NonNullable<Tool['execute']> }),
  };
}

function toParameters(schema: unknown): Record<string, unknown> {
  const { properties, required, type } = toObject(schema, 'inputSchema') as Record<string, unknown>;
  if (type !== 'object') throw new TypeError('inputSchema must have the type "object".');
  if (properties !== undefined) toObject(properties, 'properties of inputSchema');
  if (required !== undefined && !Array.isArray(required))
    throw new TypeError('required of inputSchema must be an array.');
  // The session keeps a copy. Cycles are a TypeError.
  return readJson(toJson(schema) ?? '') as Record<string, unknown>;
}

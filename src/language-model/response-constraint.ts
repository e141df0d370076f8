import { completeIn, readJson } from '#base';
import { notSupported } from './exceptions.ts';
import { toJson } from './tool-objects.ts';
import { interfaceOf } from './web-idl.ts';

/** Form that a reply must have. */
export interface Constraint {
  schema: Record<string, unknown>;
  /** Told to the model, unless the page omits it. */
  guidance: string;
  /** Whether the reply is a JSON string, whose text the page gets. */
  isText: boolean;
}

/** @throws DOMException for what is no JSON */
export function toConstraint(value: object): Constraint {
  if (interfaceOf(value) === 'RegExp') {
    // Each flag but the lack of it only allows more texts.
    const { source, flags } = value as RegExp;
    // Without the flag, the braces repeat a letter.
    if (flags.includes('v') || (!flags.includes('u') && /\\[upP]\{/.test(source)))
      throw notSupported(`/${source}/${flags} cannot be enforced. Use the flag \`u\`.`);
    const guidance = `Answer with text that matches the regular expression /${source}/.`;
    return { schema: { type: 'string', pattern: wholeReply(source) }, guidance, isText: true };
  }
  try {
    // Undefined for a function: no JSON.
    const text = toJson(value) ?? '';
    const schema = readJson(text) as Record<string, unknown>;
    return { schema, guidance: `Answer with JSON that matches this JSON Schema: ${text}`, isText: false };
  } catch (error) {
    throw notSupported(`The constraint is no JSON Schema: ${String(error)}`);
  }
}

/** An expression without anchors describes the whole reply: a model that may write anything around it does. */
function wholeReply(source: string): string {
  const hasAnchor = /[$^]/.test(source.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/g, ''));
  return hasAnchor ? source : `^(?:${source})$`;
}

/** Constraint of a whole text that begins with the prefix. JSON can continue it instead. */
export function withPrefix(constraint: Constraint, prefix: string): Constraint {
  if (!constraint.isText) return constraint;
  const literal = prefix.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
  const { schema } = constraint;
  return { ...constraint, schema: { type: 'string', allOf: [schema, { pattern: `^${literal}` }] } };
}

/** Decodes a JSON string that arrives in pieces. */
export class JsonStringDecoder {
  #rest = '';
  #hasBegun = false;

  /** @returns the text that is complete */
  decode(piece: string): string {
    let json = this.#rest + piece;
    if (!this.#hasBegun) {
      const start = json.indexOf('"');
      if (start < 0) return '';
      this.#hasBegun = true;
      json = json.slice(start + 1);
    }
    const whole = completeIn(json);
    this.#rest = json.slice(whole.length);
    return JSON.parse(`"${whole}"`) as string;
  }
}

import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Says what is wrong with a JSON text by a schema; null: nothing. */
export function validator(schema: Record<string, unknown>): (text: string) => string | null {
  // Multiples of decimals are not exact in binary.
  const ajv = new Ajv2020({ strict: false, multipleOfPrecision: 6 });
  addFormats.default(ajv);
  const validate = ajv.compile(schema);
  return (text) => (validate(JSON.parse(text)) ? null : ajv.errorsText(validate.errors));
}

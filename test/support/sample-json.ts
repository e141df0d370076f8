type Schema = Record<string, unknown>;

/** A value of the form that a JSON Schema asks for, as plain as it can be. */
export function sampleOf(schema: Schema, root: Schema = schema): unknown {
  const { const: constant, enum: values, anyOf, $ref, type, properties, items, minItems } = schema;
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0] as Schema, root);
  if (typeof $ref === 'string') return sampleOf(resolve($ref, root), root);
  switch ([type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries((properties ?? {}) as Record<string, Schema>).map(([name, property]) => [
          name,
          sampleOf(property, root),
        ]),
      );
    case 'array':
      return Array.from({ length: Number(minItems ?? 0) }, () => sampleOf(items as Schema, root));
    case 'string':
      return 'some "text" {[ \\';
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return 1;
  }
}

function resolve(reference: string, root: Schema): Schema {
  const parts = reference.slice(1).split('/').filter(Boolean);
  return parts.reduce<Schema>((schema, part) => schema[part] as Schema, root);
}

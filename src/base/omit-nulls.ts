/** Omits the fields that are null or undefined. */
export const omitNulls = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)) as {
    [Key in keyof Fields]?: NonNullable<Fields[Key]>;
  };

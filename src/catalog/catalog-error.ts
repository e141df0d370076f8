interface Issue {
  path: readonly PropertyKey[];
  message: string;
}

/** A catalog is at fault; the message has a line for each fault, with the way to it. */
export class CatalogError extends Error {
  override readonly name = 'CatalogError';
  readonly faults: readonly { path: string; message: string }[];

  constructor(issues: readonly Issue[]) {
    const faults = issues.map(({ path, message }) => ({ path: pathOf(path), message }));
    super(
      `The catalog is invalid:\n${faults.map(({ path, message }) => `  ${path}: ${message}`).join('\n')}`,
    );
    this.faults = faults;
  }
}

/** `models[1].variants[0].files[2].bytes` */
function pathOf(path: readonly PropertyKey[]): string {
  const way = path.map((part) =>
    typeof part === 'number'
      ? `[${part}]`
      : /^[A-Za-z_]\w*$/.test(String(part))
        ? `.${String(part)}`
        : `["${String(part)}"]`,
  );
  return way.join('').replace(/^\./, '') || 'catalog';
}

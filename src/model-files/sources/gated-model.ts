/** What to do about a model whose authors ask for consent: a page has no account of the hub. */
export const GATED =
  "its authors ask for consent before they give it out. Accept their terms on the model's page of the hub, download the file there, and add it from this device";

interface FeaturePolicy {
  features(): string[];
  allowsFeature(feature: string): boolean;
}

const FEATURE = 'language-model';

/** Whether the document is fully active: that of a removed frame is not. */
export const isActive = (): boolean => document.defaultView !== null;

/** Whether the Permissions Policy allows the API. Only Chromium can tell. */
export function isPolicyAllowed(): boolean {
  const { featurePolicy } = document as { featurePolicy?: FeaturePolicy };
  return !featurePolicy?.features().includes(FEATURE) || featurePolicy.allowsFeature(FEATURE);
}

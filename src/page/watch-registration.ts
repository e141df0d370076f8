/**
 * Calls `onWaiting` for each version that waits to take over, also of a registration that the site has made:
 * Workbox would register its script again, and cannot tell whether it is a module.
 */
export function watchRegistration(registration: ServiceWorkerRegistration, onWaiting: () => void): void {
  const look = ({ target }: Event): void => {
    // The first version activates immediately; only later ones wait.
    if ((target as ServiceWorker).state === 'installed' && registration.active) onWaiting();
  };
  // A worker is seen here and by `updatefound`: the same listener is added once.
  const watch = (): void => registration.installing?.addEventListener('statechange', look);
  registration.addEventListener('updatefound', watch);
  watch();
  if (registration.waiting && registration.active) onWaiting();
}

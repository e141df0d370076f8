// A storage that the browser refuses leaves the theme to the system.
try {
  document.documentElement.dataset.theme = localStorage.getItem('localtext-playground:theme') ?? 'auto';
} catch {
  document.documentElement.dataset.theme = 'auto';
}
if (!['', '#/', '#/chat'].includes(location.hash)) document.documentElement.dataset.before = 'other';
